"""PDF to a source map: one derived line for each visual line, with its page and box; no OCR."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

from knowledge.parsing.base import ParseCode, ParseError, ParseInput
from knowledge.parsing.blocks import Blocks, Span
from knowledge.parsing.file_types import type_for_name
from knowledge.parsing.outline import Heading, build_sections
from knowledge.parsing.pdf_layout import VisualLine, read_lines
from knowledge.parsing.pdf_outline import bookmark_headings, document_title
from knowledge.parsing.pdf_pages import PageContent, Region, open_document, read_pages
from knowledge.parsing.source_map import BBox, Block, Link, Page, Place, ResourceKind, SourceMap, TextItem
from knowledge.parsing.text_size import check_text_size

_LETTER = re.compile(r"\w")
#: White between two lines, as a share of their height, that makes a new paragraph.
_PARAGRAPH_GAP = 0.9
_RUNNING_TITLE_PAGES = 3
_MAX_HEADING_LINES = 4


class PdfParser:
    """Reads PDFs that have a text layer."""

    provider_id = "liteparse"
    revision = f"3/{version('liteparse')}/{version('pypdfium2')}"

    def can_parse(self, item: ParseInput) -> bool:
        found = type_for_name(item.name)
        return found is not None and found.kind is ResourceKind.PDF

    def parse(self, item: ParseInput) -> SourceMap:
        with open_document(item.data, item.limits) as document:
            reading = _Reading()
            for content in read_pages(item.data, document):
                reading.add(content)
            if not reading.has_text:
                raise ParseError(ParseCode.NO_TEXT, "the file has no text layer")
            check_text_size(reading.text, item.limits)
            headings = bookmark_headings(document, reading.lines, reading.places) or reading.sized_headings()
            meta = {"pageCount": len(document), "pagesWithoutText": len(document) - reading.pages_with_text}
            return reading.source_map(item.source_hash, headings, document_title(document), meta)


@dataclass(slots=True)
class _Reading:
    """The derived text, growing page by page."""

    lines: list[str] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    _pages: list[Page] = field(default_factory=list)
    _spans: list[Span] = field(default_factory=list)
    _edges: list[int] = field(default_factory=list)
    _links: list[Link] = field(default_factory=list)
    _levels: dict[int, tuple[int, int]] = field(default_factory=dict)  # heading line -> level, number of its region
    _length: int = 0
    _regions: int = 0

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def has_text(self) -> bool:
        return any(self.lines)

    @property
    def pages_with_text(self) -> int:
        return sum(bool(page.text_items) for page in self._pages)

    def add(self, content: PageContent) -> None:
        """Add the lines of one page; a page without text adds no line."""
        items: list[TextItem] = []
        before: tuple[Region | None, VisualLine] | None = None
        if self.lines and any(content.groups):
            self._append("", Place(page=self.places[-1].page))
        self._edges.append(len(self.lines) + 1)
        for line, region in _lines(content):
            if before is not None and _parts(before, (region, line)):
                self._append("", Place(page=content.page))
            starts = before is None or before[0] is not region
            self._regions += starts
            self._add_line(line, region, content, items)
            before = (region, line)
        self._pages.append(
            Page(
                page=content.page,
                width=content.width,
                height=content.height,
                label=content.label,
                text_items=tuple(items),
            )
        )

    def _append(self, text: str, place: Place) -> None:
        self._length += len(text) + bool(self.lines)
        self.lines.append(text)
        self.places.append(place)

    def _add_line(self, line: VisualLine, region: Region | None, content: PageContent, items: list[TextItem]) -> None:
        self._append(line.text, Place(page=content.page, bbox=line.bbox))
        number = len(self.lines)
        at = self._length - len(line.text)
        for gap, run in zip(line.gaps, line.runs, strict=True):
            at += len(gap)
            name = f"p{content.page}_t{len(items) + 1}"
            items.append(TextItem(id=name, text=run.text, bbox=run.bbox, char_start=at, char_end=at + len(run.text)))
            at += len(run.text)
        kind = region.type if region is not None and region.type != "heading" else "paragraph"
        self._spans.append(Span(type=kind, start=number, end=number))
        if region is not None and region.level is not None:
            self._levels[number] = (region.level, self._regions)
        self._links += [
            Link(target=uri, text=line.text, line=number, kind="pdf")
            for uri, box in content.links
            if _on(box, line.bbox)
        ]

    def sized_headings(self) -> list[Heading]:
        """Return the headings told by their type size; titles that run along many pages are none."""
        found = list(self._titles())
        seen: dict[str, set[int | None]] = {}
        for heading in found:
            seen.setdefault(heading.title, set()).add(self.places[heading.line - 1].page)
        return [heading for heading in found if len(seen[heading.title]) < _RUNNING_TITLE_PAGES]

    def _titles(self) -> Iterator[Heading]:
        regions: dict[int, list[int]] = {}
        for number, (_, region) in self._levels.items():
            regions.setdefault(region, []).append(number)
        for numbers in regions.values():
            title = " ".join(self.lines[number - 1] for number in numbers)
            if len(numbers) <= _MAX_HEADING_LINES and _LETTER.search(title):
                yield Heading(line=numbers[0], level=self._levels[numbers[0]][0], title=title)

    def source_map(
        self, source_hash: str, headings: Sequence[Heading], title: str | None, meta: dict[str, Any]
    ) -> SourceMap:
        sections = build_sections(headings, len(self.lines), page_of=lambda line: self.places[line - 1].page)
        titles = {section.line_start for section in sections}
        spans = [replace(span, type="heading") if span.start in titles else span for span in self._spans]
        blocks = Blocks(self.lines, sections, self._edges).cut(_joined(spans))
        return SourceMap(
            provider=PdfParser.provider_id,
            model_version=PdfParser.revision,
            kind=ResourceKind.PDF,
            source_hash=source_hash,
            text=self.text,
            blocks=tuple(self._named(blocks)),
            sections=sections,
            places=tuple(self.places),
            pages=tuple(self._pages),
            links=tuple(self._links),
            title=title or next((heading.title for heading in headings if heading.level == 1), None),
            meta=meta,
        )

    def _named(self, blocks: Sequence[Block]) -> Iterator[Block]:
        count: Counter[int | None] = Counter()
        for block in blocks:
            page = self.places[block.line_start - 1].page
            count[page] += 1
            yield replace(block, id=f"p{page}_b{count[page]}")


def _lines(content: PageContent) -> Iterator[tuple[VisualLine, Region | None]]:
    for number, group in enumerate(content.groups):
        for line in read_lines(group):
            yield line, _region_of(line, content.regions) if number == 0 else None


def _region_of(line: VisualLine, regions: Sequence[Region]) -> Region | None:
    """Return the smallest region that holds the middle of the line's first run."""
    left, top, right, bottom = line.runs[0].upright
    x, y = (left + right) / 2, (top + bottom) / 2
    holding = [box for box in regions if box.bbox[0] <= x <= box.bbox[2] and box.bbox[1] <= y <= box.bbox[3]]
    return min(holding, key=lambda region: _area(region.bbox), default=None)


def _area(box: BBox) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _parts(before: tuple[Region | None, VisualLine], after: tuple[Region | None, VisualLine]) -> bool:
    """Say whether a paragraph ends between two lines."""
    above, below = before[1].runs[0], after[1].runs[0]
    if before[0] is not after[0]:
        lists = {region.type if region else None for region in (before[0], after[0])}
        return lists != {"list"}
    if after[0] is not None and after[0].type == "table":
        return False
    return below.upright[1] - above.upright[3] > _PARAGRAPH_GAP * min(above.height, below.height)


def _on(box: BBox, line: BBox) -> bool:
    middle = (box[1] + box[3]) / 2
    return line[1] <= middle <= line[3] and box[0] < line[2] and box[2] > line[0]


def _joined(spans: Sequence[Span]) -> Iterator[Span]:
    """Join the lines of one type that follow each other without a blank line."""
    held: Span | None = None
    for span in spans:
        if held is not None and held.type == span.type and held.end + 1 == span.start:
            held = replace(held, end=span.end)
            continue
        if held is not None:
            yield held
        held = span
    if held is not None:
        yield held
