from __future__ import annotations

from typing import Any

import pytest

from mnote.models import Access, Membership
from tests.factories.knowledge import KnowledgeBaseFactory
from tests.factories.mnote import GrantFactory, WorkspaceFactory
from tests.knowledge.api.conftest import post
from tests.library import Library
from tests.published import assert_published

URL = "/api/knowledge-rag/open-reference"
GET = "/api/knowledge/citations/open-reference"
QUOTE = "Either party may end the contract with thirty days notice."


@pytest.fixture
def reference(library: Library) -> dict[str, Any]:
    query = {**library.scope, "query": "end the contract", "sourcePaths": ["guide/contracts.md"], "topK": 1}
    answer = post(library.people.client("alice"), "/api/knowledge-rag/search", query)
    return answer.json()["results"][0]


def opened(library: Library, person: str, **body: Any) -> Any:
    return post(library.people.client(person), URL, {**library.scope, **body})


def test_open_reference_opens_every_form_of_a_reference_at_its_place(
    library: Library, reference: dict[str, Any]
) -> None:
    document = library.document("guide/contracts.md")
    forms: list[dict[str, Any]] = [
        {"reference": reference},
        reference,
        {"token": reference["openReference"]},
        {"openReference": reference["openReference"]},
        {"evidenceId": reference["evidenceId"]},
        {"providerChunkId": reference["providerChunkId"], "providerKnowledgeId": reference["providerKnowledgeId"]},
        {"providerKnowledgeId": reference["providerKnowledgeId"], "chunkIndex": reference["chunkIndex"]},
        {"filePath": "contracts.md", "chunkId": reference["providerChunkId"]},
        {"filePath": "guide/contracts.md", "chunkId": reference["providerChunkId"]},
        {"sourceId": document.id, "chunkIndex": reference["chunkIndex"]},
        {"sourceId": document.id, "lines": [reference["lineStart"], reference["lineEnd"]]},
        {"sourceId": document.id, "lineStart": reference["lineStart"], "lineEnd": reference["lineEnd"]},
        {"sourcePath": "guide/contracts.md", "quote": reference["quote"]},
        {"locator": reference["locator"]},
    ]

    for form in forms:
        answer = opened(library, "alice", **form)
        body = answer.json()
        assert answer.status_code == 200, (form, body)
        assert_published("open-reference", body)
        assert (body["sourcePath"], body["quote"]) == ("guide/contracts.md", reference["quote"]), form
        assert body["locator"]["lineRange"] == reference["locator"]["lineRange"]


def test_open_reference_says_that_the_place_is_exact(library: Library, reference: dict[str, Any]) -> None:
    for form in ({"reference": reference}, {"locator": reference["locator"]}, {"evidenceId": reference["evidenceId"]}):
        assert opened(library, "alice", **form).json()["locatorState"] == "exact"


def test_open_reference_opens_a_token_without_a_workspace(library: Library, reference: dict[str, Any]) -> None:
    answer = post(library.people.client("alice"), URL, {"token": reference["openReference"]})

    assert answer.json()["quote"] == reference["quote"]


def test_citation_opens_by_get(library: Library, reference: dict[str, Any]) -> None:
    answer = library.people.client("carol").get(GET, {"token": reference["openReference"]})

    assert (answer.status_code, answer.json()["locatorState"]) == (200, "exact")


def test_open_reference_follows_an_edit(library: Library, reference: dict[str, Any]) -> None:
    path = library.people.folder / "guide/contracts.md"
    path.write_text("New first line.\n\n" + path.read_text())

    body = opened(library, "alice", reference=reference).json()

    assert body["locatorState"] == "moved"
    assert body["locator"]["lineStart"] == reference["lineStart"] + 2
    assert body["quote"] == reference["quote"]


def test_open_reference_follows_a_rename(library: Library, reference: dict[str, Any]) -> None:
    (library.people.folder / "guide/contracts.md").rename(library.people.folder / "signed.md")
    library.index()

    body = opened(library, "alice", reference=reference).json()

    assert (body["locatorState"], body["sourcePath"]) == ("moved", "signed.md")


def test_open_reference_says_that_the_passage_changed(library: Library, reference: dict[str, Any]) -> None:
    (library.people.folder / "guide/contracts.md").write_text("# Contracts\n\n## Termination\n\nAll new.\n")

    body = opened(library, "alice", reference=reference).json()

    assert body["locatorState"] == "changed"
    assert QUOTE not in body["quote"]


@pytest.mark.parametrize("form", ["token", "source", "locator", "path"])
def test_open_reference_of_a_deleted_file_is_gone(library: Library, reference: dict[str, Any], form: str) -> None:
    forms: dict[str, dict[str, Any]] = {
        "token": {"token": reference["openReference"]},
        "source": {"sourceId": reference["sourceId"]},
        "locator": {"locator": reference["locator"]},
        "path": {"sourcePath": "guide/contracts.md"},
    }
    (library.people.folder / "guide/contracts.md").unlink()

    answer = opened(library, "alice", **forms[form])

    assert (answer.status_code, answer.json()["code"]) == (410, "locator_stale")


def test_open_reference_tells_a_stranger_nothing(library: Library, reference: dict[str, Any]) -> None:
    answer = opened(library, "mallory", reference=reference)

    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


def test_open_reference_ends_with_the_right_to_read(library: Library, reference: dict[str, Any]) -> None:
    assert opened(library, "carol", reference=reference).status_code == 200
    GrantFactory(root=library.root, user=library.people.carol, prefix="guide", access=Access.NONE)

    answers = [
        opened(library, "carol", **form)
        for form in (
            {"token": reference["openReference"]},
            {"sourceId": reference["sourceId"]},
            {"evidenceId": reference["evidenceId"]},
            {"locator": reference["locator"]},
            {"filePath": "contracts.md"},
            {"providerKnowledgeId": reference["providerKnowledgeId"]},
        )
    ]

    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.json()["detail"] for answer in answers}) == 1


def test_open_reference_of_a_closed_and_deleted_file_is_not_found(library: Library, reference: dict[str, Any]) -> None:
    GrantFactory(root=library.root, user=library.people.carol, prefix="guide", access=Access.NONE)
    (library.people.folder / "guide/contracts.md").unlink()

    assert opened(library, "carol", reference=reference).status_code == 404


def test_open_reference_ends_with_the_membership(library: Library, reference: dict[str, Any]) -> None:
    Membership.objects.filter(user=library.people.carol).delete()

    assert opened(library, "carol", token=reference["openReference"]).status_code == 404


def test_open_reference_refuses_an_ambiguous_hint_with_candidates(library: Library) -> None:
    library.add({"a/same.md": "# One\n\nfirst\n", "b/same.md": "# Two\n\nsecond\n"})

    answer = opened(library, "alice", filePath="same.md")

    body = answer.json()
    assert (answer.status_code, body["code"]) == (422, "ambiguous-reference")
    assert [each["sourcePath"] for each in body["candidates"]] == ["a/same.md", "b/same.md"]


def test_open_reference_names_no_candidate_that_is_closed(library: Library) -> None:
    library.add({"a/same.md": "# One\n\nfirst\n", "b/same.md": "# Two\n\nsecond\n", "c/same.md": "# 3\n\nthird\n"})
    GrantFactory(root=library.root, user=library.people.carol, prefix="b", access=Access.NONE)

    body = opened(library, "carol", filePath="same.md").json()

    assert [each["sourcePath"] for each in body["candidates"]] == ["a/same.md", "c/same.md"]


def test_open_reference_is_not_ambiguous_for_one_file_in_two_bases(library: Library, reference: dict[str, Any]) -> None:
    other = KnowledgeBaseFactory(owner=library.people.alice, root=library.root)
    row = library.document("guide/contracts.md")
    row.pk, row.kb = "src_000000000000000000", other
    row.save(force_insert=True)

    assert opened(library, "alice", filePath="contracts.md").status_code == 200


def test_open_reference_of_twins_is_ambiguous_by_content_alone(library: Library, reference: dict[str, Any]) -> None:
    content = (library.people.folder / "guide/contracts.md").read_text()
    library.add({"copy/contracts.md": content})

    answer = opened(library, "alice", providerKnowledgeId=reference["providerKnowledgeId"])

    assert answer.status_code == 422
    assert len(answer.json()["candidates"]) == 2


def test_open_reference_matches_names_by_whole_components_and_case(library: Library) -> None:
    for name in ("ontracts.md", "CONTRACTS.md", "guide", "/", "../notes.txt"):
        assert opened(library, "alice", filePath=name).status_code == 404, name


def test_open_reference_without_a_place_opens_the_document_degraded(library: Library) -> None:
    body = opened(library, "alice", sourceId=library.document("guide/contracts.md").id).json()

    assert body["locatorDegraded"]
    assert body["quote"] == ""
    assert "lineRange" not in body["locator"]
    assert "lines=" not in body["openUrl"]


def test_open_reference_refuses_a_forged_token(library: Library, reference: dict[str, Any]) -> None:
    token = reference["openReference"]
    forged = token[:-3] + ("AAA" if not token.endswith("AAA") else "BBB")

    answer = opened(library, "alice", token=forged)

    assert (answer.status_code, answer.json()["code"]) == (400, "locator_invalid")


def test_open_reference_refuses_a_token_of_another_workspace(library: Library, reference: dict[str, Any]) -> None:
    other = WorkspaceFactory()
    Membership.objects.create(workspace=other, user=library.people.alice)

    answer = post(library.people.client("alice"), URL, {"workspaceId": other.id, "token": reference["openReference"]})

    assert answer.status_code == 404


def test_open_reference_of_a_limited_token_stays_in_its_bases(library: Library, reference: dict[str, Any]) -> None:
    other = KnowledgeBaseFactory(owner=library.people.alice, root=library.root)
    own = library.people.token_client("alice", "knowledge:read", kb_ids=[library.kb.id])
    foreign = library.people.token_client("alice", "knowledge:read", kb_ids=[other.id])

    for form in ({"token": reference["openReference"]}, {"locator": reference["locator"]}):
        assert post(own, URL, {**library.scope, **form}).status_code == 200
        assert post(foreign, URL, {**library.scope, **form}).status_code == 404


def test_open_reference_needs_something_to_open(library: Library) -> None:
    answer = opened(library, "alice")

    assert (answer.status_code, list(answer.json()["errors"])) == (400, ["reference"])
