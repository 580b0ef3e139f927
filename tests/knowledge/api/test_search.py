from __future__ import annotations

import pytest

from mnote.models import Access
from tests.factories.knowledge import KnowledgeBaseFactory
from tests.factories.mnote import GrantFactory, RootFactory
from tests.knowledge.api.conftest import post
from tests.library import Library
from tests.published import assert_published

URL = "/api/knowledge-rag/search"


def test_search_answers_with_references_in_the_published_form(library: Library) -> None:
    answer = post(library.people.client("carol"), URL, {**library.scope, "query": "thirty days notice"})

    body = answer.json()
    assert answer.status_code == 200
    assert_published("search-results", body)
    assert body["schema"] == "mnote.knowledge_rag.search_results.v1"
    assert body["sourceScopeMode"] == "post_filter_mapped_references"
    assert {hit["sourcePath"] for hit in body["results"]} >= {"guide/contracts.md", "notes.txt"}


def test_search_cuts_its_quote_from_the_lines_it_names(library: Library) -> None:
    body = post(library.people.client("alice"), URL, {**library.scope, "query": "解除合同", "topK": 1}).json()

    hit = body["results"][0]
    lines = (library.people.folder / hit["sourcePath"]).read_text().split("\n")
    assert hit["quote"] == "\n".join(lines[hit["lineStart"] - 1 : hit["lineEnd"]])


def test_search_leaves_no_server_path_in_addresses(library: Library) -> None:
    body = post(library.people.client("alice"), URL, {**library.scope, "query": "notice"}).json()

    for hit in body["results"]:
        assert hit["openUrl"] == hit["citationUrl"]
        assert hit["openUrl"].startswith(f"/w/{library.people.workspace.id}/open/")
        for name in ("openUrl", "citationMarkdown", "sourcePath", "citationLabel"):
            assert "file://" not in hit[name]
            assert str(library.people.folder) not in hit[name]


@pytest.mark.parametrize(
    ("narrowing", "paths"),
    [
        ({"sourcePaths": ["guide"]}, {"guide/contracts.md"}),
        ({"sourcePaths": ["notes.txt"]}, {"notes.txt"}),
        ({"sourcePaths": ["guid"]}, set()),
        ({"sourceTypes": ["text"]}, {"notes.txt"}),
        ({"tags": ["none"]}, set()),
    ],
)
def test_search_narrows(library: Library, narrowing: dict[str, list[str]], paths: set[str]) -> None:
    query = {**library.scope, "query": "thirty days notice", **narrowing}

    body = post(library.people.client("alice"), URL, query).json()

    assert {hit["sourcePath"] for hit in body["results"]} == paths


def test_search_narrows_to_sources_and_bases(library: Library) -> None:
    wanted = library.document("notes.txt")
    query = {**library.scope, "query": "notice", "sourceIds": [wanted.id], "knowledgeBaseIds": [library.kb.id]}

    body = post(library.people.client("alice"), URL, query).json()

    assert [hit["sourceId"] for hit in body["results"]] == [wanted.id]


def test_search_shows_only_what_the_reader_may_read(library: Library) -> None:
    GrantFactory(root=library.root, user=library.people.carol, prefix="private", access=Access.NONE)
    query = {**library.scope, "query": "salary of the director"}

    seen = post(library.people.client("alice"), URL, query).json()
    hidden = post(library.people.client("carol"), URL, query).json()

    assert [hit["sourcePath"] for hit in seen["results"]] == ["private/salary.md"]
    assert hidden["results"] == []
    assert "droppedForbidden" not in hidden
    assert "candidates" not in hidden


def test_search_tells_administrators_what_was_dropped(library: Library) -> None:
    bob = library.people.bob
    bob.is_staff = True
    bob.save()
    GrantFactory(root=library.root, user=bob, prefix="private", access=Access.NONE)

    body = post(library.people.client("bob"), URL, {**library.scope, "query": "salary of the director"}).json()

    assert_published("search-results", body)
    assert body["droppedForbidden"] == 1


def test_search_shows_provider_text_to_administrators_only(library: Library) -> None:
    query = {**library.scope, "query": "notice", "debug": True}
    library.people.bob.is_staff = True
    library.people.bob.save()

    plain = post(library.people.client("alice"), URL, query).json()
    debug = post(library.people.client("bob"), URL, query).json()
    token = post(library.people.token_client("bob"), URL, query).json()

    assert "providerContent" not in plain["results"][0]
    assert debug["results"][0]["providerContent"]
    assert "providerContent" not in token["results"][0]


def test_search_of_a_limited_token_stays_in_its_bases(library: Library) -> None:
    other = KnowledgeBaseFactory(owner=library.people.alice, root=library.root)
    client = library.people.token_client("alice", "knowledge:read", kb_ids=[other.id])

    everywhere = post(client, URL, {**library.scope, "query": "notice"})
    named = post(client, URL, {**library.scope, "query": "notice", "knowledgeBaseIds": [library.kb.id]})

    assert everywhere.json()["results"] == []
    assert named.status_code == 404


def test_search_in_an_invisible_base_looks_like_an_absent_one(library: Library) -> None:
    foreign = KnowledgeBaseFactory()
    client = library.people.client("alice")

    answers = [
        post(client, URL, {**library.scope, "query": "notice", "knowledgeBaseIds": [kb_id]})
        for kb_id in (foreign.id, "kb_000000000000000000")
    ]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert {answer.json()["code"] for answer in answers} == {"not-found"}


def test_search_in_a_foreign_root_is_not_found(library: Library) -> None:
    foreign = RootFactory()

    answer = post(library.people.client("alice"), URL, {**library.scope, "rootUri": foreign.root_uri, "query": "x"})

    assert (answer.status_code, answer.json()["code"]) == (404, "root_not_found")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"query": "x" * 10_001}, "query"),
        ({"query": "   "}, "query"),
        ({"query": 7}, "query"),
        ({"query": "a\0b"}, "query"),
        ({"query": "a\ud800"}, "query"),
        ({"topK": 0}, "topK"),
        ({"topK": 51}, "topK"),
        ({"topK": "5"}, "topK"),
        ({"topK": True}, "topK"),
        ({"mode": "magic"}, "mode"),
        ({"mode": ["text"]}, "mode"),
        ({"debug": "yes"}, "debug"),
        ({"sourceIds": "src"}, "sourceIds"),
        ({"sourceIds": ["x"] * 1001}, "sourceIds"),
        ({"sourceIds": [1]}, "sourceIds.0"),
        ({"tags": [None]}, "tags.0"),
        ({"workspaceId": None}, "workspaceId"),
    ],
)
def test_search_names_the_field_that_is_wrong(library: Library, change: dict[str, object], field: str) -> None:
    answer = post(library.people.client("alice"), URL, {**library.scope, "query": "notice", **change})

    assert answer.status_code == 400
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert list(answer.json()["errors"]) == [field]


def test_search_ignores_unknown_fields(library: Library) -> None:
    answer = post(library.people.client("alice"), URL, {**library.scope, "query": "notice", "surprise": {"a": [1]}})

    assert answer.status_code == 200


def test_search_names_the_page_that_refers_to_a_resource(library: Library) -> None:
    body = post(library.people.client("alice"), URL, {**library.scope, "query": "anvil bellows"}).json()

    place = body["results"][0]["locator"]
    assert place["resourcePath"] == "prices/list.csv"
    assert (place["ownerDocumentPath"], place["owners"]) == ("guide/contracts.md", ["guide/contracts.md"])
    assert body["results"][0]["citationLabel"].startswith("contracts.md / list.csv")


def test_search_names_no_page_that_the_reader_may_not_read(library: Library) -> None:
    GrantFactory(root=library.root, user=library.people.carol, prefix="guide", access=Access.NONE)

    body = post(library.people.client("carol"), URL, {**library.scope, "query": "anvil bellows"}).json()

    assert body["results"][0]["locator"]["ownerDocumentPath"] == "prices/list.csv"
    assert "owners" not in body["results"][0]["locator"]
