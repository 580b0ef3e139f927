from __future__ import annotations

from typing import Any

import pytest

from knowledge.models import Document, IndexStatus
from knowledge.providers.registry import local_provider
from knowledge.services.ingest import kb_ref
from mnote.models import Access
from tests.factories.mnote import GrantFactory
from tests.knowledge.api.conftest import post
from tests.library import Library
from tests.published import assert_published

URL = "/api/knowledge-rag/prune-registry"


def prune(library: Library, person: str = "bob", **body: Any) -> Any:
    return post(library.people.client(person), URL, {**library.scope, **body})


def test_prune_finds_rows_without_a_file(library: Library) -> None:
    (library.people.folder / "notes.txt").unlink()

    body = prune(library).json()

    assert_published("pruned-registry", body)
    assert (body["dryRun"], body["checked"]) == (True, 5)
    assert [(each["sourcePath"], each["action"]) for each in body["missingFiles"]] == [("notes.txt", "none")]
    assert library.document("notes.txt").index_status == IndexStatus.INDEXED


def test_prune_takes_rows_without_a_file_out_of_search(library: Library) -> None:
    (library.people.folder / "notes.txt").unlink()

    body = prune(library, dryRun=False).json()

    assert body["missingFiles"][0]["action"] == "marked-missing"
    row = library.document("notes.txt")
    assert (row.index_status, row.reason_code) == (IndexStatus.DELETED, "missing")
    assert row.missing_since is not None


def test_prune_reads_rows_without_an_index_entry_again(library: Library) -> None:
    row = library.document("guide/zh.md")
    local_provider().delete_document(kb_ref(library.kb), row.provider_knowledge_id)

    found = prune(library).json()
    done = prune(library, dryRun=False).json()

    assert [each["sourcePath"] for each in found["missingTwins"]] == ["guide/zh.md"]
    assert done["missingTwins"][0]["action"] == "queued"
    assert library.document("guide/zh.md").index_status == IndexStatus.QUEUED


def test_prune_twice_finds_nothing_more(library: Library) -> None:
    (library.people.folder / "notes.txt").unlink()
    prune(library, dryRun=False)

    assert prune(library, dryRun=False).json()["missingFiles"] == []


def test_prune_goes_on_where_it_stopped(library: Library) -> None:
    seen, after, calls = 0, "", 0
    while after is not None:
        body = prune(library, limit=2, after=after).json()
        seen, after, calls = seen + body["checked"], body["nextAfter"], calls + 1

    assert (seen, calls) == (5, 3)


def test_prune_holds_back_when_the_folder_is_another_one(library: Library) -> None:
    for path in ("notes.txt", "guide/zh.md"):
        (library.people.folder / path).unlink()
    library.root.inode += 1
    library.root.save()

    body = prune(library, dryRun=False).json()

    assert (body["held"], {each["action"] for each in body["missingFiles"]}) == ("device_changed", {"held"})
    assert library.document("notes.txt").index_status == IndexStatus.INDEXED


def test_prune_deletes_nothing_when_the_root_is_gone(library: Library) -> None:
    library.people.folder.rename(library.people.folder.with_name("moved-away"))

    answer = prune(library, dryRun=False)

    assert (answer.status_code, answer.json()["code"]) == (503, "root-unavailable")
    assert not Document.objects.filter(index_status=IndexStatus.DELETED).exists()


def test_prune_sees_only_what_may_be_read(library: Library) -> None:
    GrantFactory(root=library.root, user=library.people.bob, prefix="private", access=Access.NONE)
    (library.people.folder / "private/salary.md").unlink()

    body = prune(library, dryRun=False).json()

    assert (body["checked"], body["missingFiles"]) == (4, [])


@pytest.mark.parametrize(("person", "status"), [("alice", 200), ("bob", 200), ("carol", 403), ("mallory", 404)])
def test_prune_needs_a_curator(library: Library, person: str, status: int) -> None:
    assert prune(library, person).status_code == status
