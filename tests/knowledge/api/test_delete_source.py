from __future__ import annotations

from typing import Any

import pytest

from knowledge.models import Document, Exclusion, IndexStatus
from knowledge.services import attaching
from mnote.models import Access, Job
from tests.factories.knowledge import KnowledgeBaseFactory
from tests.factories.mnote import GrantFactory
from tests.knowledge.api.conftest import post
from tests.library import Library
from tests.published import assert_published

URL = "/api/knowledge-rag/delete-source"


def delete(library: Library, person: str, **body: Any) -> Any:
    return post(library.people.client(person), URL, {**library.scope, **body})


def test_delete_source_takes_it_out_of_search_and_keeps_the_file(library: Library) -> None:
    row = library.document("notes.txt")

    body = delete(library, "bob", sourceIds=[row.id]).json()

    assert_published("deleted-sources", body)
    assert [each["sourceId"] for each in body["removed"]] == [row.id]
    assert (library.people.folder / "notes.txt").exists()
    row.refresh_from_db()
    assert (row.index_status, row.is_searchable, row.reason_code) == (IndexStatus.DELETED, False, "excluded_by_hand")
    assert Job.objects.filter(kind="knowledge.remove_documents").exists()


def test_delete_source_below_a_folder_rule_is_not_brought_back(library: Library) -> None:
    delete(library, "bob", paths=["notes.txt"])

    library.index()

    assert library.document("notes.txt").index_status == IndexStatus.DELETED
    assert Exclusion.objects.get(kb=library.kb).path == "notes.txt"


def test_delete_source_of_a_folder_takes_what_is_below(library: Library) -> None:
    body = delete(library, "bob", paths=["guide"]).json()

    assert {each["sourcePath"] for each in body["removed"]} == {"guide/contracts.md", "guide/zh.md"}


def test_delete_source_without_a_base_covers_every_base(library: Library) -> None:
    other = KnowledgeBaseFactory(owner=library.people.alice, root=library.root)
    attaching.attach_file(principal=library.people.principal("alice"), kb=other, root=library.root, path="notes.txt")

    body = delete(library, "bob", paths=["notes.txt"]).json()

    assert {each["knowledgeBaseId"] for each in body["removed"]} == {library.kb.id, other.id}


def test_delete_source_with_a_base_leaves_the_others(library: Library) -> None:
    other = KnowledgeBaseFactory(owner=library.people.alice, root=library.root)
    attaching.attach_file(principal=library.people.principal("alice"), kb=other, root=library.root, path="notes.txt")

    delete(library, "bob", paths=["notes.txt"], knowledgeBaseId=other.id)

    assert library.document("notes.txt").index_status == IndexStatus.INDEXED
    assert not other.sources.exists()
    assert Document.objects.get(kb=other).reason_code == "source_removed"


def test_delete_source_says_what_it_did_not_find(library: Library) -> None:
    GrantFactory(root=library.root, user=library.people.bob, prefix="private", access=Access.NONE)
    closed = library.document("private/salary.md")

    body = delete(library, "bob", sourceIds=[closed.id, "src_x"], paths=["private", "zzz", "/"]).json()

    assert body == {"removed": [], "notFound": [closed.id, "src_x", "private", "zzz", "/"]}
    closed.refresh_from_db()
    assert closed.index_status == IndexStatus.INDEXED


@pytest.mark.parametrize(("person", "status"), [("alice", 200), ("bob", 200), ("carol", 403), ("mallory", 404)])
def test_delete_source_needs_a_curator(library: Library, person: str, status: int) -> None:
    assert delete(library, person, paths=["notes.txt"]).status_code == status


def test_delete_source_needs_something_to_delete(library: Library) -> None:
    assert delete(library, "bob").status_code == 400
