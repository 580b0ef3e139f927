"""The embedded provider: contents, their blocks and the words that find them, in one SQLite file per workspace.

A provider document is a *content*: the same bytes read by the same parser are stored once per workspace, whatever the
number of paths and knowledge bases they are in.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw

from knowledge.parsing.source_map import SourceMap
from knowledge.providers.base import (
    Capabilities,
    Check,
    CheckResult,
    Chunk,
    ChunkPage,
    DocumentPhase,
    DocumentState,
    IngestOutcome,
    IngestRequest,
    KBRef,
    ProviderDocumentId,
    ProviderError,
    ProviderRejected,
    ProviderStatus,
    SearchHit,
    SearchOutcome,
    SearchRequest,
    Stage,
)
from knowledge.providers.local import index, reads, search
from knowledge.providers.local.reads import StoredBlock, StoredEdge
from knowledge.providers.local.rows import ContentRows, content_rows, resource_id, resource_id_of
from knowledge.providers.local.schema import SCHEMA_REV
from knowledge.providers.local.store import Store
from knowledge.providers.local.tokens import TOKENIZER_REV

#: Contents removed in one write transaction when a knowledge base goes.
_REMOVE_BATCH = 50


class LocalProvider:
    """`KnowledgeProvider` over index files below `index_dir`, plus reading of evidence blocks (spec 10.6)."""

    kind = "local"
    capabilities = Capabilities()

    def __init__(self, index_dir: Path) -> None:
        self._store = Store(index_dir)

    def status(self) -> ProviderStatus:
        started = time.monotonic()
        facts: dict[str, Any] = {}
        sentence = ""
        try:
            self._store.check_writable()
            facts |= self._store.facts()
        except ProviderError as exc:
            facts["code"], sentence = exc.code, str(exc)
        milliseconds = round((time.monotonic() - started) * 1000)
        version = f"{SCHEMA_REV}/{TOKENIZER_REV}"
        return ProviderStatus(
            reachable=not sentence, version=version, milliseconds=milliseconds, sentence=sentence, facts=facts
        )

    def check(self, kb: KBRef | None = None) -> tuple[Check, ...]:  # noqa: ARG002 all KBs live in the same folder
        status = self.status()
        result = CheckResult.PASSED if status.reachable else CheckResult.FAILED
        return (Check(name="writable", result=result, code=status.facts.get("code", "")),)

    def ensure_kb(self, kb: KBRef) -> None:
        with self._store.writing(kb.workspace_id) as connection:
            index.add_kb(connection, kb.provider_kb_id)

    def ingest(self, request: IngestRequest) -> IngestOutcome:
        (outcome,) = self.ingest_many([request])
        if isinstance(outcome, ProviderError):
            raise outcome
        return outcome

    def ingest_many(self, requests: Sequence[IngestRequest]) -> list[IngestOutcome | ProviderError]:
        """Index contents of one workspace in one write transaction."""
        workspace_id = requests[0].kb.workspace_id
        prepared = self._prepared(workspace_id, requests)
        with self._store.writing(workspace_id) as connection:
            return [
                rows if isinstance(rows, ProviderError) else _stored(connection, request, rows)
                for request, rows in zip(requests, prepared, strict=True)
            ]

    def _prepared(
        self, workspace_id: str, requests: Sequence[IngestRequest]
    ) -> list[ContentRows | ProviderRejected | None]:
        """Make the rows of the contents that are not held yet, before others have to wait for us."""
        ids = [resource_id_of(request.source_map) for request in requests]
        with self._store.reading(workspace_id) as connection:
            known = reads.source_hashes(connection, ids)
        return [
            None if one in known else _rows_or_refusal(request.source_map)
            for one, request in zip(ids, requests, strict=True)
        ]

    def document_status(self, kb: KBRef, ids: Sequence[ProviderDocumentId]) -> list[DocumentState]:
        with self._store.reading(kb.workspace_id) as connection:
            counts = reads.block_counts(connection, kb.provider_kb_id, ids)
        return [_done(one, counts[one]) if one in counts else _gone(one) for one in ids]

    def search(self, request: SearchRequest) -> SearchOutcome:
        started = time.monotonic()
        with self._store.reading(request.workspace_id) as connection:
            outcome = search.find(connection, request)
        return replace(outcome, milliseconds=round((time.monotonic() - started) * 1000))

    def place(self, text: str, passage: SearchHit | Chunk) -> tuple[int, int] | None:
        start, end = passage.char_start, passage.char_end
        return (start, end) if passage.content and text[start:end] == passage.content else None

    def chunks(self, kb: KBRef, document: ProviderDocumentId, *, offset: int, limit: int) -> ChunkPage:
        with self._store.reading(kb.workspace_id) as connection:
            total = reads.block_counts(connection, kb.provider_kb_id, [document]).get(document, 0)
            found = reads.chunks(connection, document, offset=offset, limit=limit) if total else ()
        return ChunkPage(chunks=found, total=total)

    def chunk(self, kb: KBRef, chunk_id: str) -> tuple[ProviderDocumentId, Chunk] | None:
        block = self.get_block(kb.workspace_id, chunk_id)
        if block is None or not self._holds(kb, ProviderDocumentId(block.resource_id)):
            return None
        return ProviderDocumentId(block.resource_id), reads.chunk_of(block)

    def timeline(self, kb: KBRef, document: ProviderDocumentId) -> tuple[Stage, ...]:  # noqa: ARG002 there is none
        return ()

    def reparse(self, kb: KBRef, document: ProviderDocumentId) -> None:
        """Make the words of the document again; parsing is ours and happens before `ingest`."""
        if not self._holds(kb, document):
            return
        with self._store.writing(kb.workspace_id) as connection:
            n = reads.resource_number(connection, document)
            if n is not None:
                index.write_words(connection, n, None)

    def cancel(self, kb: KBRef, document: ProviderDocumentId) -> None:
        """Do nothing: `ingest` is over when it returns."""

    def delete_document(self, kb: KBRef, document: ProviderDocumentId) -> None:
        if not self._holds(kb, document):
            return
        with self._store.writing(kb.workspace_id) as connection:
            n, kb_n = reads.resource_number(connection, document), reads.kb_number(connection, kb.provider_kb_id)
            if n is not None and kb_n is not None:
                index.leave_kb(connection, n, kb_n)

    def delete_kb(self, kb: KBRef) -> None:
        with self._store.reading(kb.workspace_id) as connection:
            gone = reads.kb_number(connection, kb.provider_kb_id) is None
        while not gone:
            with self._store.writing(kb.workspace_id) as connection:
                kb_n = reads.kb_number(connection, kb.provider_kb_id)
                gone = kb_n is None or index.remove_kb(connection, kb_n, at_most=_REMOVE_BATCH)

    def list_documents(self, kb: KBRef) -> list[DocumentState]:
        with self._store.reading(kb.workspace_id) as connection:
            counts = reads.block_counts(connection, kb.provider_kb_id)
        return [_done(resource_id, count) for resource_id, count in counts.items()]

    def get_block(self, workspace_id: str, block_id: str) -> StoredBlock | None:
        """Return an evidence block, None where there is none (any more)."""
        with self._store.reading(workspace_id) as connection:
            return reads.block(connection, block_id)

    def neighbours(self, workspace_id: str, block_id: str, *, before: int, after: int) -> tuple[StoredBlock, ...]:
        """Return the blocks around one and itself, in document order; nothing for an unknown block."""
        with self._store.reading(workspace_id) as connection:
            anchor = reads.block(connection, block_id)
            return reads.neighbours(connection, anchor, before=before, after=after) if anchor else ()

    def section_blocks(self, workspace_id: str, section_id: str) -> tuple[StoredBlock, ...]:
        """Return the blocks that stand directly in a section (`StoredBlock.section_id`), in document order."""
        with self._store.reading(workspace_id) as connection:
            return reads.section_blocks(connection, section_id)

    def edges(self, workspace_id: str, resource_ids: Sequence[str]) -> tuple[StoredEdge, ...]:
        """Return the links that stand in these resources."""
        with self._store.reading(workspace_id) as connection:
            return reads.edges(connection, resource_ids)

    def edges_to(self, workspace_id: str, targets: Sequence[str]) -> tuple[StoredEdge, ...]:
        """Return the links whose target is written as one of `targets`, with or without a #fragment behind."""
        with self._store.reading(workspace_id) as connection:
            return reads.edges_to(connection, targets)

    def source_hashes(self, workspace_id: str, resource_ids: Sequence[str]) -> dict[str, str]:
        """Return the hash of the original bytes ("sha256:…") of each resource that is known."""
        with self._store.reading(workspace_id) as connection:
            return reads.source_hashes(connection, resource_ids)

    def rebuild_reason(self, workspace_id: str) -> str | None:
        """Say why this workspace's index is not whole: `damaged` or `outdated` (ingest everything again, then call
        `finish_rebuild`), `tokenizer` (call `rebuild_words`), None when nothing is wrong."""
        return self._store.rebuild_reason(workspace_id)

    def begin_rebuild(self, workspace_id: str, reason: str) -> None:
        """Note that content must be ingested again; searches say so until `finish_rebuild`."""
        self._store.begin_rebuild(workspace_id, reason)

    def finish_rebuild(self, workspace_id: str, *, unconfirmed: str | None = None) -> None:
        """Note that everything was ingested again; `unconfirmed` as returned by the method of that name."""
        self._store.finish_rebuild(workspace_id, unconfirmed=unconfirmed)

    def is_there(self, workspace_id: str) -> bool:
        """Say whether this workspace has an index file at all."""
        return self._store.is_there(workspace_id)

    def unconfirmed(self, workspace_id: str) -> str | None:
        """Return a mark while this workspace's index was made from nothing and nobody checked that nothing is missing
        in it: it may have been deleted. None when it was checked, or is not there."""
        return self._store.unconfirmed(workspace_id)

    def document_id_of(self, source_hash: str, provider: str, revision: str) -> ProviderDocumentId:
        """Return the id that a content has when this parser read it."""
        return ProviderDocumentId(resource_id(source_hash, provider, revision))

    def parsers(self, workspace_id: str) -> set[tuple[str, str]]:
        """Return the parsers, as (provider, revision), that read what is held."""
        with self._store.reading(workspace_id) as connection:
            return reads.parsers(connection)

    def rebuild_words(self, workspace_id: str) -> None:
        """Make the words of all stored blocks anew, from the stored text. Searches see the old ones until the end."""
        with self._store.writing(workspace_id) as connection:
            index.write_all_words(connection)

    def drop_workspace(self, workspace_id: str) -> None:
        """Remove the whole index of a workspace. Unknown is success."""
        self._store.drop(workspace_id)

    def _holds(self, kb: KBRef, document: ProviderDocumentId) -> bool:
        with self._store.reading(kb.workspace_id) as connection:
            return document in reads.block_counts(connection, kb.provider_kb_id, [document])


def _stored(connection: apsw.Connection, request: IngestRequest, rows: ContentRows | None) -> IngestOutcome:
    source_map = request.source_map
    resource_id = resource_id_of(source_map)
    n = reads.resource_number(connection, resource_id)
    bodies = None
    if n is None:
        rows = rows or content_rows(source_map)  # it was held a moment ago
        n, bodies = index.add_content(connection, source_map, rows, _owner(request)), rows.bodies
    kb_n = index.add_kb(connection, request.kb.provider_kb_id)
    duplicate = index.join_kb(connection, n, kb_n, _storable(request.display_name), bodies)
    return IngestOutcome(state=_done(resource_id, reads.stored_blocks(connection, resource_id)), duplicate=duplicate)


def _rows_or_refusal(source_map: SourceMap) -> ContentRows | ProviderRejected:
    try:
        return _rows(source_map)
    except ProviderRejected as error:
        return error


def _rows(source_map: SourceMap) -> ContentRows:
    """Return the rows of a content. Raises ProviderRejected for text that is not Unicode."""
    if not _is_unicode(source_map.text):
        raise ProviderRejected("the text holds code points that are no characters")
    return content_rows(source_map)


def _owner(request: IngestRequest) -> index.Owner:
    known = {key: _storable(value) for key, value in request.metadata.items()}
    return index.Owner(
        document_id=known.get("ownerDocumentId", request.document_id),
        document_path=known.get("ownerDocumentPath"),
        relative_path=known.get("path"),
    )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _storable(name: str) -> str:
    """Return a file name as text: names that are not UTF-8 come with escaped bytes that no text column takes."""
    return name.encode("utf-8", "replace").decode()


def _done(resource_id: str, count: int) -> DocumentState:
    return DocumentState(
        provider_document_id=ProviderDocumentId(resource_id),
        phase=DocumentPhase.DONE,
        searchable=count > 0,
        raw_status="stored",
        chunk_count=count,
    )


def _gone(resource_id: ProviderDocumentId) -> DocumentState:
    return DocumentState(
        provider_document_id=resource_id, phase=DocumentPhase.GONE, searchable=False, raw_status="unknown"
    )
