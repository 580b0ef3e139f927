from __future__ import annotations

from typing import Any

from knowledge.services import documents
from mnote.models import Access
from tests.factories.mnote import GrantFactory
from tests.library import Library
from tests.published import assert_published

URL = "/api/knowledge-rag/lamps"


def lamps(library: Library, person: str, **query: Any) -> dict[str, Any]:
    body: dict[str, Any] = library.people.client(person).get(URL, {**library.scope, **query}).json()
    return body


def test_lamps_give_every_file_and_folder(library: Library) -> None:
    body = lamps(library, "carol")

    assert_published("lamps", body)
    assert {each["path"]: each["lamp"] for each in body["files"]}["guide/zh.md"] == "indexed"
    folders = {each["path"]: each["counts"] for each in body["folders"]}
    assert folders == {"guide": {"indexed": 2}, "prices": {"indexed": 1}, "private": {"indexed": 1}}
    assert body["files"][0]["knowledgeBases"][0]["name"] == "Handbook"


def test_lamps_give_the_reason_of_a_failure(library: Library) -> None:
    documents.stop(document=library.document("notes.txt"))
    documents.requeue(documents=[library.document("notes.txt")])
    documents.stop(document=library.document("notes.txt"))

    lamp = next(each for each in lamps(library, "carol")["files"] if each["path"] == "notes.txt")

    assert (lamp["lamp"], lamp["reason"]["code"]) == ("failed", "stopped")
    assert lamp["reason"]["sentence"]


def test_lamps_below_a_prefix(library: Library) -> None:
    body = lamps(library, "carol", prefix="guide")

    assert [each["path"] for each in body["files"]] == ["guide/contracts.md", "guide/zh.md"]
    assert body["folders"] == []


def test_lamps_since_a_revision_give_what_changed(library: Library) -> None:
    seen = lamps(library, "carol")["revision"]
    documents.requeue(documents=[library.document("guide/zh.md")])

    body = lamps(library, "carol", since=seen)

    assert_published("lamps", body)
    assert [(each["path"], each["lamp"]) for each in body["files"]] == [("guide/zh.md", "queued")]
    assert [(each["path"], each["lamp"]) for each in body["folders"]] == [("guide", "queued")]
    assert lamps(library, "carol", since=body["revision"])["files"] == []


def test_lamps_show_only_what_may_be_read(library: Library) -> None:
    GrantFactory(root=library.root, user=library.people.carol, prefix="private", access=Access.NONE)

    body = lamps(library, "carol")

    assert "private" not in {each["path"] for each in body["folders"]}
    assert not any(each["path"].startswith("private") for each in body["files"])


def test_lamps_are_not_sent_twice(library: Library) -> None:
    client = library.people.client("carol")
    first = client.get(URL, library.scope)

    same = client.get(URL, library.scope, headers={"If-None-Match": first.headers["ETag"]})
    documents.requeue(documents=[library.document("notes.txt")])
    changed = client.get(URL, library.scope, headers={"If-None-Match": first.headers["ETag"]})

    assert (same.status_code, same.content) == (304, b"")
    assert changed.status_code == 200


def test_lamps_are_sent_again_when_rights_change(library: Library) -> None:
    client = library.people.client("carol")
    first = client.get(URL, library.scope)
    GrantFactory(root=library.root, user=library.people.carol, prefix="private", access=Access.NONE)

    again = client.get(URL, library.scope, headers={"If-None-Match": first.headers["ETag"]})

    assert again.status_code == 200


def test_lamps_have_another_version_for_every_reader(library: Library) -> None:
    GrantFactory(root=library.root, user=library.people.carol, prefix="private", access=Access.NONE)

    tags = {library.people.client(person).get(URL, library.scope).headers["ETag"] for person in ("alice", "carol")}

    assert len(tags) == 2


def test_lamps_are_hidden_from_strangers(library: Library) -> None:
    assert library.people.client("mallory").get(URL, library.scope).status_code == 404
