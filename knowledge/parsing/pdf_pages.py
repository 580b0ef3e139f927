"""Read the runs of text of a PDF, upright and in the coordinates of the page as shown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import liteparse
import pypdfium2 as pdfium  # type: ignore[import-untyped]

from knowledge.parsing.base import ParseCode, ParseError, ParseLimits
from knowledge.parsing.lines import one_line
from knowledge.parsing.pdf_layout import Run
from knowledge.parsing.source_map import BBox

_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
_OPTIONS: dict[str, Any] = {
    "ocr_enabled": False,
    "quiet": True,
    "extract_blocks": True,
    "extract_annotations": True,
    "keep_headers_footers": True,
    "continue_on_page_error": True,
    "num_workers": 1,
}
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
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        encrypted = getattr(error, "err_code", None) == pdfium.raw.FPDF_ERR_PASSWORD
        code = ParseCode.ENCRYPTED if encrypted else ParseCode.CORRUPT
        raise ParseError(code, "the file cannot be opened as PDF") from error
    if len(document) == 0:
        raise ParseError(ParseCode.EMPTY, "the file has no pages")
    if len(document) > limits.max_pages:
        raise ParseError(ParseCode.TOO_LARGE, f"the file has more than {limits.max_pages} pages")
    return document


def read_pages(data: bytes, document: pdfium.PdfDocument) -> list[PageContent]:
    """Return the pages that can be read, in order. Raises ParseError corrupt when none can.

    Text that does not stand upright comes out of the parser with its letters in the wrong order. So pages with such
    text are read once more for each way it stands, turned so that this text is upright.
    """
    shown = _parsed(data)
    turns = {number: _turns(page) for number, page in shown.items()}
    parsed = {0: shown}
    for angle in (90, 180, 270):
        numbers = [number for number, found in turns.items() if angle in found]
        parsed[angle] = _parsed(data, dict.fromkeys(numbers, angle)) if numbers else {}
    return [
        _Sheet(page, document.get_page_size(number - 1)).content(
            {angle: parsed[angle][number] for angle in turns[number] if number in parsed.get(angle, {})}
        )
        for number, page in sorted(shown.items())
    ]


def _parsed(data: bytes, turns: dict[int, int] | None = None) -> dict[int, liteparse.ParsedPage]:
    options = dict(_OPTIONS)
    if turns:
        options["target_pages"] = ",".join(map(str, sorted(turns)))
        options["page_orientation_corrections"] = sorted(turns.items())
    try:
        return {page.page_num: page for page in liteparse.LiteParse(**options).parse(data).pages}
    except liteparse.ParseError as error:
        raise ParseError(ParseCode.CORRUPT, "the pages cannot be read") from error


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
            text = one_line(_CONTROLS.sub("", item.text))
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
