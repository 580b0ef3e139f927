"""The indexed passages of one source, each with its place in the file that was indexed."""

from __future__ import annotations

from dataclasses import dataclass

from knowledge.citations.locators import Locator
from knowledge.models import Document
from knowledge.providers.base import Chunk, KnowledgeProvider, ProviderDocumentId, Stage
from knowledge.services.ingest import kb_ref
from knowledge.services.placing import Placer, Placers
from knowledge.services.providers import provider_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedChunk:
    """A passage and its place. The place is degraded where the passage could not be found in our text.

    `text` is the passage as it may be shown: the file's own words, "" where they are not known.
    """

    chunk: Chunk
    locator: Locator
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPage:
    """A page of passages in document order; `total` counts all."""

    chunks: tuple[PlacedChunk, ...]
    total: int


def page_of(document: Document, *, offset: int, limit: int) -> PlacedPage:
    """Return a page of passages; none for a source that is not in the index. Raises ProviderError."""
    if not document.provider_knowledge_id:
        return PlacedPage(chunks=(), total=0)
    wanted, provider = ProviderDocumentId(document.provider_knowledge_id), provider_of(document.kb)
    page = provider.chunks(kb_ref(document.kb), wanted, offset=offset, limit=limit)
    return PlacedPage(chunks=_placed(document, page.chunks, provider), total=page.total)


def provider_stages(document: Document) -> tuple[Stage, ...]:
    """Return the provider's own processing steps; empty when it keeps none. Raises ProviderError."""
    held = document.pending_knowledge_id or document.provider_knowledge_id
    if not held:
        return ()
    return provider_of(document.kb).timeline(kb_ref(document.kb), ProviderDocumentId(held))


def _placed(document: Document, found: tuple[Chunk, ...], provider: KnowledgeProvider) -> tuple[PlacedChunk, ...]:
    placer = Placers().of(document, provider)
    return tuple(_place(chunk, placer) for chunk in found)


def _place(chunk: Chunk, placer: Placer) -> PlacedChunk:
    locator = placer.place(chunk) or placer.nowhere
    return PlacedChunk(chunk=chunk, locator=locator, text=locator.quote or ("" if placer.is_foreign else chunk.content))
