"""Taking documents out of the index: by rule, by hand, after their grace period, or with their whole base."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from knowledge.models import Disappearance, Document, IndexStatus, KnowledgeBase
from knowledge.services import artifacts, documents, pending, provider_tags
from knowledge.services.ingest import drop_provider_document, kb_ref
from knowledge.services.providers import provider_of

#: How long the row of a removed document stays, so that old citations and lists can say what became of it.
TOMBSTONE_DAYS = 30


def remove(*, documents_to_remove: Iterable[Document], code: str, beat: Callable[..., None] = lambda **_: None) -> int:
    """Take documents out of search and index. Their files stay.

    What the provider does not confirm now is asked for until it does.
    """
    count = 0
    for document in documents_to_remove:
        beat(removed=count)
        held = {document.provider_knowledge_id, pending.forget(document)} - {""}
        documents.mark_deleted(document=document, code=code)
        kept = [each for each in held if not drop_provider_document(kb=document.kb, provider_document_id=each)]
        if document.tags_json:  # other rows may share it, without these tags
            provider_tags.wish(kb=document.kb, provider_document_ids=kept)
        count += 1
    return count


def is_due() -> bool:
    """Say whether `remove_overdue` or `forget_old_rows` would find something to do."""
    return any(_is_overdue(document) for document in _missing()) or _old_rows().exists()


def remove_overdue() -> int:
    """Remove from the index what has been missing for longer than its source's grace period."""
    return remove(documents_to_remove=[row for row in _missing() if _is_overdue(row)], code="missing")


def purge_kb(*, kb: KnowledgeBase, beat: Callable[..., None] = lambda **_: None) -> int:
    """Remove the whole index of an archived knowledge base, then its rows."""
    provider_of(kb).delete_kb(kb_ref(kb))
    removed = 0
    while ids := list(kb.documents.values_list("id", flat=True)[:500]):
        beat(removed=removed)
        removed += Document.objects.filter(id__in=ids).delete()[1].get("knowledge.Document", 0)
    return removed


def forget_old_rows() -> int:
    """Delete the rows of documents removed long ago, and artifacts that no document holds any more."""
    rows = list(_old_rows().values_list("id", "workspace_id", "source_hash")[:500])
    Document.objects.filter(id__in=[row[0] for row in rows]).delete()
    for workspace_id in {row[1] for row in rows}:
        hashes = {row[2] for row in rows if row[1] == workspace_id and row[2]}
        held = Document.objects.filter(workspace_id=workspace_id, source_hash__in=hashes)
        orphans = hashes - set(held.values_list("source_hash", flat=True))
        artifacts.forget(workspace_id=workspace_id, source_hashes=sorted(orphans))
    return len(rows)


def _missing() -> list[Document]:
    rows = Document.objects.filter(missing_since__isnull=False, deleted_at__isnull=True)
    return list(rows.select_related("kb__profile", "source").order_by("missing_since")[:500])


def _old_rows() -> QuerySet[Document]:
    before = timezone.now() - timedelta(days=TOMBSTONE_DAYS)
    return Document.objects.filter(index_status=IndexStatus.DELETED, deleted_at__lt=before)


def _is_overdue(document: Document) -> bool:
    source = document.source
    if source is None or document.missing_since is None:
        return True
    if source.disappearance == Disappearance.KEEP or source.frozen_at:
        return False
    return document.missing_since + timedelta(hours=source.grace_hours) <= timezone.now()
