"""The life of a registry row. Every change of a document's state goes through here, with since-when and reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from knowledge.models import Document, DocumentEvent, IndexStatus, KnowledgeBase
from knowledge.reasons import reason_for
from knowledge.services import revisions

#: How long a worker may hold a document before it is taken for dead.
LEASE = timedelta(minutes=5)
MAX_ATTEMPTS = 5
_BACKOFF_SECONDS = (10, 60, 300, 900)


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What ingest achieved for a document."""

    source_hash: str
    provider_document_id: str
    provider_status: str
    chunk_count: int
    title: str
    metadata: dict[str, Any]
    locator: dict[str, Any]


def due(kb: KnowledgeBase) -> Q:
    """Select the documents of `kb` that wait to be worked on now."""
    now = timezone.now()
    return Q(kb=kb, index_status=IndexStatus.QUEUED) & (Q(next_try_at__isnull=True) | Q(next_try_at__lte=now))


def claim(*, kb: KnowledgeBase, worker: str, limit: int) -> list[Document]:
    """Take up to `limit` waiting documents for `worker`. Two workers never get the same one."""
    ids = list(Document.objects.filter(due(kb)).order_by("sort_path", "id").values_list("id", flat=True)[:limit])
    if not ids:
        return []
    now = timezone.now()
    with transaction.atomic():
        taken = list(Document.objects.filter(id__in=ids, index_status=IndexStatus.QUEUED).values_list("id", flat=True))
        mine = [
            document_id
            for document_id in taken
            if Document.objects.filter(id=document_id, index_status=IndexStatus.QUEUED).update(
                index_status=IndexStatus.PARSING,
                worker=worker,
                lease_expires_at=now + LEASE,
                status_since=now,
                rev=revisions.take(kb.workspace_id),
            )
        ]
    return list(Document.objects.filter(id__in=mine).select_related("root", "kb").order_by("sort_path", "id"))


def release(*, worker: str, claimed: Sequence[Document]) -> None:
    """Give back what `worker` claimed and did not get to. Nothing to do after a batch that ran to its end."""
    mine = Q(index_status=IndexStatus.PARSING, worker=worker)
    for document in Document.objects.filter(mine, id__in=[each.id for each in claimed]):
        _write(document, only_if=mine, index_status=IndexStatus.QUEUED, worker="", lease_expires_at=None)


def release_lost() -> int:
    """Give documents of dead workers back to the queue; after too many tries they fail with a reason."""
    now = timezone.now()
    lost = Document.objects.filter(index_status=IndexStatus.PARSING, lease_expires_at__lt=now)
    count = 0
    for document in lost.order_by("id")[:500]:
        fail(document=document, code="worker_lost")
        count += 1
    return count


def finish(*, document: Document, outcome: Indexed) -> bool:
    """Mark as indexed. Returns False when the row was taken away meanwhile (stopped, deleted, claimed anew)."""
    now = timezone.now()
    return _write(
        document,
        only_if=Q(index_status=IndexStatus.PARSING, worker=document.worker),
        index_status=IndexStatus.INDEXED,
        status_since=now,
        indexed_at=now,
        source_hash=outcome.source_hash,
        indexed_hash=outcome.source_hash,
        provider_knowledge_id=outcome.provider_document_id,
        provider_status=outcome.provider_status,
        chunk_count=outcome.chunk_count,
        title=outcome.title[:500],
        metadata_json=outcome.metadata,
        citation_locator_json=outcome.locator,
        is_searchable=True,
        reason_class="",
        reason_code="",
        reason_detail="",
        attempts=0,
        next_try_at=None,
        lease_expires_at=None,
        worker="",
    )


def fail(*, document: Document, code: str, detail: str = "", source_hash: str | None = None) -> bool:
    """Record a failure: try again later where that can help, else stay failed with class and next step."""
    reason = reason_for(code)
    now = timezone.now()
    again = reason.retry and document.attempts + 1 < MAX_ATTEMPTS
    wait = _BACKOFF_SECONDS[min(document.attempts, len(_BACKOFF_SECONDS) - 1)]
    changes: dict[str, Any] = {
        "index_status": IndexStatus.QUEUED if again else IndexStatus.FAILED,
        "status_since": now,
        "reason_class": reason.reason_class,
        "reason_code": code,
        "reason_detail": detail[:500],
        "attempts": document.attempts + 1,
        "next_try_at": now + timedelta(seconds=wait) if again else None,
        "lease_expires_at": None,
        "worker": "",
    }
    if source_hash is not None:
        changes["source_hash"] = source_hash
    began, attempt = document.status_since, document.attempts + 1
    failed = _write(document, only_if=Q(index_status=IndexStatus.PARSING, worker=document.worker), **changes)
    if failed:
        DocumentEvent.objects.create(
            document=document, attempt=attempt, stage="failed", state="failed", started_at=began, finished_at=now,
            facts={"code": code},
        )  # fmt: skip
    return failed


def requeue(*, documents: Sequence[Document], reason_code: str = "") -> int:
    """Put documents back to the start of the line; what is searchable stays so until the new version is."""
    now = timezone.now()
    reason = reason_for(reason_code) if reason_code else None
    count = 0
    for document in documents:
        count += _write(
            document,
            only_if=~Q(index_status__in=[IndexStatus.DELETED]),
            index_status=IndexStatus.QUEUED,
            status_since=now,
            reason_class=reason.reason_class if reason else "",
            reason_code=reason_code,
            reason_detail="",
            attempts=0,
            next_try_at=None,
            lease_expires_at=None,
            worker="",
        )
    return count


def stop(*, document: Document) -> bool:
    """Stop waiting or working on a document. What was searchable stays searchable."""
    active = Q(index_status__in=[IndexStatus.QUEUED, IndexStatus.PARSING])
    return _write(
        document,
        only_if=active,
        index_status=IndexStatus.FAILED,
        status_since=timezone.now(),
        reason_class=reason_for("stopped").reason_class,
        reason_code="stopped",
        reason_detail="",
        next_try_at=None,
        lease_expires_at=None,
        worker="",
    )


def mark_deleted(*, document: Document, code: str, at: datetime | None = None) -> bool:
    """Take a document out: no longer found by search; its row stays for a while and says why."""
    now = at or timezone.now()
    return _write(
        document,
        only_if=Q(),
        index_status=IndexStatus.DELETED,
        status_since=now,
        deleted_at=now,
        is_searchable=False,
        reason_class=reason_for(code).reason_class,
        reason_code=code,
        next_try_at=None,
        lease_expires_at=None,
        worker="",
    )


def record_event(*, document: Document, stage: str, state: str, started_at: datetime, **facts: Any) -> None:
    """Add one step to the timeline of the present attempt."""
    DocumentEvent.objects.create(
        document=document,
        attempt=document.attempts + 1,
        stage=stage,
        state=state,
        started_at=started_at,
        finished_at=timezone.now(),
        facts=facts,
    )


def update(*, document: Document, **changes: Any) -> bool:
    """Write plain facts of a row (path, fingerprint, tags), with a new revision."""
    return _write(document, only_if=Q(), **changes)


def _write(document: Document, *, only_if: Q, **changes: Any) -> bool:
    with transaction.atomic():
        done = Document.objects.filter(only_if, id=document.id).update(
            rev=revisions.take(document.workspace_id), updated_at=timezone.now(), **changes
        )
    if done:
        for name, value in changes.items():
            setattr(document, name, value)
    return bool(done)
