"""The indexed passages of one source, each with its place in the file that was indexed."""

from __future__ import annotations

from dataclasses import dataclass

from knowledge.citations.locators import Locator, MapState, Resource, whole_resource
from knowledge.models import Document
from knowledge.parsing.source_map import ResourceKind
from knowledge.providers.base import Chunk, ProviderDocumentId, ProviderKBId, SearchHit, Stage
from knowledge.services import artifacts, parsing, references
from knowledge.services.ingest import kb_ref
from knowledge.services.providers import provider_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedChunk:
    """A passage and its place. The place is degraded where the passage could not be found in our text."""

    chunk: Chunk
    locator: Locator


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPage:
    """A page of passages in document order; `total` counts all."""

    chunks: tuple[PlacedChunk, ...]
    total: int


def page_of(document: Document, *, offset: int, limit: int) -> PlacedPage:
    """Return a page of passages; none for a source that is not in the index. Raises ProviderError."""
    if not document.provider_knowledge_id:
        return PlacedPage(chunks=(), total=0)
    wanted = ProviderDocumentId(document.provider_knowledge_id)
    page = provider_of(document.kb).chunks(kb_ref(document.kb), wanted, offset=offset, limit=limit)
    return PlacedPage(chunks=tuple(_placed(document, page.chunks)), total=page.total)


def provider_stages(document: Document) -> tuple[Stage, ...]:
    """Return the provider's own processing steps; empty when it keeps none. Raises ProviderError."""
    if not document.provider_knowledge_id:
        return ()
    provider = provider_of(document.kb)
    return provider.timeline(kb_ref(document.kb), ProviderDocumentId(document.provider_knowledge_id))


def _placed(document: Document, found: tuple[Chunk, ...]) -> list[PlacedChunk]:
    source_map = parsing.known(
        workspace_id=document.workspace_id, source_hash=document.indexed_hash, name=document.name
    )
    resource = Resource(
        root_uri=document.root.root_uri,
        path=document.source_path,
        source_map_path=artifacts.source_map_reference(
            workspace_id=document.workspace_id, source_hash=document.indexed_hash
        ),
    )
    kind = ResourceKind(document.citation_locator_json.get("resourceKind", ResourceKind.TEXT))
    nowhere = whole_resource(kind, resource, source_hash=document.indexed_hash, map_state=MapState.NONE)
    return [
        PlacedChunk(
            chunk=chunk,
            locator=(references.place_hit(_hit(document, chunk), source_map, resource) if source_map else None)
            or nowhere,
        )
        for chunk in found
    ]


def _hit(document: Document, chunk: Chunk) -> SearchHit:
    return SearchHit(
        provider_document_id=ProviderDocumentId(document.provider_knowledge_id),
        provider_kb_id=ProviderKBId(document.provider_kb_id),
        chunk_id=chunk.chunk_id,
        chunk_index=chunk.index,
        score=0.0,
        match_type="chunk",
        char_start=chunk.char_start,
        char_end=chunk.char_end,
        content=chunk.content,
    )
