"""From local files to index entries: read, keep what parsing made, hand to the provider, check, record.

A batch goes through each step together: what costs time is asking a database or an index, not how much.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import InterfaceError, OperationalError
from django.db.models import QuerySet
from django.utils import timezone

from knowledge.citations.owners import owner_document_id
from knowledge.models import Document, IndexStatus, KnowledgeBase
from knowledge.parsing.base import ParseCode
from knowledge.providers.base import (
    DocumentPhase,
    IngestOutcome,
    IngestRequest,
    KBRef,
    KnowledgeProvider,
    ProviderDocumentId,
    ProviderError,
    ProviderKBId,
    TakesMany,
)
from knowledge.services import artifacts, documents, originals
from knowledge.services.artifacts import Derived
from knowledge.services.documents import Indexed, Step
from knowledge.services.originals import Original, Refusal
from knowledge.services.outages import ROOT_PAUSE_SECONDS, Outage, is_outage, outages
from knowledge.services.providers import provider_of

log = logging.getLogger(__name__)

#: What is handed to a provider together: up to so many documents, so many characters, read within so many seconds.
_GROUP, _GROUP_CHARS, _GROUP_SECONDS = 32, 2_000_000, 1.0
#: The reason of documents that a provider took and has not finished, and how soon it is asked again.
AT_WORK, AT_WORK_SECONDS = "provider-working", 3.0


@dataclass(slots=True, kw_only=True)
class Tally:
    """What became of documents; those of `gone_roots` wait until their folder can be reached."""

    indexed: int = 0
    failed: int = 0
    outages: int = 0
    gone_roots: set[int] = field(default_factory=set)


def kb_ref(kb: KnowledgeBase) -> KBRef:
    """Return a knowledge base as providers see it."""
    return KBRef(
        kb_id=kb.id,
        workspace_id=kb.workspace_id,
        provider_kb_id=ProviderKBId(kb.provider_kb_id),
        name=kb.name,
        settings=kb.settings_json,
    )


def ingest(
    *, kb: KnowledgeBase, worker: str, claimed: Sequence[Document], tally: Tally, beat: Callable[[], None]
) -> None:
    """Index documents that `worker` has claimed and record how each went; whatever is wrong with one stays with it.

    Raises Outage where nothing can be indexed now: what was not got to is still claimed.
    """
    with outages():
        provider = provider_of(kb)
        provider.ensure_kb(kb_ref(kb))
    batch = _Batch(kb=kb, worker=worker, provider=provider, tally=tally)
    for each in originals.read_all(claimed, beat):
        batch.take(each)
    batch.flush()


def drop_provider_document(*, kb: KnowledgeBase, provider_document_id: str) -> None:
    """Remove an index entry that no live document of the KB refers to. Asks again afterwards: a document that came
    to share it meanwhile is put back in line."""
    if not provider_document_id or _referring(kb, provider_document_id).exists():
        return
    provider_of(kb).delete_document(kb_ref(kb), ProviderDocumentId(provider_document_id))
    documents.requeue(documents=list(_referring(kb, provider_document_id)))


def _referring(kb: KnowledgeBase, provider_document_id: str) -> QuerySet[Document]:
    """Select the rows that still need an index entry; a missing file needs it until its grace period is over."""
    held = Document.objects.filter(kb=kb, provider_knowledge_id=provider_document_id, deleted_at__isnull=True)
    return held.exclude(index_status=IndexStatus.SKIPPED)


@dataclass(slots=True, kw_only=True)
class _Batch:
    """Claimed documents on their way into one knowledge base."""

    kb: KnowledgeBase
    worker: str
    provider: KnowledgeProvider
    tally: Tally
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
            outcomes = self._hand_over([_request(self.kb, each) for each in group])
        indexed = []
        for original, outcome in zip(group, outcomes, strict=True):
            if self._is_done(original.document, outcome) and isinstance(outcome, IngestOutcome):
                indexed.append(_indexed(original, outcome, started))
        self._record(indexed)

    def _is_done(self, document: Document, outcome: IngestOutcome | ProviderError) -> bool:
        """Say whether the provider has all passages; where not, write down why."""
        if isinstance(outcome, ProviderError):
            self._fail(document, outcome.code, detail=str(outcome))
            return False
        state = outcome.state
        if state.phase is DocumentPhase.FAILED:
            self._fail(document, state.error_code or ProviderError.code, retry=state.retryable)
        elif state.phase is not DocumentPhase.DONE or state.chunk_count is None:
            # It is handed over again then, which changes nothing and tells how it stands.
            documents.put_back(worker=self.worker, documents=[document], code=AT_WORK, seconds=AT_WORK_SECONDS)
        elif not state.chunk_count:
            self._refuse(Refusal(document=document, code=ParseCode.NO_TEXT.value, is_text_gone=True))
            self._drop(state.provider_document_id)
        else:
            return True
        return False

    def _hand_over(self, requests: Sequence[IngestRequest]) -> Sequence[IngestOutcome | ProviderError]:
        """Give contents to the provider; what it refuses comes back as the error. Raises what concerns all."""
        if isinstance(self.provider, TakesMany):
            return self.provider.ingest_many(requests)
        outcomes: list[IngestOutcome | ProviderError] = []
        for request in requests:
            try:
                outcomes.append(self.provider.ingest(request))
            except ProviderError as error:
                if is_outage(error):
                    raise
                outcomes.append(error)
        return outcomes

    def _record(self, indexed: Sequence[Indexed]) -> None:
        """Believe only what is still so: the row ours, the entry there. New versions first, old ones go last."""
        before = {each.document.id: each.document.provider_knowledge_id for each in indexed}
        finished = documents.finish(worker=self.worker, outcomes=indexed)
        done = [each for each in indexed if each.document.id in finished]
        for each in indexed:
            if each.document.id not in finished:
                self._drop(each.provider_document_id)
            elif before[each.document.id] != each.provider_document_id:
                self._drop(before[each.document.id])
        lost = self._lost([each.document for each in done])
        documents.requeue(documents=lost)
        self.tally.indexed += len(done) - len(lost)
        self.tally.failed += len(indexed) - len(done) + len(lost)

    def _lost(self, done: Sequence[Document]) -> list[Document]:
        """Return those whose entry another row's removal took away between our ingest and our record."""
        ids = [ProviderDocumentId(document.provider_knowledge_id) for document in done]
        states = self.provider.document_status(kb_ref(self.kb), ids) if ids else []
        return [each for each, state in zip(done, states, strict=True) if state.phase is DocumentPhase.GONE]

    def _refuse(self, refusal: Refusal) -> None:
        document = refusal.document
        if refusal.is_root_gone:
            self.tally.gone_roots.add(document.root_id)
            documents.put_back(worker=self.worker, documents=[document], code=refusal.code, seconds=ROOT_PAUSE_SECONDS)
            return
        self._fail(document, refusal.code, retry=refusal.retry, at_most=refusal.at_most)
        if refusal.is_text_gone and document.provider_knowledge_id:
            old_id = document.provider_knowledge_id
            documents.update(document=document, is_searchable=False, provider_knowledge_id="", chunk_count=0)
            self._drop(old_id)

    def _fail(self, document: Document, code: str, **facts: Any) -> None:
        self.tally.failed += documents.fail(document=document, code=code, **facts)

    def _drop(self, provider_document_id: str) -> None:
        drop_provider_document(kb=self.kb, provider_document_id=provider_document_id)


def _derived(original: Original) -> Derived:
    document = original.document
    return Derived(root=document.root, path=document.source_path, source_map=original.source_map)


def _request(kb: KnowledgeBase, original: Original) -> IngestRequest:
    document = original.document
    return IngestRequest(
        kb=kb_ref(kb),
        document_id=document.id,
        display_name=document.name,
        source_hash=original.source_map.source_hash,
        source_map=original.source_map,
        known_id=ProviderDocumentId(document.provider_knowledge_id) if document.provider_knowledge_id else None,
        metadata={
            "documentId": document.id,
            "path": document.source_path,
            "ownerDocumentId": owner_document_id(document.source_path),
            "ownerDocumentPath": document.source_path,
        },
    )


def _indexed(original: Original, outcome: IngestOutcome, started_at: datetime) -> Indexed:
    source_map, state = original.source_map, outcome.state
    facts = {"chunks": state.chunk_count, "duplicate": outcome.duplicate}
    step = Step(stage="indexing", started_at=started_at, finished_at=timezone.now(), facts=facts)
    return Indexed(
        document=original.document,
        source_hash=source_map.source_hash,
        provider_document_id=state.provider_document_id,
        provider_status=state.raw_status,
        chunk_count=state.chunk_count or 0,
        title=source_map.title or original.document.name,
        metadata={**source_map.meta, "lines": source_map.line_count, "pages": len(source_map.pages)},
        locator={"resourceKind": source_map.kind.value, "mapState": "exact", "sourceHash": source_map.source_hash},
        steps=(original.step, step),
    )
