from __future__ import annotations

from typing import Any

import pytest

from mnote.models import Access
from tests.factories.knowledge import KnowledgeBaseFactory
from tests.factories.mnote import GrantFactory
from tests.knowledge.api.conftest import post
from tests.library import Library
from tests.published import assert_published

SEARCH, READ, OPEN = "/api/evidence/search", "/api/evidence/read", "/api/evidence/open"


def found(library: Library, person: str, query: str, **scope: Any) -> list[dict[str, Any]]:
    body = {"query": query, "scope": {**library.scope, **scope}}
    results: list[dict[str, Any]] = post(library.people.client(person), SEARCH, body).json()["results"]
    return results


def paths(results: list[dict[str, Any]]) -> list[str]:
    return [each["source"]["resourcePath"] for each in results]


def test_evidence_search_answers_in_the_published_form(library: Library) -> None:
    body = post(library.people.client("carol"), SEARCH, {"query": "解除条件", "scope": library.scope}).json()

    assert_published("search", body)
    assert body["results"][0]["source"]["resourcePath"] == "guide/zh.md"
    assert body["diagnostics"] == {"mode": "hybrid", "degraded": False, "notes": []}


def test_evidence_search_gives_no_internal_ids(library: Library) -> None:
    result = found(library, "alice", "landlord")[0]

    assert set(result) == {
        "evidenceId", "quote", "score", "source", "title", "alsoAt", "citationLabel", "citationMarkdown", "citationUrl",
    }  # fmt: skip


def test_evidence_id_stays_while_the_content_does(library: Library) -> None:
    before = found(library, "alice", "landlord")[0]["evidenceId"]
    library.index()

    assert found(library, "alice", "landlord")[0]["evidenceId"] == before


def test_evidence_search_covers_every_readable_base_of_the_root(library: Library) -> None:
    other = KnowledgeBaseFactory(owner=library.people.bob, root=library.root)
    library.source.delete()
    library.document("notes.txt").delete()
    row = library.document("guide/zh.md")
    row.kb = other
    row.save()

    assert paths(found(library, "carol", "解除条件"))[:1] == ["guide/zh.md"]


def test_evidence_search_hides_what_may_not_be_read(library: Library) -> None:
    GrantFactory(root=library.root, user=library.people.carol, prefix="private", access=Access.NONE)
    library.people.alice.is_staff = True
    library.people.alice.save()
    body = {"query": "salary of the director", "scope": library.scope}

    assert paths(found(library, "alice", "salary of the director"))[:1] == ["private/salary.md"]
    hidden = post(library.people.client("carol"), SEARCH, body).json()
    assert hidden["results"] == []
    assert "droppedForbidden" not in hidden["diagnostics"]


def test_evidence_search_counts_what_was_hidden_for_administrators(library: Library) -> None:
    carol = library.people.carol
    carol.is_staff = True
    carol.save()
    GrantFactory(root=library.root, user=carol, prefix="private", access=Access.NONE)

    body = post(library.people.client("carol"), SEARCH, {"query": "salary of the director", "scope": library.scope})

    assert body.json()["diagnostics"]["droppedForbidden"] == 1


def test_evidence_search_in_one_document(library: Library) -> None:
    assert set(paths(found(library, "alice", "thirty days notice", targetDocumentId="local-md:notes.txt"))) == {
        "notes.txt"
    }


def test_evidence_search_in_a_page_covers_what_it_refers_to(library: Library) -> None:
    page = "local-md:guide~2Fcontracts.md"

    assert paths(found(library, "alice", "anvil", targetDocumentId=page)) == ["prices/list.csv"]
    assert found(library, "alice", "anvil", targetDocumentId=page, includeResources=False) == []


def test_evidence_search_without_resources_finds_pages_only(library: Library) -> None:
    assert paths(found(library, "alice", "anvil bellows")) == ["prices/list.csv"]
    assert found(library, "alice", "anvil bellows", includeResources=False) == []


@pytest.mark.parametrize("target", ["local-md:nothing.md", "notes.txt", "local-md:private~2Fsalary.md"])
def test_evidence_search_in_an_invisible_document_is_not_found(library: Library, target: str) -> None:
    GrantFactory(root=library.root, user=library.people.carol, prefix="private", access=Access.NONE)
    scope = {**library.scope, "targetDocumentId": target}

    answer = post(library.people.client("carol"), SEARCH, {"query": "salary", "scope": scope})

    assert answer.status_code == 404


def test_evidence_search_lists_every_path_of_one_content(library: Library) -> None:
    library.add({"copy/notes.txt": (library.people.folder / "notes.txt").read_text()})

    result = found(library, "alice", "landlord")[0]

    assert (result["source"]["resourcePath"], result["alsoAt"]) == ("copy/notes.txt", ["notes.txt"])


def test_evidence_read_gives_neighbours_section_and_excerpt(library: Library) -> None:
    evidence = found(library, "alice", "thirty days notice contract")[0]

    body = post(library.people.client("alice"), READ, {"evidenceId": evidence["evidenceId"]}).json()

    assert_published("read", body)
    assert body["anchor"]["quote"] == evidence["quote"]
    assert body["locatorState"] == "exact"
    assert body["section"]["path"] == ["Contracts", "Termination"]
    assert "A handbook" in body["pageNeighbours"][0]["quote"]
    assert "Invoices" in body["pageNeighbours"][1]["quote"]
    assert body["artifactExcerpt"]["kind"] == "parse_text"
    assert evidence["quote"] in body["artifactExcerpt"]["text"]


def test_evidence_read_by_locator_equals_read_by_id(library: Library) -> None:
    evidence, client = found(library, "alice", "landlord")[0], library.people.client("alice")

    by_id = post(client, READ, {"evidenceId": evidence["evidenceId"]}).json()
    by_locator = post(client, READ, {"locator": evidence["source"], "scope": library.scope}).json()

    assert by_id["anchor"] == by_locator["anchor"]
    assert by_id["artifactExcerpt"] == by_locator["artifactExcerpt"]


def test_evidence_read_names_where_pages_refer_to_a_resource(library: Library) -> None:
    evidence = found(library, "alice", "anvil")[0]

    body = post(library.people.client("alice"), READ, {"evidenceId": evidence["evidenceId"]}).json()

    mention = body["ownerMentions"][0]
    assert "[the price list](../prices/list.csv)" in mention["quote"]
    assert mention["locator"]["resourcePath"] == "guide/contracts.md"


def test_evidence_read_keeps_to_its_limits(library: Library) -> None:
    evidence = found(library, "alice", "thirty days notice contract")[0]
    context = {"before": 0, "after": 1, "section": False, "ownerMentions": False, "maxChars": 0}

    body = post(library.people.client("alice"), READ, {"evidenceId": evidence["evidenceId"], "context": context}).json()

    assert_published("read", body)
    assert (body["pageNeighbours"], body["ownerMentions"], "section" in body) == ([], [], False)
    assert body["artifactExcerpt"]["text"] == evidence["quote"]


def test_evidence_read_tells_the_truth_about_an_edited_file(library: Library) -> None:
    evidence = found(library, "alice", "landlord")[0]
    path = library.people.folder / "notes.txt"
    path.write_text("One line more.\n\n" + path.read_text())
    client = library.people.client("alice")

    moved = post(client, READ, {"locator": evidence["source"]}).json()
    path.write_text("Nothing of it.\n")
    changed = post(client, READ, {"locator": evidence["source"]}).json()
    path.unlink()
    gone = post(client, READ, {"locator": evidence["source"]})

    assert (moved["locatorState"], moved["anchor"]["locator"]["lineStart"]) == ("moved", 3)
    assert changed["locatorState"] == "changed"
    assert (gone.status_code, gone.json()["code"]) == (410, "locator_stale")


def test_evidence_open_gives_the_action_of_the_host(library: Library) -> None:
    evidence = found(library, "alice", "landlord")[0]

    body = post(library.people.client("alice"), OPEN, {"locator": evidence["source"]}).json()

    assert_published("open", body)
    assert body["ok"]
    assert body["openAction"]["params"]["lines"] == [1, 1]
    assert body["openAction"]["url"] == body["openUrl"]


def test_evidence_open_of_twins_takes_the_first_path(library: Library) -> None:
    library.add({"copy/notes.txt": (library.people.folder / "notes.txt").read_text()})
    evidence = found(library, "alice", "landlord")[0]

    body = post(library.people.client("alice"), OPEN, {"evidenceId": evidence["evidenceId"]}).json()

    assert (body["sourcePath"], body["alsoAt"]) == ("copy/notes.txt", ["notes.txt"])


@pytest.mark.parametrize("url", [READ, OPEN])
def test_evidence_is_hidden_from_strangers(library: Library, url: str) -> None:
    evidence = found(library, "alice", "landlord")[0]

    by_id = post(library.people.client("mallory"), url, {"evidenceId": evidence["evidenceId"]})
    by_locator = post(library.people.client("mallory"), url, {"locator": evidence["source"]})

    assert (by_id.status_code, by_id.json()["code"]) == (404, "evidence_not_found")
    assert (by_locator.status_code, by_locator.json()["code"]) == (404, "root_not_found")


@pytest.mark.parametrize("evidence_id", ["ev_00000000000000000000", "ev_", "x", "../../etc/passwd"])
def test_evidence_of_an_unknown_id_is_not_found(library: Library, evidence_id: str) -> None:
    answer = post(library.people.client("alice"), OPEN, {"evidenceId": evidence_id})

    assert (answer.status_code, answer.json()["code"]) == (404, "evidence_not_found")


@pytest.mark.parametrize(
    ("locator", "place"),
    [
        ({"resourcePath": 7}, "locator.resourcePath"),
        ({"resourcePath": "a.md", "lineRange": [3, 1]}, "locator.lineRange"),
        ({"resourcePath": "a.md", "lineRange": [1]}, "locator.lineRange"),
        ({"resourcePath": "a.md", "lineRange": ["1", 2]}, "locator.lineRange.0"),
        ({"resourcePath": "a.md", "charRange": [-1, 2]}, "locator.charRange.0"),
    ],
)
def test_evidence_refuses_a_locator_that_is_none(library: Library, locator: dict[str, Any], place: str) -> None:
    answer = post(library.people.client("alice"), READ, {"locator": locator})

    body = answer.json()
    assert (answer.status_code, body["code"], list(body["errors"])) == (400, "locator_invalid", [place])


def test_evidence_refuses_a_locator_that_names_no_file(library: Library) -> None:
    answer = post(library.people.client("alice"), READ, {"locator": {"quote": "x"}})

    assert (answer.status_code, answer.json()["code"]) == (400, "locator_invalid")


@pytest.mark.parametrize("path", ["../outside.md", "/etc/passwd", "guide/../private/salary.md", "a\\x41.md"])
def test_evidence_opens_nothing_outside(library: Library, path: str) -> None:
    locator = {"rootUri": library.root.root_uri, "resourcePath": path}

    assert post(library.people.client("alice"), OPEN, {"locator": locator}).status_code == 404


def test_evidence_opens_any_readable_file_of_the_root(library: Library) -> None:
    library.write({"fresh.md": "# Not indexed\n\nStill here.\n"})
    locator = {"rootUri": library.root.root_uri, "resourcePath": "fresh.md", "quote": "Still here."}

    body = post(library.people.client("carol"), OPEN, {"locator": locator}).json()

    assert (body["locator"]["lineRange"], "sourceId" in body) == ([3, 3], False)
