"""What the state of a document at the server means in our words."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from knowledge.providers.base import DocumentPhase, DocumentState, ProviderDocumentId
from knowledge.providers.weknora.client import MAX_CHUNKS, MAX_IDS, Client
from knowledge.providers.weknora.config import Pace
from knowledge.providers.weknora.conversion import says_something
from knowledge.providers.weknora.errors import NotThere
from knowledge.providers.weknora.failures import failure_of, is_final
from knowledge.providers.weknora.rows import OURS, DocumentRow, SpanRow

_PHASES = {
    "pending": DocumentPhase.QUEUED,
    "processing": DocumentPhase.PARSING,
    "finalizing": DocumentPhase.PARSING,
    "completed": DocumentPhase.DONE,
    "failed": DocumentPhase.FAILED,
    "cancelled": DocumentPhase.CANCELLED,
    "deleting": DocumentPhase.DELETING,
}
#: Pages of passages looked at for a word. A document without one in so many has none.
_PAGES_FOR_WORDS = 10
_REMEMBERED = 5_000


@dataclass(frozen=True, slots=True)
class Counted:
    """How many passages a document has, and whether any holds a word."""

    total: int
    has_words: bool


class Counter:
    """Counts passages of documents, and remembers the counts of those that do not change any more."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, datetime | None], Counted] = OrderedDict()

    def known(self, row: DocumentRow) -> Counted | None:
        with self._lock:
            return self._known.get((row.id, row.processed_at))

    def count(self, row: DocumentRow) -> Counted:
        found = self.known(row)
        if found is None:
            found = self._count(row.id)
            if row.status == "completed" and found.total:
                self._remember(row, found)
        return found

    def _count(self, document_id: str) -> Counted:
        total = 0
        for page in range(1, _PAGES_FOR_WORDS + 1):
            try:
                found = self._client.chunks(document_id, page=page)
            except NotThere:
                return Counted(0, has_words=False)
            total = max(total, found.total)
            if any(says_something(chunk.content) for chunk in found.rows):
                return Counted(total, has_words=True)
            if page * MAX_CHUNKS >= total:
                break
        return Counted(total, has_words=False)

    def _remember(self, row: DocumentRow, counted: Counted) -> None:
        with self._lock:
            self._known[row.id, row.processed_at] = counted
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)


def rows_by_id(client: Client, ids: Iterable[str], *, ends: float | None = None) -> dict[str, DocumentRow]:
    """Return the documents that exist among ids. A KB of another tenant or outside of the key's list is not seen."""
    wanted = list(dict.fromkeys(each for each in ids if each))
    slices = (wanted[at : at + MAX_IDS] for at in range(0, len(wanted), MAX_IDS))
    return {row.id: row for part in slices for row in client.documents_by_id(part, ends=ends)}


def plain_state(row: DocumentRow, *, now: datetime, pace: Pace) -> DocumentState:
    """Return the state as the row alone tells it, passages uncounted."""
    phase = _PHASES.get(row.status, DocumentPhase.PARSING)
    state = DocumentState(
        provider_document_id=ProviderDocumentId(row.id),
        phase=phase,
        searchable=row.is_enabled and row.status in ("finalizing", "completed"),
        raw_status=row.status[:40],
        document_id=row.metadata.get("documentId", "") if OURS in row.metadata else "",
        content_key=row.content_key,
    )
    if phase is not DocumentPhase.FAILED:
        return state
    failure = failure_of(row)
    if not is_final(row, now=now, pace=pace):
        return replace(state, phase=DocumentPhase.PARSING, error_code=failure.code)
    return replace(state, error_code=failure.code, retryable=failure.retryable)


def counted_state(state: DocumentState, counted: Counted) -> DocumentState:
    """Return the state with its passages. A text that we sent has words, so without passages something was lost."""
    state = replace(state, chunk_count=counted.total, searchable=state.searchable and counted.has_words)
    if state.phase is not DocumentPhase.DONE or counted.has_words:
        return state
    if counted.total:
        return replace(state, chunk_count=0, error_code="no_text")
    return replace(state, phase=DocumentPhase.FAILED, error_code="passages-missing", retryable=True)


def is_silent(row: DocumentRow, *, now: datetime, pace: Pace) -> bool:
    """Say whether a document in work shows no sign of life, so that its trace should be looked at."""
    seconds = pace.queue if row.status == "pending" else pace.stall
    return row.is_in_work and row.updated_at is not None and now - row.updated_at >= timedelta(seconds=seconds)


def is_as_good_as_done(row: DocumentRow) -> bool:
    """Say whether only extras of a document hang: its passages are all there."""
    return row.status == "finalizing" and row.is_enabled


def is_hopeless(client: Client, row: DocumentRow, now: datetime, pace: Pace) -> bool:
    """Say whether a document in work will never end: silent, and no step is running or one for longer than any may."""
    if row.status == "finalizing" or not is_silent(row, now=now, pace=pace):
        return False
    running = any(span.id and span.status == "running" for span in client.trace(row.id).root.children)
    return not running or row.updated_at is None or now - row.updated_at >= timedelta(seconds=pace.give_up)


def is_unseen(client: Client, row: DocumentRow) -> bool:
    """Say whether the model for pictures failed at a document that ended without a word. The server calls it done."""
    return row.reads_pictures and _any_unseen(client.trace(row.id).root)


def _any_unseen(span: SpanRow) -> bool:
    return span.is_unseen or any(_any_unseen(child) for child in span.children)


def unseen(state: DocumentState) -> DocumentState:
    return replace(state, phase=DocumentPhase.FAILED, chunk_count=None, error_code="provider-vision", retryable=True)


def stalled(state: DocumentState) -> DocumentState:
    return replace(state, phase=DocumentPhase.FAILED, error_code="stalled", retryable=True)


def gone(document_id: str) -> DocumentState:
    return DocumentState(
        provider_document_id=ProviderDocumentId(document_id),
        phase=DocumentPhase.GONE,
        searchable=False,
        raw_status="unknown",
    )
