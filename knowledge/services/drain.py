"""Working through the waiting documents of one knowledge base, a small batch at a time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from knowledge.models import Document, IndexStatus, KnowledgeBase
from knowledge.services import documents, registry
from knowledge.services.ingest import ingest_document

log = logging.getLogger(__name__)

_BATCH = 8
#: After this long a job makes room for other knowledge bases and queues itself again.
_TURN_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """What one turn did. `more` says that documents still wait."""

    indexed: int
    failed: int
    more: bool


def drain(*, kb: KnowledgeBase, worker: str, beat: Callable[..., None] = lambda **_: None) -> Drained:
    """Ingest waiting documents until none is left or the turn is over."""
    ends = time.monotonic() + _TURN_SECONDS
    indexed = failed = 0
    while time.monotonic() < ends:
        claimed = documents.claim(kb=kb, worker=worker, limit=_BATCH)
        if not claimed:
            break
        try:
            for document in claimed:
                beat(indexed=indexed, failed=failed)
                done = _ingest(document)
                indexed, failed = indexed + done, failed + (not done)
        finally:
            documents.release(worker=worker, claimed=claimed)
    return Drained(indexed=indexed, failed=failed, more=Document.objects.filter(documents.due(kb)).exists())


def _ingest(document: Document) -> bool:
    """Ingest one document; whatever goes wrong with it stays with it."""
    try:
        return ingest_document(document=document)
    except Exception:  # its siblings must go on, and its row must not wait for the end of a lease
        log.exception("a document could not be ingested", extra={"document_id": document.id})
        documents.fail(document=document, code="internal")
        return False


def restart_waiting() -> int:
    """Ring for every knowledge base that has documents to work on, e.g. after a restart or a back-off."""
    waiting = KnowledgeBase.objects.filter(
        archived_at__isnull=True, paused_at__isnull=True, documents__index_status=IndexStatus.QUEUED
    ).distinct()
    count = 0
    for kb in waiting.select_related("workspace"):
        if Document.objects.filter(documents.due(kb)).exists():
            registry.request_work(kb)
            count += 1
    return count
