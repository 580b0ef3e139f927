from __future__ import annotations

import pytest
from django.utils import timezone

from knowledge.models import IndexStatus, RevisionCounter
from knowledge.selectors.lamps import ORDER, file_lamp, file_lamps, folder_lamps, lamps_below, worst
from mnote.models import Access
from mnote.principals import Principal
from tests.factories.knowledge import DocumentFactory, KnowledgeBaseFactory
from tests.factories.mnote import GrantFactory


@pytest.fixture
def kb(people):
    return KnowledgeBaseFactory(root=people.root, owner=people.alice, name="Alpha")


def _alice(people) -> Principal:
    return people.principal("alice")


@pytest.mark.parametrize("better", range(1, len(ORDER)))
def test_worst_follows_the_order_of_the_lamps(better):
    assert worst([ORDER[better], ORDER[better - 1]]) == ORDER[better - 1]


def test_folder_lamps_count_everything_below(people, kb):
    for path, status in {
        "a/1.md": IndexStatus.INDEXED,
        "a/b/2.md": IndexStatus.FAILED,
        "a/b/c/3.md": IndexStatus.INDEXED,
        "d/4.md": IndexStatus.QUEUED,
        "5.md": IndexStatus.FAILED,
    }.items():
        DocumentFactory(kb=kb, source_path=path, index_status=status)

    found = folder_lamps(_alice(people), people.root)
    assert {path: (lamp.status.value, dict(lamp.counts)) for path, lamp in found.items()} == {
        "a": ("failed", {"failed": 1, "indexed": 2}),
        "d": ("queued", {"queued": 1}),
    }
    assert list(folder_lamps(_alice(people), people.root, "a")) == ["a/b"]


@pytest.mark.parametrize("other", ["A/x.md", "ab/x.md", "a_/x.md", "b/a/x.md", "a%/x.md"])
def test_folder_lamps_never_count_a_folder_of_a_similar_name(other, people, kb):
    DocumentFactory(kb=kb, source_path="a/x/1.md")
    DocumentFactory(kb=kb, source_path=other, index_status=IndexStatus.FAILED)

    assert {path: lamp.total for path, lamp in folder_lamps(_alice(people), people.root, "a").items()} == {"a/x": 1}


def test_folder_lamps_take_one_query_for_all_folders(people, kb, django_assert_max_num_queries):
    for number in range(40):
        DocumentFactory(kb=kb, source_path=f"folder{number}/1.md")

    with django_assert_max_num_queries(5):
        assert len(folder_lamps(_alice(people), people.root)) == 40


def test_folder_lamps_follow_every_change(people, kb):
    document = DocumentFactory(kb=kb, source_path="a/1.md")
    assert folder_lamps(_alice(people), people.root)["a"].status == IndexStatus.INDEXED

    document.index_status = IndexStatus.FAILED
    document.save()
    RevisionCounter.objects.update_or_create(workspace=people.workspace, defaults={"value": 7})
    assert folder_lamps(_alice(people), people.root)["a"].status == IndexStatus.FAILED


def test_folder_lamps_follow_a_grant_that_is_taken_back(people, kb):
    DocumentFactory(kb=kb, source_path="a/b/1.md", index_status=IndexStatus.FAILED)
    DocumentFactory(kb=kb, source_path="a/2.md")
    carol = people.principal("carol")
    assert folder_lamps(carol, people.root)["a"].total == 2

    GrantFactory(root=people.root, user=people.carol, prefix="a/b", access=Access.NONE)
    assert folder_lamps(carol, people.root)["a"].counts == {IndexStatus.INDEXED: 1}


def test_file_lamps_list_every_knowledge_base(people, kb):
    other = KnowledgeBaseFactory(root=people.root, owner=people.alice, name="Beta")
    DocumentFactory(kb=kb, source_path="a/1.md")
    DocumentFactory(kb=other, source_path="a/1.md", index_status=IndexStatus.STALE)
    DocumentFactory(kb=kb, source_path="a/b/2.md")

    found = file_lamps(_alice(people), people.root, "a")
    assert list(found) == ["a/1.md"]
    assert found["a/1.md"].status == IndexStatus.STALE
    assert [(state.kb_name, state.status.value) for state in found["a/1.md"].states] == [
        ("Alpha", "indexed"),
        ("Beta", "stale"),
    ]


def test_file_lamp_is_none_in_no_knowledge_base(people, kb):
    assert file_lamp(_alice(people), people.root, "a/1.md") is None


def test_lamps_leave_out_archived_and_forbidden_knowledge_bases(people, kb):
    archived = KnowledgeBaseFactory(root=people.root, owner=people.alice, archived_at=timezone.now())
    DocumentFactory(kb=archived, source_path="a/1.md")
    DocumentFactory(kb=kb, source_path="a/2.md")

    limited = Principal(user=people.alice, token_name="t", scopes=frozenset(), kb_ids=frozenset({"kb_other"}))
    assert list(file_lamps(_alice(people), people.root, "a")) == ["a/2.md"]
    assert file_lamps(limited, people.root, "a") == {}
    assert folder_lamps(people.principal("mallory"), people.root) == {}


def test_lamps_below_give_what_changed_since(people, kb):
    DocumentFactory(kb=kb, source_path="a/1.md", rev=3)
    DocumentFactory(kb=kb, source_path="a/b/2.md", rev=8)
    DocumentFactory(kb=kb, source_path="c/3.md", rev=9)

    assert list(lamps_below(_alice(people), people.root, "a", since=3)) == ["a/b/2.md"]
