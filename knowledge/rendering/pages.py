"""Pages of a PDF, or one picture, with what lies over them: the cited boxes, and the text to select and to read out.

Positions are attributes of an SVG in page points, because the pages' content policy forbids inline styles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from knowledge.parsing.source_map import BBox, Page, SourceMap, TextItem
from knowledge.rendering.marks import Anchors, Mark
from knowledge.rendering.windows import Bounds, Wanted, Window, window_of

PAGES = 20
#: White around a box, in points, so that it does not cut the letters.
_PAD = 1.5
_BASELINE = 0.2
#: A run this much taller than wide stands on its side.
_UPRIGHT = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """One page: its number, its printed label if that differs, its size in points, and `overlay`, the inside of an SVG
    with that view box."""

    number: int
    width: float
    height: float
    overlay: str = ""
    label: str = ""
    is_cited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    pages: tuple[PageView, ...]
    window: Window


Boxes = Mapping[int, Sequence[tuple[BBox, Mark]]]


def render_pages(source_map: SourceMap, *, marks: Sequence[Mark], wanted: Wanted, boxes: Boxes | None = None) -> Pages:
    """Return the window of pages that is wanted. `boxes` by page number replace those of the marks."""
    known = {page.page: page for page in source_map.pages}
    total = max(known, default=1)
    window = window_of(total, "page", _bounds(), wanted)
    found = boxes if boxes is not None else boxes_of(source_map, marks)
    anchors = Anchors()
    views = [
        _view(known[number], found.get(number, ()), anchors)
        for number in range(window.first, window.last + 1)
        if number in known
    ]
    return Pages(pages=tuple(views), window=window)


def bare_pages(sizes: Sequence[tuple[float, float]], *, wanted: Wanted) -> Pages:
    """Return pages without text, of these widths and heights in points."""
    window = window_of(max(len(sizes), 1), "page", _bounds(), wanted)
    shown = enumerate(sizes[window.first - 1 : window.last], start=window.first)
    return Pages(pages=tuple(PageView(number=n, width=w, height=h) for n, (w, h) in shown), window=window)


def boxes_of(source_map: SourceMap, marks: Sequence[Mark]) -> dict[int, list[tuple[BBox, Mark]]]:
    """Return where the marked words stand: whole lines, and of a line that is marked in part only those runs."""
    found: dict[int, list[tuple[BBox, Mark]]] = {}
    starts = _line_starts(source_map.text)
    for mark in marks:
        for line in range(mark.first, mark.last + 1):
            place = source_map.places[line - 1]
            if place.page is None or place.bbox is None:
                continue
            start, end = starts[line - 1], starts[line] - 1
            is_whole = mark.start <= start and end <= mark.end
            box = place.bbox if is_whole else _around_runs(source_map, place.page, mark) or place.bbox
            found.setdefault(place.page, []).append((_within_line(box, place.bbox), mark))
    return found


def _bounds() -> Bounds:
    return Bounds(size=PAGES)


def _line_starts(text: str) -> list[int]:
    starts, at = [0], 0
    for line in text.split("\n"):
        at += len(line) + 1
        starts.append(at)
    return starts


def _around_runs(source_map: SourceMap, page: int, mark: Mark) -> BBox | None:
    items = next((each.text_items for each in source_map.pages if each.page == page), ())
    boxes = [item.bbox for item in items if item.char_start < mark.end and mark.start < item.char_end]
    if not boxes:
        return None
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)


def _within_line(box: BBox, line: BBox) -> BBox:
    """Keep the part of `box` that is on the line: the runs of a mark may stand on several."""
    return max(box[0], line[0]), line[1], min(box[2], line[2]), line[3]


def _view(page: Page, boxes: Iterable[tuple[BBox, Mark]], anchors: Anchors) -> PageView:
    found = list(boxes)
    drawn = "".join(_rect(box, mark, anchors) for box, mark in found)
    words = "".join(_text(item) for item in page.text_items)
    label = page.label if page.label and page.label != str(page.page) else ""
    return PageView(
        number=page.page,
        width=page.width,
        height=page.height,
        overlay=drawn + words,
        label=label,
        is_cited=any(mark.is_main for _, mark in found),
    )


def _rect(box: BBox, mark: Mark, anchors: Anchors) -> str:
    left, top, right, bottom = box[0] - _PAD, box[1] - _PAD, box[2] + _PAD, box[3] + _PAD
    anchor = anchors.take(mark)
    place = f' id="{anchor}" tabindex="-1"' if anchor else ""
    size = f'x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"'
    return f'<rect class="{mark.kind}"{place} {size} rx="2"/>'


def _text(item: TextItem) -> str:
    left, top, right, bottom = item.bbox
    width, height = right - left, bottom - top
    if width <= 0 or height <= 0 or not item.text.strip():
        return ""
    words = escape(item.text, quote=False)
    if height > width * _UPRIGHT and len(item.text) > 1:
        place = f'transform="translate({left + width * (1 - _BASELINE):.1f} {bottom:.1f}) rotate(-90)"'
        width, height = height, width
    else:
        place = f'x="{left:.1f}" y="{bottom - height * _BASELINE:.1f}"'
    size = f'font-size="{height:.1f}" textLength="{width:.1f}" lengthAdjust="spacingAndGlyphs"'
    return f"<text {place} {size}>{words}</text>"


def parse_box(written: str) -> BBox | None:
    """Read "x0,y0,x1,y1" as an address carries it; None for anything else."""
    try:
        left, top, right, bottom = (float(part) for part in written.split(","))
    except ValueError:
        return None
    return (left, top, right, bottom) if left < right and top < bottom else None


def pages_of(marks: Sequence[Mark], source_map: SourceMap) -> Iterator[int]:
    """Yield the pages that hold the marks, in order."""
    for mark in marks:
        for line in range(mark.first, mark.last + 1):
            page = source_map.places[line - 1].page
            if page is not None:
                yield page
