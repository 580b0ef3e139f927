"""A new place at the provider for a knowledge base whose old one cannot be used any more: all is indexed again."""

from __future__ import annotations

import logging

from django.db import transaction
from django.utils import timezone

from knowledge import ids
from knowledge.models import Document, IndexStatus, KnowledgeBase, ProviderDeletion, ProviderTagging
from knowledge.services import documents, revisions
from knowledge.services.documents import NO_REASON
from knowledge.services.pending import NOTHING_PENDING, WITH_PROVIDER
from mnote.services import audit

log = logging.getLogger(__name__)

_INDEXED = (IndexStatus.INDEXED, IndexStatus.STALE)


def remint(*, kb: KnowledgeBase) -> bool:
    """Give a knowledge base a new id at its provider and queue everything again. Of several workers that find the old
    id unusable one does it; the others learn the new id. Returns whether this one did."""
    old_id, new_id = kb.provider_kb_id, ids.provider_kb_id()
    with transaction.atomic():
        revisions.take(kb.workspace_id)
        is_first = KnowledgeBase.objects.filter(pk=kb.pk, provider_kb_id=old_id).update(provider_kb_id=new_id)
        if is_first:
            _forget_index(kb, new_id)
            facts = {"old": old_id, "new": new_id}
            audit.record(
                principal=None, action="kb.remint", workspace=kb.workspace, kb_id=kb.id, target=kb.name, facts=facts
            )
    kb.refresh_from_db(fields=["provider_kb_id"])
    if is_first:
        log.warning("a knowledge base got a new id at its provider", extra={"kb_id": kb.pk})
    return bool(is_first)


def _forget_index(kb: KnowledgeBase, new_id: str) -> None:
    """What is held by a worker or failed for its own reasons stays as it is, without its index entry."""
    ProviderDeletion.objects.filter(kb=kb).delete()
    ProviderTagging.objects.filter(kb=kb).delete()
    rows = Document.objects.filter(kb=kb)
    again = rows.filter(index_status__in=_INDEXED) | rows.filter(WITH_PROVIDER)
    queued = list(again.values_list("pk", flat=True))
    documents.write_all(
        rows, provider_kb_id=new_id, provider_knowledge_id="", indexed_hash="", chunk_count=0, is_searchable=False,
        text_hash="", **NOTHING_PENDING,
    )  # fmt: skip
    for start in range(0, len(queued), 500):
        documents.write_all(
            Document.objects.filter(pk__in=queued[start : start + 500]),
            index_status=IndexStatus.QUEUED, status_since=timezone.now(), attempts=0, next_try_at=None,
            **NO_REASON | {"reason_code": "index_moved", "reason_class": "service"},
        )  # fmt: skip
