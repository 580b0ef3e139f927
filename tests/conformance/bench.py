"""A provider on the bench: how to ask it shortly, and how to wait for one that works on its own time."""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass, field, replace

from knowledge.parsing.source_map import SourceMap
from knowledge.providers.base import (
    DocumentPhase,
    DocumentState,
    IngestOutcome,
    IngestRequest,
    KBRef,
    KnowledgeProvider,
    ProviderBusy,
    ProviderDocumentId,
    ProviderKBId,
    SearchOutcome,
    SearchRequest,
)
from tests.conformance.maps import markdown_map

_ENDS = (DocumentPhase.DONE, DocumentPhase.FAILED, DocumentPhase.CANCELLED, DocumentPhase.GONE)
_TRIES = 2_000


@dataclass(slots=True, kw_only=True)
class Bench:
    """`pause` is how long to wait between two looks at what a provider works on. `understands` says whether the index
    knows more of a text than its words."""

    provider: KnowledgeProvider
    understands: bool = True
    pause: float = 0.005
    _kbs: dict[str, KBRef] = field(default_factory=dict)

    @property
    def cuts_itself(self) -> bool:
        return self.provider.capabilities.cuts_itself

    def kb(self, name: str, *, exists: bool = True) -> KBRef:
        """Return a knowledge base of this test alone."""
        provider_kb_id = ProviderKBId(str(uuid.uuid4()))
        kb = KBRef(kb_id=f"id-{name}", workspace_id="ws-1", provider_kb_id=provider_kb_id, name=name)
        if exists:
            self.provider.ensure_kb(kb)
            self._kbs[name] = kb
        return kb

    def clean_up(self) -> None:
        for kb in self._kbs.values():
            self.provider.delete_kb(kb)

    def ingest(self, kb: KBRef, text: str | SourceMap, name: str = "note.md") -> IngestOutcome:
        """Ingest and wait for the end."""
        source_map = text if isinstance(text, SourceMap) else markdown_map(text)
        request = IngestRequest(
            kb=kb,
            document_id="document-1",
            display_name=name,
            source_hash=source_map.source_hash,
            source_map=source_map,
        )
        outcome = self._take_turns(request)
        return replace(outcome, state=self.settled(kb, outcome.state.provider_document_id, outcome.state))

    def settled(self, kb: KBRef, document: ProviderDocumentId, state: DocumentState) -> DocumentState:
        """Wait until a document came to its end and its passages are counted."""
        for _ in range(_TRIES if self.provider.capabilities.needs_polling else 0):
            if state.phase in _ENDS and (state.phase is not DocumentPhase.DONE or state.chunk_count is not None):
                break
            threading.Event().wait(self.pause)
            (state,) = self.provider.document_status(kb, [document])
        return state

    def add(self, kb: KBRef, text: str | SourceMap, name: str = "note.md") -> ProviderDocumentId:
        return self.ingest(kb, text, name).state.provider_document_id

    def search(
        self, kb: KBRef, query: str, *, limit: int = 10, ids: tuple[ProviderDocumentId, ...] = ()
    ) -> SearchOutcome:
        return self.provider.search(
            SearchRequest(workspace_id=kb.workspace_id, kbs=(kb,), query=query, limit=limit, document_ids=ids)
        )

    def found(self, kb: KBRef, query: str) -> set[ProviderDocumentId]:
        return {hit.provider_document_id for hit in self.search(kb, query).hits}

    def listed(self, kb: KBRef) -> list[ProviderDocumentId]:
        return [state.provider_document_id for state in self.provider.list_documents(kb)]

    def _take_turns(self, request: IngestRequest) -> IngestOutcome:
        for _ in range(_TRIES):
            try:
                return self.provider.ingest(request)
            except ProviderBusy:
                threading.Event().wait(self.pause)
        raise AssertionError("it was never our turn")
