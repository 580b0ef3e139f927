from __future__ import annotations

from typing import Any

import pytest

from knowledge.models import Document, Exclusion, IndexStatus, KnowledgeBase, Source
from knowledge.services import drain
from mnote.models import Access, Job
from tests.factories.knowledge import KnowledgeBaseFactory
from tests.factories.mnote import GrantFactory
from tests.knowledge.api.conftest import post
from tests.library import Library

URL = "/api/knowledge-rag/ingest"


@pytest.fixture
def empty(library: Library) -> KnowledgeBase:
    """A second knowledge base, without sources."""
    return KnowledgeBaseFactory(owner=library.people.alice, root=library.root, name="Empty")


def ingest(library: Library, person: str, **body: Any) -> Any:
    return post(library.people.client(person), URL, {**library.scope, **body})


def test_ingest_of_a_file_gives_it_a_row_at_once(library: Library, empty: KnowledgeBase) -> None:
    answer = ingest(library, "bob", knowledgeBaseId=empty.id, paths=["guide/zh.md"])

    body = answer.json()
    accepted = body["accepted"][0]
    row = Document.objects.get(id=accepted["sourceId"])
    assert (answer.status_code, body["refused"]) == (202, [])
    assert (row.kb, row.source_path, row.index_status) == (empty, "guide/zh.md", IndexStatus.QUEUED)
    assert answer.headers["Location"] == f"/api/jobs/{body['jobId']}"
    assert Job.objects.get(id=body["jobId"]).kb_id == empty.id


def test_ingest_ends_searchable(library: Library, empty: KnowledgeBase) -> None:
    ingest(library, "bob", knowledgeBaseId=empty.id, paths=["guide/zh.md"])

    drain.drain(kb=empty, worker="test")

    query = {**library.scope, "query": "解除", "knowledgeBaseIds": [empty.id]}
    body = post(library.people.client("bob"), "/api/knowledge-rag/search", query).json()
    assert body["results"][0]["sourcePath"] == "guide/zh.md"


def test_ingest_of_a_folder_makes_a_source_set(library: Library, empty: KnowledgeBase) -> None:
    options = {"exclude": ["*.tmp"], "recursive": False}

    body = ingest(library, "bob", knowledgeBaseId=empty.id, paths=["guide"], options=options).json()

    source = Source.objects.get(id=body["accepted"][0]["sourceSetId"])
    assert (source.kb, source.path, source.exclude, source.recursive) == (empty, "guide", ["*.tmp"], False)
    assert Job.objects.get(id=body["jobId"]).payload["source_id"] == source.id


def test_ingest_twice_changes_nothing(library: Library, empty: KnowledgeBase) -> None:
    first = ingest(library, "bob", knowledgeBaseId=empty.id, paths=["guide/zh.md", "guide"]).json()
    second = ingest(library, "bob", knowledgeBaseId=empty.id, paths=["guide/zh.md", "guide"]).json()

    assert first["accepted"][0]["sourceId"] == second["accepted"][0]["sourceId"]
    assert empty.sources.count() == 2
    assert empty.documents.filter(source_path="guide/zh.md").count() == 1


def test_ingest_below_a_folder_rule_joins_it(library: Library) -> None:
    library.write({"guide/new.md": "# New\n"})

    body = ingest(library, "bob", knowledgeBaseId=library.kb.id, paths=["guide/new.md"]).json()

    assert body["accepted"][0]["sourceSetId"] == library.source.id
    assert library.kb.sources.count() == 1


def test_ingest_lifts_an_exclusion(library: Library) -> None:
    row = library.document("notes.txt")
    library.people.client("bob").delete(f"/api/knowledge/sources/{row.id}")
    assert Exclusion.objects.filter(kb=library.kb).exists()

    ingest(library, "bob", knowledgeBaseId=library.kb.id, paths=["notes.txt"])

    assert not Exclusion.objects.filter(kb=library.kb).exists()
    assert library.document("notes.txt").index_status == IndexStatus.QUEUED


def test_ingest_judges_each_item_by_itself(library: Library, empty: KnowledgeBase) -> None:
    GrantFactory(root=library.root, user=library.people.bob, prefix="private", access=Access.NONE)
    paths = ["notes.txt", "nowhere.md", "private/salary.md", "../etc", "notes.txt"]

    body = ingest(library, "bob", knowledgeBaseId=empty.id, paths=paths).json()

    assert [each["item"] for each in body["accepted"]] == ["notes.txt"]
    reasons = {each["item"]: each["reason"] for each in body["refused"]}
    assert reasons == {"nowhere.md": "gone", "private/salary.md": "not-found", "../etc": "not-found"}
    assert all(each["message"] for each in body["refused"])


def test_ingest_keeps_the_resource_id_of_the_host(library: Library, empty: KnowledgeBase) -> None:
    resource = "local-md:guide~2Fzh.md"

    body = ingest(library, "bob", knowledgeBaseId=empty.id, resourceIds=[resource, "host:unknown"]).json()

    assert Document.objects.get(id=body["accepted"][0]["sourceId"]).resource_id == resource
    assert [(each["item"], each["reason"]) for each in body["refused"]] == [("host:unknown", "unknown-resource")]


def test_ingest_by_a_new_name_creates_the_base_for_managers(library: Library) -> None:
    made = ingest(library, "alice", name="  Fresh   base ", paths=["notes.txt"])
    refused = ingest(library, "bob", name="Another base", paths=["notes.txt"])

    assert KnowledgeBase.objects.get(id=made.json()["knowledgeBaseId"]).name == "Fresh base"
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


def test_ingest_by_a_known_name_uses_the_base(library: Library, empty: KnowledgeBase) -> None:
    assert ingest(library, "bob", name="empty", paths=["notes.txt"]).json()["knowledgeBaseId"] == empty.id


def test_ingest_of_a_text_writes_a_file(library: Library, empty: KnowledgeBase) -> None:
    GrantFactory(root=library.root, user=library.people.bob, prefix="guide", access=Access.WRITE)
    options = {"folder": "guide", "title": "Meeting notes"}

    body = ingest(library, "bob", knowledgeBaseId=empty.id, text="# Meeting\n\nDone.\n", options=options).json()

    assert body["accepted"][0]["sourcePath"] == "guide/Meeting notes.md"
    assert (library.people.folder / "guide/Meeting notes.md").read_text() == "# Meeting\n\nDone.\n"


def test_ingest_of_a_text_needs_a_write_grant(library: Library, empty: KnowledgeBase) -> None:
    body = ingest(library, "bob", knowledgeBaseId=empty.id, text="x", options={"fileName": "x.md"}).json()

    assert [each["reason"] for each in body["refused"]] == ["forbidden"]
    assert not (library.people.folder / "x.md").exists()


def test_ingest_of_an_address_needs_the_policy(library: Library, empty: KnowledgeBase) -> None:
    body = ingest(library, "alice", knowledgeBaseId=empty.id, url="https://example.com/").json()

    assert [each["reason"] for each in body["refused"]] == ["web-import-not-allowed"]


@pytest.mark.parametrize(("person", "status"), [("alice", 202), ("bob", 202), ("carol", 403), ("mallory", 404)])
def test_ingest_needs_a_curator(library: Library, empty: KnowledgeBase, person: str, status: int) -> None:
    assert ingest(library, person, knowledgeBaseId=empty.id, paths=["notes.txt"]).status_code == status


def test_ingest_by_a_token_needs_the_scope(library: Library, empty: KnowledgeBase) -> None:
    body = {**library.scope, "knowledgeBaseId": empty.id, "paths": ["notes.txt"]}

    reading = post(library.people.token_client("bob", "knowledge:read"), URL, body)
    writing = post(library.people.token_client("bob", "knowledge:read", "knowledge:write"), URL, body)

    assert (reading.status_code, writing.status_code) == (403, 202)


@pytest.mark.parametrize(
    ("body", "field"),
    [({"paths": ["a"]}, "knowledgeBaseId"), ({"name": "x"}, "paths"), ({"name": "x", "paths": 1}, "paths")],
)
def test_ingest_names_what_is_missing(library: Library, body: dict[str, Any], field: str) -> None:
    answer = ingest(library, "alice", **body)

    assert (answer.status_code, list(answer.json()["errors"])) == (400, [field])
