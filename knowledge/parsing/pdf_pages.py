"""Read the runs of text of a PDF, upright and in the coordinates of the page as shown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import liteparse
import pypdfium2 as pdfium

from knowledge.parsing.base import ParseCode, ParseError, ParseLimits
from knowledge.parsing.lines import one_line
from knowledge.parsing.pdf_files import open_pdf
from knowledge.parsing.pdf_layout import Run
from knowledge.parsing.pdf_letters import with_sure_letters
from knowledge.parsing.source_map import BBox

#: Controls, and the signs for a glyph that stands for no known character: they are nothing that a reader sees.
_UNREADABLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd-\uffff]")
_OPTIONS: dict[str, Any] = {
    "ocr_enabled": False,
    "quiet": True,
    "extract_blocks": True,
    "extract_annotations": True,
    "keep_headers_footers": True,
    "continue_on_page_error": True,
    "num_workers": 1,
}
#: Pages held at a time: the parser's own objects are large.
_BATCH = 50
#: Text turned by no more than this stands straight.
_LEVEL_DEGREES = 2
_ASKEW = -1
_BLOCK_TYPES = {
    "heading": "heading",
    "list_item": "list",
    "code": "code",
    "table": "table",
    "grid_fallback": "table",
    "figure": "caption",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A part of the page that belongs together; `level` only for headings."""

    type: str
    bbox: BBox
    level: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContent:
    """One page. Boxes lie within the page, in points.

    `groups` holds the runs by the way they stand on the page, the way of most text first; `regions` are those of the
    first group.
    """

    page: int
    width: float
    height: float
    label: str | None
    groups: tuple[tuple[Run, ...], ...]
    regions: tuple[Region, ...]
    links: tuple[tuple[str, BBox], ...]


def open_document(data: bytes, limits: ParseLimits) -> pdfium.PdfDocument:
    """Open a PDF. Raises ParseError: encrypted, corrupt, empty (no pages), too_large (too many)."""
    document = open_pdf(data)
    if len(document) == 0:
        raise ParseError(ParseCode.EMPTY, "the file has no pages")
    if len(document) > limits.max_pages:
        raise ParseError(ParseCode.TOO_LARGE, f"the file has more than {limits.max_pages} pages")
    return document


def read_pages(data: bytes, document: pdfium.PdfDocument) -> Iterator[PageContent]:
    """Yield the pages that can be read, in order. Raises ParseError corrupt when the parser gives up.

    Text that does not stand upright comes out of the parser with its letters in the wrong order. So pages with such
    text are read once more for each way it stands, turned so that this text is upright.
    """
    options = _OPTIONS | {"max_pages": len(document)}  # it stops at 1,000 by itself
    try:
        for batch in liteparse.LiteParse(**options).parse_batches(data, _BATCH):
            shown = {page.page_num: page for page in batch.result.pages}
            turns = {number: _turns(page) for number, page in shown.items()}
            parsed = {angle: _turned_back(data, options, turns, angle) for angle in (90, 180, 270)} | {0: shown}
            for number, page in sorted(shown.items()):
                sources = {angle: parsed[angle][number] for angle in turns[number] if number in parsed.get(angle, ())}
                content = _Sheet(page, document.get_page_size(number - 1)).content(sources)
                yield _looked_at_again(content, document)
    except (liteparse.ParseError, pdfium.PdfiumError) as error:
        raise ParseError(ParseCode.CORRUPT, "the pages cannot be read") from error


def _looked_at_again(content: PageContent, document: pdfium.PdfDocument) -> PageContent:
    page = document[content.page - 1]
    try:
        return replace(content, groups=with_sure_letters(page, content.groups))
    finally:
        page.close()


def _turned_back(
    data: bytes, options: dict[str, Any], turns: dict[int, list[int]], angle: int
) -> dict[int, liteparse.ParsedPage]:
    numbers = sorted(number for number, found in turns.items() if angle in found)
    if not numbers:
        return {}
    chosen = {
        "target_pages": ",".join(map(str, numbers)),
        "page_orientation_corrections": [(number, angle) for number in numbers],
    }
    return {page.page_num: page for page in liteparse.LiteParse(**options, **chosen).parse(data).pages}


def _turn(item: liteparse.TextItem) -> int:
    """Return by how many degrees a run is turned clockwise: 0, 90, 180, 270, or -1 for anything between."""
    quarter = round(item.rotation / 90)
    return quarter % 4 * 90 if abs(item.rotation - quarter * 90) <= _LEVEL_DEGREES else _ASKEW


def _turns(page: liteparse.ParsedPage) -> list[int]:
    """Return the ways in which text stands on a page, the one of most text first."""
    weights: Counter[int] = Counter()
    for item in page.text_items:
        weights[_turn(item)] += len(item.text)
    return sorted(weights, key=lambda turn: (-weights[turn], turn)) or [0]


class _Sheet:
    """The page as shown: its size in points, and the way from parser coordinates to it."""

    def __init__(self, page: liteparse.ParsedPage, size: tuple[float, float]) -> None:
        self._page = page
        self.width, self.height = round(size[0], 2), round(size[1], 2)
        self._scale = size[0] / page.width if page.width else 1.0  # a page may have units of its own

    def content(self, sources: dict[int, liteparse.ParsedPage]) -> PageContent:
        """Return what stands on the page. `sources` are its readings by the angle that they were turned back by."""
        main = next(iter(sources.values()), self._page)
        groups = [tuple(self._runs(source, turn)) for turn, source in sources.items()]
        askew = tuple(self._runs(self._page, 0, wanted=_ASKEW))
        return PageContent(
            page=self._page.page_num,
            width=self.width,
            height=self.height,
            label=self._page.page_label,
            groups=(*groups, askew),
            regions=tuple(self._regions(main)),
            links=tuple(self._links()),
        )

    def _runs(self, source: liteparse.ParsedPage, turn: int, *, wanted: int = 0) -> Iterator[Run]:
        for item in source.text_items:
            text = one_line(_UNREADABLE.sub("", item.text))
            box = self._box(item, turn)
            if text and box is not None and _turn(item) == wanted:
                yield Run(text=text, bbox=box, upright=self._raw(item))

    def _raw(self, box: Any) -> BBox:
        return box.x, box.y, box.x + box.width, box.y + box.height

    def _box(self, box: Any, turn: int = 0) -> BBox | None:
        """Return a box on the page as shown, or None for one that lies outside."""
        left, top, right, bottom = self._turned(self._raw(box), turn)
        scaled = [round(value * self._scale, 2) for value in (left, top, right, bottom)]
        left, right = (min(max(value, 0.0), self.width) for value in (scaled[0], scaled[2]))
        top, bottom = (min(max(value, 0.0), self.height) for value in (scaled[1], scaled[3]))
        return (left, top, right, bottom) if left < right and top < bottom else None

    def _turned(self, box: BBox, turn: int) -> BBox:
        left, top, right, bottom = box
        width, height = self._page.width, self._page.height
        if turn == 90:
            return width - bottom, left, width - top, right
        if turn == 180:
            return width - right, height - bottom, width - left, height - top
        if turn == 270:
            return top, height - right, bottom, height - left
        return box

    def _regions(self, source: liteparse.ParsedPage) -> Iterator[Region]:
        """Yield the regions in the coordinates of `source`, to be held against `Run.upright`."""
        for block in source.blocks or ():
            if block.bbox is not None and block.kind != "rule":
                kind = _BLOCK_TYPES.get(block.kind, "paragraph")
                yield Region(type=kind, bbox=self._raw(block.bbox), level=block.level if kind == "heading" else None)

    def _links(self) -> Iterator[tuple[str, BBox]]:
        for annotation in self._page.annotations or ():
            box = self._box(annotation.rect) if annotation.uri and annotation.rect else None
            if annotation.uri and box is not None:
                yield annotation.uri, box
