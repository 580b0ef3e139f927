from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from knowledge.models import Document, IndexStatus
from knowledge.services import claims, documents
from mnote.models import Access, Job
from tests.factories.mnote import GrantFactory
from tests.knowledge.api.conftest import send
from tests.library import Library


def listed(library: Library, person: str = "carol", **query: Any) -> list[str]:
    url = f"/api/knowledge/knowledge-bases/{library.kb.id}/sources"
    return [each["sourcePath"] for each in library.people.client(person).get(url, query).json()["results"]]


def url(document: Document, action: str = "") -> str:
    return f"/api/knowledge/sources/{document.id}" + (f"/{action}" if action else "")


def test_list_sources_gives_pages_in_path_order(library: Library) -> None:
    client = library.people.client("carol")
    address = f"/api/knowledge/knowledge-bases/{library.kb.id}/sources"

    first = client.get(address, {"limit": 2}).json()
    second = client.get(address, {"limit": 2, "cursor": first["nextCursor"]}).json()
    third = client.get(address, {"limit": 2, "cursor": second["nextCursor"]}).json()

    pages = [[each["sourcePath"] for each in page["results"]] for page in (first, second, third)]
    assert pages == [["guide/contracts.md", "guide/zh.md"], ["notes.txt", "prices/list.csv"], ["private/salary.md"]]
    assert third["nextCursor"] is None


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ({"pathPrefix": "guide"}, ["guide/contracts.md", "guide/zh.md"]),
        ({"pathPrefix": "guid"}, []),
        ({"type": "text"}, ["notes.txt"]),
        ({"type": ["text", "table"]}, ["notes.txt", "prices/list.csv"]),
        ({"status": "failed"}, []),
        ({"status": "indexed", "q": "ZH"}, ["guide/zh.md"]),
        ({"q": "contracts"}, ["guide/contracts.md"]),
        ({"tag": "money"}, ["notes.txt"]),
        ({"changedAfter": "2100-01-01T00:00:00Z"}, []),
        ({"sourceSetId": "set_unknown"}, []),
    ],
)
def test_list_sources_narrows(library: Library, query: dict[str, Any], paths: list[str]) -> None:
    send(library.people.client("bob"), "PUT", url(library.document("notes.txt"), "tags"), {"tags": ["money"]})

    assert listed(library, **query) == paths


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"status": "shiny"}, "status.0"),
        ({"type": "hologram"}, "type.0"),
        ({"changedAfter": "soon"}, "changedAfter"),
        ({"changedAfter": "9999-12-31T00:00:00Z"}, "changedAfter"),
        ({"q": "x" * 201}, "q"),
        ({"limit": "many"}, "limit"),
        ({"cursor": "@@"}, "cursor"),
    ],
)
def test_list_sources_names_the_filter_that_is_wrong(library: Library, query: dict[str, str], field: str) -> None:
    address = f"/api/knowledge/knowledge-bases/{library.kb.id}/sources"

    answer = library.people.client("carol").get(address, query)

    assert (answer.status_code, list(answer.json()["errors"])) == (400, [field])


def test_list_sources_hides_what_may_not_be_read(library: Library) -> None:
    GrantFactory(root=library.root, user=library.people.carol, prefix="private", access=Access.NONE)

    assert "private/salary.md" not in listed(library)
    assert library.people.client("carol").get(url(library.document("private/salary.md"))).status_code == 404


def test_list_sources_costs_the_same_for_more_rows(library: Library, django_assert_max_num_queries: Any) -> None:
    client = library.people.client("carol")
    address = f"/api/knowledge/knowledge-bases/{library.kb.id}/sources"
    client.get(address)
    with django_assert_max_num_queries(40) as few:
        client.get(address)
    library.add({f"more/{number}.md": f"# Note {number}\n" for number in range(15)})

    with django_assert_max_num_queries(len(few)):
        assert len(client.get(address).json()["results"]) == 20


def test_get_source_tells_all_about_it(library: Library) -> None:
    body = library.people.client("carol").get(url(library.document("guide/zh.md"))).json()

    assert (body["title"], body["indexStatus"], body["isSearchable"], body["reason"]) == ("合同", "indexed", True, None)
    assert body["sourceHash"].startswith("sha256:")
    assert datetime.fromisoformat(body["fileChangedAt"]).tzinfo == UTC
    assert body["chunkCount"] > 0


def test_get_source_tells_why_it_failed_and_what_to_do(library: Library) -> None:
    document = library.document("notes.txt")
    documents.requeue(documents=[document])
    document.refresh_from_db()
    [claimed] = claims.claim(kb=library.kb, worker="w", limit=1)
    documents.fail(document=claimed, code="encrypted", detail="inner detail")

    body = library.people.client("carol").get(url(document)).json()

    assert (body["reason"]["code"], body["reason"]["reasonClass"]) == ("encrypted", "file")
    assert body["reason"]["sentence"]
    assert body["reason"]["nextStep"]
    assert "detail" not in body["reason"]


def test_reparse_source_queues_it_and_keeps_it_searchable(library: Library) -> None:
    document = library.document("notes.txt")

    answer = send(library.people.client("bob"), "POST", url(document, "reparse"))

    assert answer.status_code == 202
    assert (answer.json()["indexStatus"], answer.json()["isSearchable"]) == ("queued", True)
    job = Job.objects.get(id=answer.headers["Location"].rpartition("/")[2])
    assert job.kind == "resource_parse"


def test_cancel_source_stops_what_waits_only(library: Library) -> None:
    client, document = library.people.client("bob"), library.document("notes.txt")
    send(client, "POST", url(document, "reparse"))

    stopped = send(client, "POST", url(document, "cancel"))
    again = send(client, "POST", url(document, "cancel"))

    assert (stopped.json()["indexStatus"], stopped.json()["reason"]["code"]) == ("failed", "stopped")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")


def test_delete_source_takes_it_out(library: Library) -> None:
    document = library.document("notes.txt")

    answer = library.people.client("bob").delete(url(document))

    assert answer.status_code == 204
    assert library.document("notes.txt").index_status == IndexStatus.DELETED
    assert "notes.txt" not in listed(library)


def test_update_source_tags_replaces_them(library: Library) -> None:
    client, document = library.people.client("bob"), library.document("notes.txt")
    send(client, "PUT", url(document, "tags"), {"tags": ["a", "b"]})

    body = send(client, "PUT", url(document, "tags"), {"tags": [" b ", "c", "c", "  x   y "]}).json()

    assert body["tags"] == ["b", "c", "x y"]
    assert sorted(document.tag_rows.values_list("name", flat=True)) == ["b", "c", "x y"]


@pytest.mark.parametrize("tags", [None, "a", [""], ["x" * 81], ["a"] * 51, [1]], ids=repr)
def test_update_source_tags_refuses_what_is_none(library: Library, tags: object) -> None:
    answer = send(library.people.client("bob"), "PUT", url(library.document("notes.txt"), "tags"), {"tags": tags})

    assert answer.status_code == 400


def test_timeline_tells_the_steps(library: Library) -> None:
    body = library.people.client("carol").get(url(library.document("notes.txt"), "timeline")).json()

    assert [each["stage"] for each in body["events"]][:2] == ["reading", "indexing"]
    assert body["providerStages"] == []


def test_chunks_are_cut_from_the_file(library: Library) -> None:
    client, document = library.people.client("carol"), library.document("guide/contracts.md")

    first = client.get(url(document, "chunks"), {"limit": 2}).json()
    second = client.get(url(document, "chunks"), {"limit": 2, "cursor": first["nextCursor"]}).json()

    text = (library.people.folder / "guide/contracts.md").read_text()
    chunks = [*first["results"], *second["results"]]
    assert [each["index"] for each in chunks] == list(range(first["total"]))
    assert all(each["quote"] in text for each in chunks)
    assert second["nextCursor"] is None


@pytest.mark.parametrize("action", ["reparse", "cancel", "tags", "delete"])
@pytest.mark.parametrize(("person", "status"), [("carol", 403), ("mallory", 404)])
def test_changing_a_source_needs_a_curator(library: Library, person: str, action: str, status: int) -> None:
    document, client = library.document("notes.txt"), library.people.client(person)
    calls = {
        "reparse": lambda: send(client, "POST", url(document, "reparse")),
        "cancel": lambda: send(client, "POST", url(document, "cancel")),
        "tags": lambda: send(client, "PUT", url(document, "tags"), {"tags": []}),
        "delete": lambda: client.delete(url(document)),
    }

    assert calls[action]().status_code == status
