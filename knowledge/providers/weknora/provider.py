"""A WeKnora server as a knowledge provider. We parse, or it does where that is wanted; it splits, indexes and finds.
Its words end in this package."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from knowledge.mapping.converted import Converted
from knowledge.providers.base import (
    Capabilities,
    Check,
    Chunk,
    ChunkPage,
    DocumentState,
    IngestOutcome,
    IngestRequest,
    KBRef,
    ProviderBusy,
    ProviderDocumentId,
    ProviderError,
    ProviderRejected,
    ProviderStatus,
    SearchHit,
    SearchOutcome,
    SearchRequest,
    Stage,
)
from knowledge.providers.weknora import (
    checking,
    conversion,
    deletion,
    passages,
    polling,
    search,
    tagging,
    timeline,
    uploads,
)
from knowledge.providers.weknora.config import WeKnoraConfig
from knowledge.providers.weknora.connection import Connection
from knowledge.providers.weknora.errors import KeyLimited, ModelMissing, NotThere, OutOfScope
from knowledge.providers.weknora.failures import is_final
from knowledge.providers.weknora.kbs import KnowledgeBases
from knowledge.providers.weknora.limiter import Limiter
from knowledge.providers.weknora.reader import process_config
from knowledge.providers.weknora.rows import OURS, DocumentRow
from knowledge.providers.weknora.sending import AS_IT_IS
from knowledge.providers.weknora.states import rows_by_id

#: Somebody looks at a page meanwhile.
_LOOK_SECONDS = 8.0


class WeKnoraProvider:
    """`KnowledgeProvider` over one server, tenant and key. Safe to use from several threads.

    Documents are processed after `ingest` returned: poll `document_status` until the phase is DONE and the passages
    are counted, or until FAILED or CANCELLED.
    """

    kind = "weknora"

    def __init__(self, config: WeKnoraConfig, limiter: Limiter) -> None:
        self.capabilities = Capabilities(
            takes_originals=True,
            needs_polling=True,
            can_cancel=True,
            has_timeline=True,
            semantic=True,
            cuts_itself=True,
            max_text_bytes=config.max_text_bytes,
        )
        self._connection = Connection(config, limiter)
        self._client = self._connection.client
        self._kbs = KnowledgeBases(self._connection)

    def status(self) -> ProviderStatus:
        started = time.monotonic()
        try:
            self._client.health()
            facts = {"edition": str(self._client.capabilities().get("edition") or "unknown")}
            sentence = ""
        except ProviderError as error:
            facts, sentence = {"code": error.code}, str(error)
        milliseconds = round((time.monotonic() - started) * 1000)
        return ProviderStatus(reachable=not sentence, milliseconds=milliseconds, sentence=sentence, facts=facts)

    def check(self, kb: KBRef | None = None) -> tuple[Check, ...]:
        return checking.check(self._connection, kb)

    def ensure_kb(self, kb: KBRef) -> None:
        self._kbs.ensure(kb)

    def ingest(self, request: IngestRequest) -> IngestOutcome:
        try:
            return uploads.ingest(self._connection, request)
        except (NotThere, ModelMissing):
            self._kbs.forget(request.kb.provider_kb_id)
            raise

    def document_status(self, kb: KBRef, ids: Sequence[ProviderDocumentId]) -> list[DocumentState]:
        """Passages are counted for a few documents a call: for the others `chunk_count` is None, so ask again."""
        return polling.states(self._connection, kb, ids)

    def search(self, request: SearchRequest) -> SearchOutcome:
        started = time.monotonic()
        outcome = search.find(self._connection, request)
        return replace(outcome, milliseconds=round((time.monotonic() - started) * 1000))

    def place(self, text: str, passage: SearchHit | Chunk) -> tuple[int, int] | None:
        return passages.proven(text, passage)

    def converted(self, kb: KBRef, document: ProviderDocumentId) -> Converted:
        row = self._row(kb, document)
        return Converted(text="", pieces=()) if row is None else passages.converted(self._client, row)

    def key_of(self, passage: SearchHit | Chunk) -> str:
        return conversion.key_of(passage.content, passage.provider_start, passage.provider_end)

    def own_words_of(self, passage: SearchHit | Chunk, *, name: str) -> str:
        words = conversion.slice_of(passage.content, passage.provider_start, passage.provider_end)
        return conversion.own_words(words, name.rpartition(".")[2])

    def chunks(self, kb: KBRef, document: ProviderDocumentId, *, offset: int, limit: int) -> ChunkPage:
        ends = _soon()
        row = self._row(kb, document, ends=ends)
        if row is None:
            return ChunkPage(chunks=(), total=0)
        return passages.page(self._client, row, offset=offset, limit=limit, ends=ends)

    def chunk(self, kb: KBRef, chunk_id: str) -> tuple[ProviderDocumentId, Chunk] | None:
        ends = _soon()
        try:
            chunk = self._client.chunk(chunk_id, ends=ends)
        except (NotThere, OutOfScope, KeyLimited):
            return None
        is_passage = chunk.type == "text" or chunk.is_of_picture
        row = self._row(kb, ProviderDocumentId(chunk.document_id), ends=ends) if is_passage else None
        return None if row is None else (ProviderDocumentId(row.id), passages.chunk_of(chunk, row))

    def timeline(self, kb: KBRef, document: ProviderDocumentId) -> tuple[Stage, ...]:  # noqa: ARG002 ids are unique
        try:
            return timeline.stages(self._client.trace(document, ends=_soon()))
        except NotThere:
            return ()

    def reparse(self, kb: KBRef, document: ProviderDocumentId) -> None:
        row = self._row(kb, document)
        if row is None:
            return
        with self._connection.turn(row.content_key):
            if row.is_in_work or (row.status == "failed" and not self._is_final(row)):
                raise ProviderBusy("the document is still in work", retry_after=self._connection.pace.again)
            uploads.retry(self._connection, row, self._process(kb, row))

    def cancel(self, kb: KBRef, document: ProviderDocumentId) -> None:
        """Stop what can be stopped. What the embedding model has in hand is finished, and found until deleted."""
        row = self._row(kb, document)
        if row is None or not row.is_in_work:
            return
        with self._connection.turn(row.content_key):
            with suppress(ProviderRejected):  # it came to its end meanwhile
                self._client.cancel(document)
            self._connection.leave(row.content_key)

    def delete_document(self, kb: KBRef, document: ProviderDocumentId) -> None:
        row = self._row(kb, document)
        if row is None:
            self._kbs.check_sight(kb)
            return
        with self._connection.turn(row.content_key):
            deletion.delete(self._connection, row)

    def set_tags(self, kb: KBRef, tags: Mapping[ProviderDocumentId, Sequence[str]]) -> None:
        tagging.set_tags(self._connection, kb, tags)

    def delete_kb(self, kb: KBRef) -> None:
        self._kbs.delete(kb)

    def list_documents(self, kb: KBRef) -> list[DocumentState]:
        """The states are as the rows tell them: passages are not counted here."""
        return polling.all_states(self._connection, kb)

    def _row(self, kb: KBRef, document: ProviderDocumentId, *, ends: float | None = None) -> DocumentRow | None:
        row = rows_by_id(self._client, [document], ends=ends).get(document)
        return row if row is not None and row.kb_id == kb.provider_kb_id else None

    def _process(self, kb: KBRef, row: DocumentRow) -> dict[str, Any] | None:
        """What an original is read with today; a text that we sent is none."""
        is_ours = row.metadata.get(OURS) != AS_IT_IS
        return None if is_ours else process_config(kb.reading, row.file_type, self._connection.config.vision_model_id)

    def _is_final(self, row: DocumentRow) -> bool:
        return is_final(row, now=self._connection.now, pace=self._connection.pace)


def _soon() -> float:
    return time.monotonic() + _LOOK_SECONDS
