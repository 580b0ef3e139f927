"""From one local file to an index entry: open, read, parse, keep, hand to the provider, check, record."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from knowledge.citations.owners import owner_document_id
from knowledge.models import Document, IndexStatus, KnowledgeBase
from knowledge.parsing.base import ParseCode, ParseError
from knowledge.parsing.source_map import SourceMap
from knowledge.providers.base import (
    DocumentPhase,
    DocumentState,
    IngestRequest,
    KBRef,
    KnowledgeProvider,
    ProviderDocumentId,
    ProviderError,
    ProviderKBId,
)
from knowledge.providers.registry import provider_for
from knowledge.scanner.fingerprint import ChangedWhileReading, sha256_of
from knowledge.services import artifacts, documents, parsing
from mnote.files.errors import FilesError
from mnote.files.opening import OpenedFile
from mnote.services import files

log = logging.getLogger(__name__)

#: A file that lost its text keeps no old text in the index; other failures leave the older version searchable.
_TEXT_IS_GONE = frozenset({ParseCode.EMPTY, ParseCode.NO_TEXT})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    source_map: SourceMap
    source_hash: str


def kb_ref(kb: KnowledgeBase) -> KBRef:
    """Return a knowledge base as providers see it."""
    return KBRef(
        kb_id=kb.id,
        workspace_id=kb.workspace_id,
        provider_kb_id=ProviderKBId(kb.provider_kb_id),
        name=kb.name,
        settings=kb.settings_json,
    )


def ingest_document(*, document: Document) -> bool:
    """Index one claimed document and record how it went. Returns True when it ended indexed.

    Never raises for what is wrong with one file: its siblings go on.
    """
    old_id = document.provider_knowledge_id
    try:
        read = _read(document)
        state = _index(document, read)
    except ParseError as error:
        return _refused(document, error)
    except ChangedWhileReading:
        documents.fail(document=document, code="source_changed_while_parsing")
        return False
    except FilesError as error:
        documents.fail(document=document, code=error.code)
        return False
    except ProviderError as error:
        documents.fail(document=document, code=error.code, detail=str(error))
        return False
    except OSError as error:
        log.warning("a document could not be kept", extra={"document_id": document.id, "errno": error.errno})
        documents.fail(document=document, code="disk_full" if error.errno in (28, 122) else "internal")
        return False
    return _record(document, read, state, old_id)


def drop_provider_document(*, kb: KnowledgeBase, provider_document_id: str) -> None:
    """Remove an index entry that no live document of the KB refers to. Asks again afterwards: a document that came
    to share it meanwhile is put back in line."""
    if not provider_document_id or _referring(kb, provider_document_id).exists():
        return
    provider_for(kb.provider).delete_document(kb_ref(kb), ProviderDocumentId(provider_document_id))
    documents.requeue(documents=list(_referring(kb, provider_document_id)))


def _referring(kb: KnowledgeBase, provider_document_id: str) -> QuerySet[Document]:
    """Select the rows that still need an index entry; a missing file needs it until its grace period is over."""
    held = Document.objects.filter(kb=kb, provider_knowledge_id=provider_document_id, deleted_at__isnull=True)
    return held.exclude(index_status=IndexStatus.SKIPPED)


def _read(document: Document) -> _Read:
    """Open and parse the file, unless its content was parsed before."""
    started = timezone.now()
    with files.open_for_indexing(root=document.root, path=document.source_path) as opened:
        source_hash = "sha256:" + sha256_of(opened.fd)
        source_map = parsing.known(workspace_id=document.workspace_id, source_hash=source_hash, name=document.name)
        if source_map is None:
            source_map = _parse(opened, document.name, source_hash)
            artifacts.store(root=document.root, path=document.source_path, source_map=source_map)
    _note(document, "reading", started, blocks=len(source_map.blocks), parser=source_map.provider)
    return _Read(source_map=source_map, source_hash=source_hash)


def _parse(opened: OpenedFile, name: str, source_hash: str) -> SourceMap:
    source_map = parsing.parse(fd=opened.fd, name=name)
    if source_map.source_hash != source_hash:
        raise ChangedWhileReading
    return source_map


def _index(document: Document, read: _Read) -> DocumentState:
    """Hand the content to the provider and believe only what it returns of it."""
    started = timezone.now()
    provider = provider_for(document.kb.provider)
    kb = kb_ref(document.kb)
    provider.ensure_kb(kb)
    outcome = provider.ingest(
        IngestRequest(
            kb=kb,
            document_id=document.id,
            display_name=document.name,
            source_hash=read.source_hash,
            source_map=read.source_map,
            known_id=ProviderDocumentId(document.provider_knowledge_id) if document.provider_knowledge_id else None,
            metadata={
                "documentId": document.id,
                "path": document.source_path,
                "ownerDocumentId": owner_document_id(document.source_path),
                "ownerDocumentPath": document.source_path,
            },
        )
    )
    if not outcome.state.chunk_count:
        raise ParseError(ParseCode.NO_TEXT, "nothing was indexed")
    _note(document, "indexing", started, chunks=outcome.state.chunk_count, duplicate=outcome.duplicate)
    return outcome.state


def _record(document: Document, read: _Read, state: DocumentState, old_id: str) -> bool:
    source_map = read.source_map
    outcome = documents.Indexed(
        source_hash=read.source_hash,
        provider_document_id=state.provider_document_id,
        provider_status=state.raw_status,
        chunk_count=state.chunk_count or 0,
        title=source_map.title or document.name,
        metadata={**source_map.meta, "lines": source_map.line_count, "pages": len(source_map.pages)},
        locator={"resourceKind": source_map.kind.value, "mapState": "exact", "sourceHash": read.source_hash},
    )
    if not documents.finish(document=document, outcome=outcome):
        drop_provider_document(kb=document.kb, provider_document_id=state.provider_document_id)
        return False
    if old_id and old_id != state.provider_document_id:
        drop_provider_document(kb=document.kb, provider_document_id=old_id)
    return _still_there(provider_for(document.kb.provider), document)


def _still_there(provider: KnowledgeProvider, document: Document) -> bool:
    """Another row's removal may have taken the shared entry between our ingest and our record."""
    wanted = ProviderDocumentId(document.provider_knowledge_id)
    if provider.document_status(kb_ref(document.kb), [wanted])[0].phase is not DocumentPhase.GONE:
        return True
    documents.requeue(documents=[document])
    return False


def _refused(document: Document, error: ParseError) -> bool:
    documents.fail(document=document, code=error.code.value)
    if error.code in _TEXT_IS_GONE and document.provider_knowledge_id:
        old_id = document.provider_knowledge_id
        documents.update(document=document, is_searchable=False, provider_knowledge_id="", chunk_count=0)
        drop_provider_document(kb=document.kb, provider_document_id=old_id)
    return False


def _note(document: Document, stage: str, started_at: datetime, **facts: Any) -> None:
    documents.record_event(document=document, stage=stage, state="done", started_at=started_at, **facts)
