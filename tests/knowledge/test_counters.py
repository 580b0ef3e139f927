"""The counters must equal a count of the rows after any kind of write."""

from __future__ import annotations

from collections import Counter

import pytest
from django.utils import timezone

from knowledge.models import Document, IndexStatus, KBCount
from tests.factories.knowledge import DocumentFactory, KnowledgeBaseFactory

pytestmark = pytest.mark.django_db


def kept() -> dict[tuple[str, str, bool], int]:
    rows = KBCount.objects.exclude(count=0)
    return {(row.kb_id, row.index_status, row.is_searchable): row.count for row in rows}


def counted() -> dict[tuple[str, str, bool], int]:
    return dict(Counter(Document.objects.values_list("kb_id", "index_status", "is_searchable")))


def test_counts_follow_single_and_bulk_writes() -> None:
    kb = KnowledgeBaseFactory()
    first, second, third = (DocumentFactory(kb=kb, root=kb.root, workspace=kb.workspace) for _ in range(3))
    assert kept() == counted()

    Document.objects.filter(id=first.id).update(index_status=IndexStatus.FAILED, status_since=timezone.now())
    Document.objects.filter(kb=kb).update(is_searchable=True)
    assert kept() == counted()

    second.delete()
    Document.objects.filter(id=third.id).delete()
    assert kept() == counted()
    assert sum(kept().values()) == 1


def test_counts_do_not_change_with_other_columns() -> None:
    document = DocumentFactory()
    before = kept()

    Document.objects.filter(id=document.id).update(title="another title")

    assert kept() == before
