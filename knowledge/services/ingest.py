"""From local files to index entries: read, keep what parsing made, hand to the provider, check, record.

A batch goes through each step together: what costs time is asking a database or an index, not how much.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

from django.db import InterfaceError, OperationalError
from django.utils import timezone

from knowledge.citations.owners import owner_document_id
from knowledge.models import Document, KnowledgeBase, ProviderKind, Reader
from knowledge.parsing.base import ParseCode
from knowledge.providers.base import (
    DocumentPhase,
    DocumentState,
    IngestOutcome,
    IngestRequest,
    KnowledgeProvider,
    ProviderBusy,
    ProviderDeleting,
    ProviderDocumentId,
    ProviderError,
    ProviderKBUnusable,
    ProviderNotThere,
    TakesMany,
)
from knowledge.providers.originals import Original as Handover
from knowledge.querysets import standing_for
from knowledge.services import (
    artifacts,
    documents,
    following,
    mapping,
    originals,
    pending,
    provider_tags,
    reader_settings,
    reminting,
    rereading,
)
from knowledge.services.artifacts import Derived
from knowledge.services.documents import Indexed, Step
from knowledge.services.dropping import drop_provider_document, kb_ref, referring
from knowledge.services.originals import Original, Refusal
from knowledge.services.outages import ROOT_PAUSE_SECONDS, Outage, concerns_all, outages
from knowledge.services.pending import Handed
from knowledge.services.providers import provider_of

__all__ = ["Tally", "drop_provider_document", "follow", "ingest", "kb_ref"]

log = logging.getLogger(__name__)

#: What is handed to a provider together: up to so many documents, so many characters, read within so many seconds.
_GROUP, _GROUP_CHARS, _GROUP_SECONDS = 32, 2_000_000, 1.0
#: How long a document may wait for room at the provider before its worker turns to something else.
_ROOM_SECONDS, _LOOK_SECONDS = 8.0, 0.05
#: A deletion may take the provider hours.
_MOST = {ProviderDeleting.code: 20}


@dataclass(slots=True, kw_only=True)
class Tally:
    """What became of documents; those of `gone_roots` wait until their folder can be reached."""

    indexed: int = 0
    failed: int = 0
    outages: int = 0
    gone_roots: set[int] = field(default_factory=set)


def ingest(
    *, kb: KnowledgeBase, worker: str, claimed: Sequence[Document], tally: Tally, beat: Callable[[], None]
) -> None:
    """Hand documents that `worker` has claimed to the provider and record how each went; whatever is wrong with one
    stays with it.

    Raises Outage where nothing can be indexed now: what was not got to is still claimed.
    """
    if kb.provider in rereading.READS_ITSELF:  # who reads, and how, may have been changed since this turn began
        kb.refresh_from_db(fields=["parsed_by", "reading_json"])
    provider = _ready(kb)
    batch = _Batch(kb=kb, worker=worker, provider=provider, tally=tally, beat=beat)
    if provider.capabilities.needs_polling:
        follow(kb=kb, provider=provider, tally=tally)
    for each in originals.read_all(claimed, beat, by_provider=_is_read_there(kb)):
        batch.take(each)
    batch.flush()


def follow(*, kb: KnowledgeBase, provider: KnowledgeProvider | None = None, tally: Tally) -> int:
    """Ask for the documents that the provider took and that are due; returns how many. Raises Outage."""
    with outages():
        provider = provider or provider_of(kb)
    followed = following.follow(kb=kb, provider=provider)
    tally.indexed += followed.indexed
    tally.failed += followed.failed
    return followed.asked


def _ready(kb: KnowledgeBase) -> KnowledgeProvider:
    """Return the provider, with a place for the knowledge base. Raises Outage."""
    try:
        with outages():
            provider = provider_of(kb)
            provider.ensure_kb(kb_ref(kb))
    except ProviderKBUnusable as error:
        reminting.remint(kb=kb)
        raise Outage(error.code, seconds=0) from error
    return provider


@dataclass(slots=True, kw_only=True)
class _Batch:
    """Claimed documents on their way into one knowledge base."""

    kb: KnowledgeBase
    worker: str
    provider: KnowledgeProvider
    tally: Tally
    beat: Callable[[], None]
    waiting: list[Original] = field(default_factory=list)
    waiting_since: float = 0.0

    def take(self, each: Original | Refusal) -> None:
        if isinstance(each, Refusal):
            self._refuse(each)
            return
        if not self.waiting:
            self.waiting_since = time.monotonic()
        self.waiting.append(each)
        if self._is_enough():
            self.flush()

    def flush(self) -> None:
        group, self.waiting = self.waiting, []
        if group:
            self._index(group)

    def _is_enough(self) -> bool:
        return (
            not isinstance(self.provider, TakesMany)
            or len(self.waiting) >= _GROUP
            or time.monotonic() - self.waiting_since > _GROUP_SECONDS
            or sum(len(each.source_map.text) for each in self.waiting) > _GROUP_CHARS
        )

    def _index(self, group: Sequence[Original]) -> None:
        """Index a group; one that fails for an unknown reason is tried again one by one, to find who is to blame."""
        try:
            self._index_together(group)
        except (Outage, OperationalError, InterfaceError):
            raise
        except Exception:
            if len(group) > 1:
                for each in group:
                    self._index([each])
                return
            log.exception("a document could not be ingested", extra={"document_id": group[0].document.id})
            self._fail(group[0].document, "internal")

    def _index_together(self, group: Sequence[Original]) -> None:
        started = timezone.now()
        with outages():
            artifacts.store_all(_derived(each) for each in group if each.is_new)
            outcomes = self._hand_over(group)
        indexed = []
        for original, outcome in zip(group, outcomes, strict=True):
            if self._is_done(original, outcome, started) and isinstance(outcome, IngestOutcome):
                indexed.append(_indexed(self.kb, original, outcome, started))
        self._record(indexed)

    def _is_done(self, original: Original, outcome: IngestOutcome | ProviderError, started: datetime) -> bool:
        """Say whether the provider has all passages; where not, write down how it stands or why not."""
        document = original.document
        if isinstance(outcome, ProviderError):
            self._fail(document, outcome.code, detail=str(outcome), at_most=_MOST.get(outcome.code))
            return False
        state = outcome.state
        if state.phase is DocumentPhase.FAILED:
            self._fail(document, state.error_code or ProviderError.code, retry=state.retryable)
        elif state.phase is not DocumentPhase.DONE or state.chunk_count is None or self._needs_map(state):
            self._keep(original, outcome, started)
        elif not state.chunk_count:
            self._refuse(Refusal(document=document, code=ParseCode.NO_TEXT.value, retry=False, is_text_gone=True))
            self._drop(state.provider_document_id)
        else:
            return True
        return False

    def _needs_map(self, state: DocumentState) -> bool:
        """What is done there is not done before we know where its passages stand: see to it as for any other."""
        return _is_read_there(self.kb) and bool(state.chunk_count)

    def _keep(self, original: Original, outcome: IngestOutcome, started: datetime) -> None:
        """The provider is at work on it: asked for from now on, never sent again."""
        former = original.document.pending_knowledge_id
        taken = Handed(
            outcome=_indexed(self.kb, original, outcome, started, stage="transferred"),
            text_hash=outcome.text_hash,
            state=outcome.state,
        )
        if not pending.keep(worker=self.worker, handed=taken):
            self._drop(outcome.state.provider_document_id)
        elif former != original.document.pending_knowledge_id:
            self._drop(former)

    def _hand_over(self, group: Sequence[Original]) -> Sequence[IngestOutcome | ProviderError]:
        """Give contents to the provider; what it refuses comes back as the error. Raises what concerns all."""
        requests = [_request(self.kb, each) for each in group]
        if isinstance(self.provider, TakesMany):
            return self.provider.ingest_many(requests)
        return [self._give(each.document, request) for each, request in zip(group, requests, strict=True)]

    def _give(self, document: Document, request: IngestRequest) -> IngestOutcome | ProviderError:
        ends = time.monotonic() + _ROOM_SECONDS
        self._give_up_other_version(document, request.source_hash)
        while True:
            try:
                outcome = self.provider.ingest(request)
                return self._again(document, outcome) if document.is_to_reparse else outcome
            except ProviderBusy:
                if time.monotonic() > ends:
                    raise
                self._make_room()
            except ProviderNotThere as error:
                _ready(self.kb)  # raises where it is the place that is gone
                return error
            except ProviderError as error:
                if concerns_all(self.provider, request.kb, error):
                    raise
                return error

    def _again(self, document: Document, outcome: IngestOutcome) -> IngestOutcome:
        """Have the same text processed again, which search does not find meanwhile. Raises ProviderError."""
        state = outcome.state
        if state.phase is not DocumentPhase.DONE or state.provider_document_id != document.provider_knowledge_id:
            return outcome
        self.provider.reparse(kb_ref(self.kb), state.provider_document_id)
        sharing = referring(self.kb, state.provider_document_id).exclude(pk=document.pk)
        documents.requeue(documents=[row for row in sharing if not row.worker])
        started = replace(state, phase=DocumentPhase.QUEUED, searchable=False, chunk_count=None)
        return replace(outcome, state=started)

    def _make_room(self) -> None:
        """Let the provider get on with what it has."""
        self.beat()
        if not follow(kb=self.kb, provider=self.provider, tally=self.tally):
            time.sleep(_LOOK_SECONDS)

    def _give_up_other_version(self, document: Document, source_hash: str) -> None:
        """A version that was overtaken by another is in the way at the provider."""
        if document.pending_knowledge_id and document.pending_json.get("sourceHash") != source_hash:
            self._drop(pending.forget(document))

    def _record(self, indexed: Sequence[Indexed]) -> None:
        """Believe only what is still so: the row ours, the entry there. New versions first, old ones go last."""
        before = {each.document.id: _held_before(each.document) for each in indexed}
        finished = documents.finish(worker=self.worker, outcomes=indexed)
        done = [each for each in indexed if each.document.id in finished]
        provider_tags.wish_for(kb=self.kb, document_ids=finished, only_tagged=True)
        for each in indexed:
            if each.document.id not in finished:
                self._drop(each.provider_document_id)
            else:
                for former in before[each.document.id] - {each.provider_document_id}:
                    self._drop(former)
        lost = self._lost([each.document for each in done])
        documents.requeue(documents=lost)
        self.tally.indexed += len(done) - len(lost)
        self.tally.failed += len(indexed) - len(done) + len(lost)

    def _lost(self, done: Sequence[Document]) -> list[Document]:
        """Return those whose entry another row's removal took away between our ingest and our record."""
        ids = [ProviderDocumentId(document.provider_knowledge_id) for document in done]
        if not ids:
            return []
        with outages():
            states = self.provider.document_status(kb_ref(self.kb), ids)
        return [each for each, state in zip(done, states, strict=True) if state.phase is DocumentPhase.GONE]

    def _refuse(self, refusal: Refusal) -> None:
        document = refusal.document
        if refusal.is_root_gone:
            self.tally.gone_roots.add(document.root_id)
            documents.put_back(worker=self.worker, documents=[document], code=refusal.code, seconds=ROOT_PAUSE_SECONDS)
            return
        self._fail(document, refusal.code, retry=refusal.retry, at_most=refusal.at_most)
        if refusal.is_text_gone and (held := _held_before(document)):
            documents.update(
                document=document, is_searchable=False, provider_knowledge_id="", chunk_count=0,
                **pending.NOTHING_PENDING,
            )  # fmt: skip
            for each in held:
                self._drop(each)

    def _fail(self, document: Document, code: str, **facts: Any) -> None:
        self.tally.failed += documents.fail(document=document, code=code, **facts)

    def _drop(self, provider_document_id: str) -> None:
        drop_provider_document(kb=self.kb, provider_document_id=provider_document_id)


def _is_read_there(kb: KnowledgeBase) -> bool:
    return kb.parsed_by == Reader.PROVIDER


def _held_before(document: Document) -> set[str]:
    return {document.provider_knowledge_id, document.pending_knowledge_id} - {""}


def _derived(original: Original) -> Derived:
    document = original.document
    return Derived(root=document.root, path=document.source_path, source_map=original.source_map)


def _request(kb: KnowledgeBase, original: Original) -> IngestRequest:
    document = original.document
    source_hash = original.source_map.source_hash
    known_id = _held_as(kb, document, source_hash)
    return IngestRequest(
        kb=kb_ref(kb),
        document_id=document.id,
        display_name=document.name,
        source_hash=source_hash,
        source_map=original.source_map,
        known_id=ProviderDocumentId(known_id) if known_id else None,
        metadata={
            "documentId": document.id,
            "path": document.source_path,
            "ownerDocumentId": owner_document_id(document.source_path),
            "ownerDocumentPath": document.source_path,
        },
        original=Handover(open=partial(originals.stream, document)) if _is_read_there(kb) else None,
    )


def _held_as(kb: KnowledgeBase, document: Document, source_hash: str) -> str:
    """Return the provider document, done or in the making, by which this row or another holds a content, else whatever
    this row has; "" where nothing is."""
    own_id = document.pending_knowledge_id or document.provider_knowledge_id
    is_own = source_hash in (document.pending_json.get("sourceHash"), document.indexed_hash)
    if kb.provider == ProviderKind.LOCAL or (own_id and is_own):  # the embedded one goes by the content itself
        return own_id
    rows = kb.documents.filter(workspace_id=kb.workspace_id, source_hash=source_hash, deleted_at__isnull=True)
    others = rows.exclude(pk=document.pk).order_by("id")
    making = others.exclude(pending_knowledge_id="").filter(pending_json__sourceHash=source_hash)
    done = others.exclude(provider_knowledge_id="").filter(indexed_hash=source_hash)
    found = making.values_list("pending_knowledge_id", flat=True).first()
    return found or done.values_list("provider_knowledge_id", flat=True).first() or own_id


def _indexed(
    kb: KnowledgeBase, original: Original, outcome: IngestOutcome, started_at: datetime, *, stage: str = "indexing"
) -> Indexed:
    source_map, state = original.source_map, outcome.state
    facts = {"chunks": state.chunk_count, "duplicate": outcome.duplicate}
    step = Step(stage=stage, started_at=started_at, finished_at=timezone.now(), facts=facts)
    return Indexed(
        document=original.document,
        source_hash=source_map.source_hash,
        provider_document_id=state.provider_document_id,
        provider_status=state.raw_status,
        chunk_count=state.chunk_count or 0,
        title=source_map.title or original.document.name,
        metadata={**source_map.meta, "lines": source_map.line_count, "pages": len(source_map.pages)},
        locator=_locator(kb, original, outcome),
        steps=(original.step, step),
        text_hash=outcome.text_hash,
    )


def _locator(kb: KnowledgeBase, original: Original, outcome: IngestOutcome) -> dict[str, Any]:
    source_map = original.source_map
    facts = {"resourceKind": source_map.kind.value, "sourceHash": source_map.source_hash}
    if _is_read_there(kb):
        return {**facts, "mapState": "none", mapping.MAP: "", **_read_as(kb, original.document, outcome)}
    return {**facts, "mapState": "exact"}


def _read_as(kb: KnowledgeBase, document: Document, outcome: IngestOutcome) -> dict[str, str]:
    """What is there already was not read anew, whatever the settings are now."""
    if outcome.duplicate and outcome.state.phase is DocumentPhase.DONE:
        mark = _mark_of(kb, outcome.state.provider_document_id)
    else:
        mark = reader_settings.mark_of(reader_settings.reading_of(kb), document.source_type)
    return reader_settings.noted(mark)


def _mark_of(kb: KnowledgeBase, provider_document_id: str) -> str:
    """Return how a provider document was read, as any row tells that it stands for; "" where none does."""
    rows = Document.objects.filter(standing_for([provider_document_id]), kb=kb).values_list(
        "provider_knowledge_id", "citation_locator_json", "pending_json"
    )
    told = [now if held == provider_document_id else later.get("locator", {}) for held, now, later in rows]
    return next((mark for each in told if (mark := each.get(reader_settings.READ_AS))), "")
