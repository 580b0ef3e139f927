"""Asking a provider how the documents it took are doing, many at once, and writing down how each ended."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.utils import timezone

from knowledge.citations.locators import MapState
from knowledge.models import Document, KnowledgeBase
from knowledge.parsing.base import ParseCode
from knowledge.providers.base import (
    DocumentPhase,
    DocumentState,
    KnowledgeProvider,
    ProviderDocumentId,
    ProviderError,
)
from knowledge.services import (
    documents,
    dropping,
    mapping,
    outages,
    pending,
    provider_outages,
    provider_tags,
    reader_settings,
)
from knowledge.services.dropping import kb_ref
from knowledge.services.outages import Outage

#: So many documents are asked for with one call.
AT_ONCE = 100
#: A worker waits for a document inside its turn when it is to be asked for within so many seconds.
_SHORT = 2.0
#: How long passages that cannot be read are asked for.
_PATIENCE = timedelta(minutes=15)
_LOST, _CANCELLED = "provider-copy-gone", "provider-cancelled"


@dataclass(slots=True, kw_only=True)
class Followed:
    """What came of the documents that were asked for."""

    asked: int = 0
    indexed: int = 0
    failed: int = 0
    outage: Outage | None = field(default=None)


def follow(*, kb: KnowledgeBase, provider: KnowledgeProvider) -> Followed:
    """Ask for the documents that are due, with one call for up to AT_ONCE of them. Raises Outage."""
    rows = pending.take_due(kb, at_most=AT_ONCE)
    followed = Followed(asked=len(rows))
    if not rows:
        return followed
    try:
        with outages.outages():
            states = _states(kb, provider, rows)
    except Outage as outage:
        pending.ask_soon(rows, at=timezone.now() + timedelta(seconds=max(1.0, outage.seconds)))
        raise
    for row in rows:
        _settle(kb, provider, row, states[row.pending_knowledge_id], followed)
    if followed.outage is not None:
        raise followed.outage
    return followed


def wait(kb: KnowledgeBase, *, until: float) -> bool:
    """Wait until a document is to be asked for, if that is soon and before `until` (monotonic). Returns False where
    none is, so that the caller has better things to do."""
    due = pending.next_due(kb)
    if due is None:
        return False
    seconds = max(0.0, (due - timezone.now()).total_seconds())
    if seconds > _SHORT or time.monotonic() + seconds > until:
        return False
    time.sleep(seconds)
    return True


def _states(kb: KnowledgeBase, provider: KnowledgeProvider, rows: Sequence[Document]) -> dict[str, DocumentState]:
    ids = [ProviderDocumentId(each) for each in dict.fromkeys(row.pending_knowledge_id for row in rows)]
    return dict(zip(ids, provider.document_status(kb_ref(kb), ids), strict=True))


def _settle(
    kb: KnowledgeBase, provider: KnowledgeProvider, row: Document, state: DocumentState, followed: Followed
) -> None:
    """Write down how one document stands."""
    match state.phase:
        case DocumentPhase.FAILED:
            _failed(kb, provider, row, state, followed)
        case DocumentPhase.GONE:
            pending.forget(row)
            followed.failed += documents.fail(document=row, code=_LOST)
        case DocumentPhase.CANCELLED:
            followed.failed += documents.fail(document=row, code=_CANCELLED)
        case DocumentPhase.DONE if state.chunk_count == 0:
            followed.failed += no_text(kb, row)
        case _ if state.searchable and state.chunk_count and mapping.is_wanted(row):
            _mapped(kb, provider, row, state, followed)
        case DocumentPhase.DONE if state.chunk_count:
            if _take_place(kb, pending.finish(row, state), row):
                followed.indexed += 1
                provider_outages.reopen(kb=kb)
        case _ if state.searchable and state.chunk_count and not _is_shown(row):
            _take_place(kb, pending.show(row, state), row)
        case _:
            pending.ask_later(row, state)


def _mapped(
    kb: KnowledgeBase, provider: KnowledgeProvider, row: Document, state: DocumentState, followed: Followed
) -> None:
    """Nothing of a file that the provider read is shown before it is known where its passages stand."""
    if state.phase is not DocumentPhase.DONE and _is_shown(row):
        pending.ask_later(row, state)
        return
    try:
        drawn = mapping.draw(kb=kb, provider=provider, document=row)
    except ProviderError as error:
        _not_drawn(row, error, followed)
        return
    if drawn is MapState.NO_TEXT:
        followed.failed += no_text(kb, row)
    elif state.phase is not DocumentPhase.DONE:
        _take_place(kb, pending.show(row, state), row)
    elif _take_place(kb, pending.finish(row, state), row):
        followed.indexed += 1
        provider_outages.reopen(kb=kb)


def _not_drawn(row: Document, error: ProviderError, followed: Followed) -> None:
    """Passages that cannot be read are asked for again for a while; then the document says why it is not done."""
    is_early = row.handed_at is None or timezone.now() - row.handed_at < _PATIENCE
    if error.retryable and is_early:
        pending.ask_soon([row], at=pending.next_look(row))
    else:
        followed.failed += documents.fail(document=row, code=error.code, retry=error.retryable)


def no_text(kb: KnowledgeBase, row: Document) -> bool:
    """A document without a passage: neither it nor an older version is found any more."""
    held = {row.provider_knowledge_id, row.pending_knowledge_id}
    failed = documents.fail(document=row, code=ParseCode.NO_TEXT.value, retry=False)
    if failed:
        documents.update(
            document=row, is_searchable=False, provider_knowledge_id="", chunk_count=0,
            citation_locator_json=_read_as(row), **pending.NOTHING_PENDING,
        )  # fmt: skip
        for each in held:
            dropping.drop_provider_document(kb=kb, provider_document_id=each)
    return failed


def _read_as(row: Document) -> dict[str, str]:
    """How the provider read it stays known: with other settings there may be a text."""
    return reader_settings.noted(row.pending_json.get("locator", {}).get(reader_settings.READ_AS, ""))


def _is_shown(row: Document) -> bool:
    return row.is_searchable and row.provider_knowledge_id == row.pending_knowledge_id


def _take_place(kb: KnowledgeBase, before: str | None, row: Document) -> bool:
    """New versions first, old ones go last. Returns False when the row went on to something else meanwhile."""
    if before is None:
        return False
    if provider_tags.wish_for(kb=kb, document_ids=[row.pk], only_tagged=True):
        provider_tags.wish(kb=kb, provider_document_ids=[before])  # others may share it, without these tags
    if before != row.pending_knowledge_id:
        dropping.drop_provider_document(kb=kb, provider_document_id=before)
    return True


def _failed(
    kb: KnowledgeBase, provider: KnowledgeProvider, row: Document, state: DocumentState, followed: Followed
) -> None:
    """A failure of what stands behind the provider lets all wait; another is the document's own."""
    code = state.error_code or ProviderError.code
    if outages.is_of_models(code) and (followed.outage or not outages.works(provider, kb_ref(kb), code)):
        followed.outage = followed.outage or Outage(code)
        documents.put_back(worker="", documents=[row], code=code, seconds=0)
        return
    followed.failed += documents.fail(document=row, code=outages.of_one(code), retry=state.retryable)
