from __future__ import annotations

from tests.knowledge.api.conftest import post
from tests.library import Library
from tests.published import assert_published

URL = "/api/search/documents"


def test_document_search_by_get_keeps_the_old_results_and_adds_evidence(library: Library) -> None:
    body = library.people.client("carol").get(URL, {**library.scope, "q": "landlord", "limit": "3"}).json()

    assert_published("document-results", body)
    result = body["results"][0]
    assert (result["documentId"], result["path"]) == ("local-md:notes.txt", "notes.txt")
    assert result["snippet"] == result["evidence"]["quote"]
    assert result["source"]["locator"] == result["evidence"]["source"]


def test_document_search_by_post_finds_the_same(library: Library) -> None:
    client = library.people.client("carol")

    by_get = client.get(URL, {**library.scope, "q": "landlord"}).json()
    by_post = post(client, URL, {**library.scope, "query": "landlord", "includeOcr": False}).json()

    assert [each["path"] for each in by_get["results"]] == [each["path"] for each in by_post["results"]]


def test_document_read_gives_the_text_and_a_locator(library: Library) -> None:
    body = post(library.people.client("carol"), URL, {**library.scope, "documentId": "local-md:notes.txt"}).json()

    assert_published("document-text", body)
    assert body["text"].startswith("Remember the thirty days")
    assert body["source"]["locator"]["resourcePath"] == "notes.txt"


def test_document_read_says_when_it_was_cut(library: Library) -> None:
    wanted = {**library.scope, "documentId": "local-md:notes.txt", "maxChars": 8}

    body = post(library.people.client("carol"), URL, wanted).json()

    assert (body["text"], body["truncated"]) == ("Remember", True)


def test_document_read_by_locator_reads_evidence(library: Library) -> None:
    client = library.people.client("carol")
    found = client.get(URL, {**library.scope, "q": "landlord"}).json()["results"][0]

    body = post(client, URL, {**library.scope, "locator": found["source"]["locator"]}).json()

    assert_published("read", body)


def test_document_search_is_closed_to_strangers(library: Library) -> None:
    client = library.people.client("mallory")

    assert client.get(URL, {**library.scope, "q": "landlord"}).status_code == 404
    assert post(client, URL, {**library.scope, "documentId": "local-md:notes.txt"}).status_code == 404


def test_document_search_needs_something_to_look_for(library: Library) -> None:
    answer = library.people.client("carol").get(URL, library.scope)

    assert (answer.status_code, list(answer.json()["errors"])) == (400, ["query"])
