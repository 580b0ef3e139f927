"""Where a provider's passage stands in our own text: proven, or nowhere. The provider's words are shown to nobody."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from knowledge.citations.lines import LineIndex, lines_of
from knowledge.citations.locators import (
    Locator,
    MapState,
    Resource,
    degraded,
    locate,
    locate_several,
    whole_resource,
)
from knowledge.citations.quotes import QuoteAnchor, QuoteFinder
from knowledge.citations.sentences import whole_sentences
from knowledge.mapping.document_map import NOT_MAPPED, DocumentMap, Mapped
from knowledge.mapping.single import LONGEST_TEXT, find_alone
from knowledge.mapping.skeleton import Skeleton
from knowledge.models import Document
from knowledge.parsing.source_map import ResourceKind, SourceMap
from knowledge.providers.base import Chunk, KnowledgeProvider, SearchHit
from knowledge.providers.originals import ReadsOriginals
from knowledge.services import artifacts, mapping, parsing


@dataclass(frozen=True, kw_only=True)
class Placer:
    """Places passages that `provider` cut of one document's text. `source_map` is None where our text is not kept.

    Where the provider read the file itself (`is_read_by_provider`), the `document_map` tells places. A passage that
    no map of this text knows has a place only where all its words stand once, and that one is degraded.
    """

    provider: KnowledgeProvider
    source_map: SourceMap | None
    resource: Resource
    kind: ResourceKind
    source_hash: str
    is_read_by_provider: bool = False
    document_map: DocumentMap | None = None

    def place(self, passage: SearchHit | Chunk) -> Locator | None:
        """Return the place of a passage, its quote cut from our text; None unless it stands there. Of a file that the
        provider read the place may be degraded; None then means that the passage holds no word of the file."""
        if self.is_read_by_provider:
            return self._mapped(self._on_map(passage))
        return self._located(self._chars(passage))

    def cite(self, passage: SearchHit | Chunk) -> Locator | None:
        """Return the same as a citation: what another has cut in the middle of a sentence is made whole."""
        if self.is_read_by_provider:
            return self._mapped(self._on_map(passage), sentences=True)
        chars = self._chars(passage)
        if chars is not None and self.source_map is not None and self.is_foreign:
            chars = whole_sentences(self.source_map, *chars)
        return self._located(chars)

    @cached_property
    def nowhere(self) -> Locator:
        """The document without a place."""
        return whole_resource(self.kind, self.resource, source_hash=self.source_hash, map_state=MapState.NONE)

    @property
    def is_foreign(self) -> bool:
        """Whether passages hold the provider's words, not ours."""
        return self.provider.capabilities.cuts_itself

    @property
    def is_told_by_text(self) -> bool:
        """Whether a passage without a place is none of this document's text."""
        return self.is_foreign and (self.is_read_by_provider or self.source_map is not None)

    @cached_property
    def _lines(self) -> LineIndex:
        return lines_of(self.source_map.text if self.source_map else "")

    @cached_property
    def _finder(self) -> QuoteFinder:
        return QuoteFinder(self.source_map.text if self.source_map else "")

    def _chars(self, passage: SearchHit | Chunk) -> tuple[int, int] | None:
        if self.source_map is None:
            return None
        return self.provider.place(self.source_map.text, passage) or self._elsewhere(passage)

    def _on_map(self, passage: SearchHit | Chunk) -> Mapped:
        if not isinstance(self.provider, ReadsOriginals):
            return NOT_MAPPED
        drawn = self.document_map
        known = drawn.passages.get(self.provider.key_of(passage)) if drawn is not None else None
        if known is not None and (self._is_of_this_text or known.state is MapState.NO_TEXT):
            return known
        alone = self._alone(self.provider.own_words_of(passage, name=self.resource.path))
        return alone if known is None or alone.spans else replace(known, spans=())

    def _alone(self, words: str) -> Mapped:
        return NOT_MAPPED if self._letters is None else find_alone(words, self._letters)

    @cached_property
    def _letters(self) -> Skeleton | None:
        text = self.source_map.text if self.source_map else ""
        return Skeleton.of(text) if 0 < len(text) <= LONGEST_TEXT else None

    def _mapped(self, mapped: Mapped, *, sentences: bool = False) -> Locator | None:
        if mapped.state is MapState.NO_TEXT:
            return None
        if not mapped.spans or self.source_map is None:
            state = MapState.PAGE if mapped.page is not None else mapped.state
            is_known = state in (MapState.PAGE, MapState.AMBIGUOUS)
            return degraded(self.nowhere, state if is_known else MapState.NONE, page=mapped.page)
        chars = list(mapped.spans)
        if mapped.state is MapState.EXACT:
            chars = [whole_sentences(self.source_map, *chars[0])] if sentences and len(chars) == 1 else chars
        found = locate_several(
            self.source_map, self.resource, lines=[self._lines.range_of(*each) for each in chars], chars=chars
        )
        if mapped.state is MapState.EXACT:
            return found
        return degraded(found, mapped.state, page=_only_page(found) if mapped.page is None else mapped.page)

    @property
    def _is_of_this_text(self) -> bool:
        """Whether the map points into the text as it is parsed today."""
        ours, drawn = self.source_map, self.document_map
        return ours is not None and drawn is not None and drawn.text_of == (ours.provider, ours.model_version)

    def _located(self, chars: tuple[int, int] | None) -> Locator | None:
        if self.source_map is None or chars is None:
            return None
        return locate(self.source_map, self.resource, lines=self._lines.range_of(*chars), chars=chars)

    def _elsewhere(self, passage: SearchHit | Chunk) -> tuple[int, int] | None:
        """A passage of our own whose text stands once in the text has its place there, whatever its offsets say."""
        if self.is_foreign:
            return None
        spans = self._finder.find(QuoteAnchor.of(passage.content))
        return (spans[0].start, spans[0].end) if len(spans) == 1 else None


def _only_page(locator: Locator) -> int | None:
    """Return the page or slide of a place that has only one."""
    pages = [each["page"] for each in locator.parts.get("pages", ())]
    slides = [each["n"] for each in locator.parts.get("slides", ())]
    return pages[0] if len(pages) == 1 else slides[0] if len(slides) == 1 else None


@dataclass(slots=True)
class Placers:
    """The placers of many documents; `prepare` fetches what they need together."""

    _maps: dict[tuple[str, str], SourceMap | None] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)
    _made: dict[str, Placer] = field(default_factory=dict)
    _drawn: dict[str, DocumentMap] = field(default_factory=dict)
    _ready: set[str] = field(default_factory=set)

    def prepare(self, documents: Iterable[Document]) -> None:
        """Fetch texts and names of documents of one workspace."""
        rows = [row for row in documents if row.pk not in self._ready]
        self._ready |= {row.pk for row in rows}
        self._drawn |= mapping.maps_of(rows)
        wanted = {(row.indexed_hash, row.name) for row in rows} - self._maps.keys()
        if not wanted:
            return
        workspace_id, hashes = rows[0].workspace_id, {source_hash for source_hash, _ in wanted}
        known = parsing.known_all(workspace_id=workspace_id, wanted=wanted)
        self._maps |= {each: known.get(each) for each in wanted}
        self._names |= artifacts.source_map_references(workspace_id=workspace_id, source_hashes=hashes)

    def of(self, document: Document, provider: KnowledgeProvider) -> Placer:
        """Return the placer for what `provider` says of a document."""
        made = self._made.get(document.pk)
        if made is None:
            self.prepare([document])
            made = self._made[document.pk] = self._make(document, provider)
        return made

    def _make(self, document: Document, provider: KnowledgeProvider) -> Placer:
        resource = Resource(
            root_uri=document.root.root_uri,
            path=document.source_path,
            source_map_path=self._names.get(document.indexed_hash, ""),
        )
        return Placer(
            provider=provider,
            source_map=self._maps[document.indexed_hash, document.name],
            resource=resource,
            kind=ResourceKind(document.citation_locator_json.get("resourceKind", ResourceKind.TEXT)),
            source_hash=document.indexed_hash,
            is_read_by_provider=mapping.is_read_by_provider(document),
            document_map=self._drawn.get(document.pk),
        )
