"""The text of a document as it was indexed, and its passages; with the words that somebody looks for in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

from django.utils.safestring import SafeString, mark_safe

from knowledge.citations.finding import find_all
from knowledge.citations.lines import LineIndex
from knowledge.citations.locators import Locator
from knowledge.citations.quotes import Span
from knowledge.exceptions import ProviderFailed, public_error
from knowledge.parsing.source_map import SourceMap
from knowledge.providers.base import ProviderError
from knowledge.rendering.lines import NumberedLines, numbered_lines
from knowledge.rendering.marks import Mark, MarkKind
from knowledge.rendering.windows import Wanted, Window
from knowledge.services import chunk_search, chunks, references
from knowledge.services.chunks import PlacedChunk
from knowledge.shapes import open_url, place_label
from knowledge.views.choosing import number_of

if TYPE_CHECKING:
    from knowledge.views.document_page import DocumentView

#: Places of the words that are counted and marked.
_MOST_HITS = 500
CHUNKS = 25
_WORDS = 200


class Finding:
    """Words looked for in a document: `?find=…&hit=3` points at the third place."""

    def __init__(self, view: DocumentView) -> None:
        self._view = view
        self.words = view.request.GET.get("find", "").strip()[:_WORDS]
        self.asked = number_of(view.request.GET, "hit") or 1

    def url(self, hit: int) -> str:
        return self._view.url(tab=self._view.tab, find=self.words, hit=hit)


class TextTab:
    """A window of the text, in numbered lines. `lines` shows only so many from the beginning."""

    def __init__(self, view: DocumentView, source_map: SourceMap, *, lines: int | None = None) -> None:
        self._view = view
        self._map = source_map
        self._lines = lines
        self.finding = Finding(view)

    @cached_property
    def spans(self) -> list[Span]:
        return find_all(self._map.text, self.finding.words, limit=_MOST_HITS) if self._lines is None else []

    @property
    def hit(self) -> int:
        """The number of the place that is pointed at, from 1; 0 when the words are nowhere."""
        return min(self.finding.asked, len(self.spans))

    @property
    def previous_url(self) -> str:
        return self.finding.url(self.hit - 1 if self.hit > 1 else len(self.spans)) if len(self.spans) > 1 else ""

    @property
    def next_url(self) -> str:
        return self.finding.url(self.hit + 1 if self.hit < len(self.spans) else 1) if len(self.spans) > 1 else ""

    @cached_property
    def body(self) -> NumberedLines:
        if self._lines is not None:
            text = "\n".join(self._map.text.split("\n", self._lines)[: self._lines])
            return numbered_lines(text, language="", marks=(), wanted=Wanted())
        marks = self._marks()
        main = next((mark for mark in marks if mark.is_main), None)
        query = self._view.request.GET
        wanted = Wanted(start=number_of(query, "from"), end=number_of(query, "to"), focus=main.first if main else None)
        return numbered_lines(self._map.text, language="", marks=marks, wanted=wanted)

    @property
    def html(self) -> SafeString:
        return mark_safe(self.body.html)  # noqa: S308 numbered_lines has escaped it

    @property
    def window(self) -> Window:
        return self.body.window

    @property
    def before_url(self) -> str:
        return self._view.url(tab="text", find=self.finding.words, to=self.window.before)

    @property
    def after_url(self) -> str:
        return self._view.url(tab="text", find=self.finding.words, **{"from": self.window.after})

    def _marks(self) -> list[Mark]:
        index = LineIndex(self._map.text)
        marks = []
        for number, span in enumerate(self.spans, start=1):
            first, last = index.range_of(span.start, span.end)
            kind = MarkKind.CITED if number == self.hit else MarkKind.ALSO
            marks.append(Mark(start=span.start, end=span.end, first=first, last=last, number=number, kind=kind))
        return marks


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkCard:
    """One passage: where it stands in words, and the address that opens it there. `html` is its text, marked."""

    id: str
    number: int
    section: str
    place: str
    url: str
    html: SafeString
    is_exact: bool


class ChunksTab:
    """A page of the passages that search can find, or of those that hold the words looked for."""

    def __init__(self, view: DocumentView) -> None:
        self._view = view
        self.finding = Finding(view)
        self.page = number_of(view.request.GET, "p") or 1
        self.problem: ProviderFailed | None = None
        self.total = 0
        self.cards: list[ChunkCard] = []
        try:
            self.cards = [self._card(each) for each in self._placed()]
        except ProviderError as error:
            self.problem = public_error(error)

    @property
    def first(self) -> int:
        return (self.page - 1) * CHUNKS + 1 if self.cards else 0

    @property
    def last(self) -> int:
        return self.first + len(self.cards) - 1 if self.cards else 0

    @property
    def previous_url(self) -> str:
        return self._page_url(self.page - 1) if self.page > 1 else ""

    @property
    def next_url(self) -> str:
        return self._page_url(self.page + 1) if self.last < self.total else ""

    def _placed(self) -> Sequence[PlacedChunk]:
        start = (self.page - 1) * CHUNKS
        document = self._view.document
        if self.finding.words:
            found = chunk_search.find(document, self.finding.words)
            self.total = len(found)
            return found[start : start + CHUNKS]
        page = chunks.page_of(document, offset=start, limit=CHUNKS)
        self.total = page.total
        return page.chunks

    def _card(self, placed: PlacedChunk) -> ChunkCard:
        document, locator = self._view.document, placed.locator
        return ChunkCard(
            id=placed.chunk.chunk_id,
            number=placed.chunk.index + 1,
            section=" › ".join(placed.chunk.section_path or locator.section_path),
            place=place_label(locator),
            url=open_url(document.root, locator, self._token(locator)),
            html=marked(placed.text, self.finding.words),
            is_exact=not locator.degraded,
        )

    def _token(self, locator: Locator) -> str:
        document = self._view.document
        if locator.degraded or not locator.quote:
            return ""
        return references.sign(
            workspace_id=document.workspace_id, root_key=document.root.key, document_id=document.pk, locator=locator
        )

    def _page_url(self, page: int) -> str:
        return self._view.url(tab="chunks", find=self.finding.words, p=page if page > 1 else "")


def marked(text: str, words: str) -> SafeString:
    """Return a text as HTML, with the words in it marked."""
    parts: list[str] = []
    at = 0
    for span in find_all(text, words, limit=_MOST_HITS):
        parts += [escape(text[at : span.start]), "<mark>", escape(text[span.start : span.end]), "</mark>"]
        at = span.end
    return mark_safe("".join([*parts, escape(text[at:])]))  # noqa: S308 every part is escaped
