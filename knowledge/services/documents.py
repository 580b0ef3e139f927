"""The life of a registry row. Every change of a document's state goes through here, with since-when and reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from knowledge.models import Document, DocumentEvent, IndexStatus, ProviderKind
from knowledge.reasons import reason_for
from knowledge.services import revisions
from knowledge.services.row_updates import update_rows

MAX_ATTEMPTS = 5
_BACKOFF_SECONDS = (10, 60, 300, 900)
#: What was not got to the end here or at a provider outside, though all works: nothing has to cool down first.
_QUICK_BACKOFF_SECONDS = (1, 5, 30, 120, 600)
_QUICK = frozenset({
    "provider-unavailable", "provider-timeout", "provider-server-error", "provider-copy-gone", "provider-not-there",
    "provider-cancelled", "index-collision", "interrupted", "stalled", "passages-missing",
    "worker_lost",
})  # fmt: skip
#: So often it is tried, unless it may be the document that takes workers down.
_QUICK_ATTEMPTS = 8
_BATCH = 500
_FREE: dict[str, Any] = {"lease_expires_at": None, "worker": ""}
NO_REASON: dict[str, Any] = {"reason_class": "", "reason_code": "", "reason_detail": ""}
_OUTCOME_COLUMNS = (
    "index_status", "status_since", "indexed_at", "source_hash", "indexed_hash", "provider_knowledge_id",
    "provider_status", "chunk_count", "title", "metadata_json", "citation_locator_json", "is_searchable",
    "reason_class", "reason_code", "reason_detail", "attempts", "next_try_at", "lease_expires_at", "worker", "rev",
    "updated_at",
)  # fmt: skip
#: These stay empty with a provider that indexes at once.
_PENDING_COLUMNS = ("pending_knowledge_id", "pending_json", "handed_at", "is_to_reparse", "text_hash")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of an attempt, for the timeline."""

    stage: str
    started_at: datetime
    finished_at: datetime
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What ingest achieved for a document, and by which steps."""

    document: Document
    source_hash: str
    provider_document_id: str
    provider_status: str
    chunk_count: int
    title: str
    metadata: dict[str, Any]
    locator: dict[str, Any]
    steps: tuple[Step, ...] = ()
    text_hash: str = ""


def finish(*, worker: str, outcomes: Sequence[Indexed]) -> set[str]:
    """Mark documents that `worker` holds as indexed. Returns their ids; the others were taken away meanwhile (stopped,
    deleted, claimed anew) and stay as they are."""
    if not outcomes:
        return set()
    now = timezone.now()
    ids = [outcome.document.id for outcome in outcomes]
    with transaction.atomic():
        rev = revisions.take(outcomes[0].document.workspace_id)
        held = Document.objects.select_for_update().filter(id__in=ids, **held_by(worker))
        mine = set(held.values_list("id", flat=True))
        finished = [outcome for outcome in outcomes if outcome.document.id in mine]
        note_steps(finished)
        columns = _OUTCOME_COLUMNS + (_PENDING_COLUMNS if any(map(_was_handed, finished)) else ())
        for each in finished:
            _set(each.document, **_outcome(each, now), rev=rev, updated_at=now)
        update_rows([each.document for each in finished], columns)
    return mine


def note_steps(outcomes: Sequence[Indexed]) -> None:
    """Write the steps into the timelines."""
    DocumentEvent.objects.bulk_create(_event(each, step) for each in outcomes for step in each.steps)


def fail(
    *,
    document: Document,
    code: str,
    detail: str = "",
    source_hash: str | None = None,
    retry: bool | None = None,
    at_most: int | None = None,
) -> bool:
    """Record a failure: try again later where that can help, else stay failed with class and next step.

    `retry` overrides what the table of reasons says of the code; `at_most` bounds the attempts, None as the code
    suggests.
    """
    reason = reason_for(code)
    now = timezone.now()
    attempt = document.attempts + 1
    again = (reason.retry if retry is None else retry) and attempt < (at_most or attempts_for(code))
    wait = _backoff_seconds(code, document.attempts)
    changes: dict[str, Any] = {
        "index_status": IndexStatus.QUEUED if again else IndexStatus.FAILED,
        "status_since": now,
        "reason_class": reason.reason_class,
        "reason_code": code,
        "reason_detail": detail[:500],
        "attempts": attempt,
        "next_try_at": now + timedelta(seconds=wait) if again and wait else None,
        **_FREE,
    }
    if source_hash is not None:
        changes["source_hash"] = source_hash
    began = document.status_since
    failed = _write(document, only_if=Q(**held_by(document.worker)), **changes)
    if failed:
        DocumentEvent.objects.create(
            document=document, attempt=attempt, stage="failed", state="failed", started_at=began, finished_at=now,
            facts={"code": code},
        )  # fmt: skip
    return failed


def attempts_for(code: str) -> int:
    """Return how often a document is tried that fails for a reason."""
    return _QUICK_ATTEMPTS if code in _QUICK and code != "worker_lost" else MAX_ATTEMPTS


def put_back(*, worker: str, documents: Sequence[Document], code: str, seconds: float) -> int:
    """Let documents that `worker` holds wait for something that is no fault of theirs: the attempt does not count."""
    now = timezone.now()
    mine = Document.objects.filter(id__in=[each.id for each in documents], **held_by(worker))
    return write_all(
        mine, index_status=IndexStatus.QUEUED, status_since=now, reason_class=reason_for(code).reason_class,
        reason_code=code, reason_detail="", next_try_at=now + timedelta(seconds=seconds), **_FREE,
    )  # fmt: skip


def requeue(*, documents: Sequence[Document], reason_code: str = "", reparse: bool = False) -> int:
    """Put documents back to the start of the line; what is searchable stays so until the new version is.

    `reparse`: a provider outside is to process even the same text again.
    """
    reason = {"reason_class": reason_for(reason_code).reason_class, "reason_code": reason_code} if reason_code else {}
    changes = {
        "index_status": IndexStatus.QUEUED, "status_since": timezone.now(), **NO_REASON, **reason, "attempts": 0,
        "next_try_at": None, **_FREE,
    }  # fmt: skip
    if reparse and any(document.provider != ProviderKind.LOCAL for document in documents):
        changes["is_to_reparse"] = True
    return _write_each(documents, changes)


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
        **_FREE,
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
        **_FREE,
    )


def update(*, document: Document, **changes: Any) -> bool:
    """Write plain facts of a row (path, fingerprint, tags), with a new revision."""
    return _write(document, only_if=Q(), **changes)


def write_all(rows: QuerySet[Document], **changes: Any) -> int:
    """Write the same facts into all rows of one workspace that match, with a new revision; returns how many."""
    first = rows.values_list("workspace_id", flat=True).order_by().first()
    if first is None:
        return 0
    with transaction.atomic():
        return rows.update(rev=revisions.take(first), updated_at=timezone.now(), **changes)


def _write_each(documents: Sequence[Document], changes: dict[str, Any]) -> int:
    """Write the same facts into the rows of `documents` that are not deleted, and into the objects."""
    by_workspace: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        by_workspace[document.workspace_id].append(document)
    return sum(
        _write_some(members[start : start + _BATCH], changes)
        for members in by_workspace.values()
        for start in range(0, len(members), _BATCH)
    )


def _write_some(documents: Iterable[Document], changes: dict[str, Any]) -> int:
    by_id = {document.id: document for document in documents}
    with transaction.atomic():
        alive = Document.objects.select_for_update().filter(id__in=by_id).exclude(index_status=IndexStatus.DELETED)
        ids = list(alive.values_list("id", flat=True))
        write_all(Document.objects.filter(id__in=ids), **changes)
    for document_id in ids:
        _set(by_id[document_id], **changes)
    return len(ids)


def _write(document: Document, *, only_if: Q, **changes: Any) -> bool:
    with transaction.atomic():
        done = Document.objects.filter(only_if, id=document.id).update(
            rev=revisions.take(document.workspace_id), updated_at=timezone.now(), **changes
        )
    if done:
        _set(document, **changes)
    return bool(done)


def _set(document: Document, **changes: Any) -> None:
    for name, value in changes.items():
        setattr(document, name, value)


def held_by(worker: str) -> dict[str, str]:
    """Select what a worker holds; none holds what is with the provider."""
    return {"index_status": IndexStatus.PARSING, "worker": worker}


def _backoff_seconds(code: str, attempts: int) -> float:
    """Seconds until the next attempt. A worker is mostly lost to a restart, which is no reason to wait."""
    if code == "worker_lost" and not attempts:
        return 0
    table = _QUICK_BACKOFF_SECONDS if code in _QUICK else _BACKOFF_SECONDS
    return table[min(attempts, len(table) - 1)]


def _was_handed(indexed: Indexed) -> bool:
    document = indexed.document
    return bool(indexed.text_hash or document.pending_knowledge_id or document.text_hash or document.is_to_reparse)


def _outcome(indexed: Indexed, now: datetime) -> dict[str, Any]:
    return {
        "index_status": IndexStatus.INDEXED,
        "status_since": now,
        "indexed_at": now,
        "source_hash": indexed.source_hash,
        "indexed_hash": indexed.source_hash,
        "provider_knowledge_id": indexed.provider_document_id,
        "provider_status": indexed.provider_status,
        "chunk_count": indexed.chunk_count,
        "title": indexed.title[:500],
        "metadata_json": indexed.metadata,
        "citation_locator_json": indexed.locator,
        "is_searchable": True,
        "text_hash": indexed.text_hash,
        "pending_knowledge_id": "",
        "pending_json": {},
        "handed_at": None,
        "is_to_reparse": False,
        **NO_REASON,
        "attempts": 0,
        "next_try_at": None,
        **_FREE,
    }


def _event(indexed: Indexed, step: Step) -> DocumentEvent:
    return DocumentEvent(
        document=indexed.document,
        attempt=indexed.document.attempts + 1,
        stage=step.stage,
        state="done",
        started_at=step.started_at,
        finished_at=step.finished_at,
        facts=step.facts,
    )
