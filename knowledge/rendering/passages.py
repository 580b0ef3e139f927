"""Text taken out of a document (Word, HTML, e-book, mail, slides) in plain elements, never the original's markup."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from knowledge.citations.lines import LineIndex
from knowledge.parsing.source_map import Block, SourceMap
from knowledge.rendering.marks import Anchors, Mark, cut, marks_on
from knowledge.rendering.windows import Bounds, Wanted, Window, window_of

LINES = 1_500
WINDOW_CHARS = 120_000
SLIDES = 60
_CELL_GAP = " | "


@dataclass(frozen=True, slots=True, kw_only=True)
class Passages:
    html: str
    window: Window


@dataclass(frozen=True, slots=True, kw_only=True)
class SlideView:
    """One slide: its text and the notes of its speaker, as HTML."""

    number: int
    html: str
    notes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slides:
    slides: tuple[SlideView, ...]
    window: Window


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    kind: str
    level: int
    group: tuple[object, ...]


def render_passages(source_map: SourceMap, *, marks: Sequence[Mark], wanted: Wanted) -> Passages:
    """Return the window of lines that is wanted, as headings, paragraphs, lists and tables."""
    writer = _Writer(source_map, marks)
    bounds = Bounds(size=LINES, cost=WINDOW_CHARS, cost_of=writer.cost_of)
    window = window_of(source_map.line_count, "passage", bounds, wanted)
    return Passages(html=writer.html(range(window.first, window.last + 1)), window=window)


def render_slides(source_map: SourceMap, *, marks: Sequence[Mark], wanted: Wanted) -> Slides:
    """Return the window of slides that is wanted; slides without text are left out."""
    lines: dict[int, list[int]] = {}
    for number, place in enumerate(source_map.places, start=1):
        if place.slide is not None:
            lines.setdefault(place.slide, []).append(number)
    window = window_of(max(lines, default=1), "slide", Bounds(size=SLIDES), wanted)
    writer = _Writer(source_map, marks)
    views = [
        SlideView(
            number=number,
            html=writer.html([line for line in found if not source_map.places[line - 1].notes]),
            notes=writer.html([line for line in found if source_map.places[line - 1].notes]),
        )
        for number, found in sorted(lines.items())
        if window.first <= number <= window.last
    ]
    return Slides(slides=tuple(views), window=window)


class _Writer:
    def __init__(self, source_map: SourceMap, marks: Sequence[Mark]) -> None:
        self._map = source_map
        self._index = LineIndex(source_map.text)
        self._marks = marks
        self._anchors = Anchors()
        self._titles = {section.line_start: section for section in source_map.sections}
        self._block_starts = [block.line_start for block in source_map.blocks]

    def cost_of(self, line: int) -> int:
        start, end = self._index.span_of(line, line)
        return end - start

    def html(self, numbers: Sequence[int]) -> str:
        lines = [self._line(number) for number in numbers if self._text(number).strip()]
        parts: list[str] = []
        for (kind, *_), group in groupby(lines, key=lambda line: (line.kind, *line.group)):
            parts.extend(self._group(kind, list(group)))
        return "".join(parts)

    def _group(self, kind: str, lines: Sequence[_Line]) -> Iterator[str]:
        if kind == "table":
            rows = "".join(self._row(line) for line in lines)
            yield f'<div class="scroll" tabindex="0"><table><tbody>{rows}</tbody></table></div>'
        elif kind == "list":
            yield "<ul>" + "".join(f"<li>{self._inner(line.number)}</li>" for line in lines) + "</ul>"
        elif kind == "code":
            yield "<pre><code>" + "\n".join(self._inner(line.number) for line in lines) + "</code></pre>"
        elif kind == "quote":
            yield "<blockquote>" + "".join(f"<p>{self._inner(line.number)}</p>" for line in lines) + "</blockquote>"
        else:
            for line in lines:
                tag = f"h{min(line.level + 1, 6)}" if line.level else "p"
                css = f' class="{kind}"' if kind in {"caption", "notes", "front_matter"} else ""
                yield f"<{tag}{css}>{self._inner(line.number)}</{tag}>"

    def _line(self, number: int) -> _Line:
        section = self._titles.get(number)
        text = self._text(number)
        if section is not None and text and section.title.startswith(text[:40]):
            return _Line(number, "heading", section.level, (number,))
        place = self._map.places[number - 1]
        block = self._block_of(number)
        kind = block.type if block is not None else "paragraph"
        if place.table is not None:
            return _Line(number, "table", 0, (place.table,))
        if kind == "table" or (kind == "heading" and _CELL_GAP in text):
            return _Line(number, "table", 0, (place.shape, place.part))
        return _Line(number, "paragraph" if kind == "heading" else kind, 0, (place.shape, place.part))

    def _block_of(self, number: int) -> Block | None:
        at = bisect_right(self._block_starts, number) - 1
        block = self._map.blocks[at] if at >= 0 else None
        return block if block is not None and number <= block.line_end else None

    def _text(self, number: int) -> str:
        start, end = self._index.span_of(number, number)
        return self._map.text[start:end]

    def _inner(self, number: int) -> str:
        return "".join(self._segments(*self._index.span_of(number, number)))

    def _segments(self, start: int, end: int) -> Iterator[str]:
        for left, right, mark in cut(start, end, self._marks):
            text = escape(self._map.text[left:right], quote=False)
            yield f"{self._anchors.opening(mark, is_inside=left > start)}{text}</mark>" if mark else text

    def _row(self, line: _Line) -> str:
        start, end = self._index.span_of(line.number, line.number)
        cells: list[str] = []
        at = start
        for text in self._map.text[start:end].split(_CELL_GAP):
            found = marks_on(self._marks, at, max(at + len(text), at + 1))
            opening = self._anchors.opening(found[0], tag="td") if found else "<td>"
            cells.append(f"{opening}{escape(text, quote=False)}</td>")
            at += len(text) + len(_CELL_GAP)
        return f"<tr>{''.join(cells)}</tr>"
