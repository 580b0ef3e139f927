"""Cut derived text into blocks: whole lines, about 600 characters, never more than 1,200.

Every non-blank line belongs to exactly one block; only a single line over the cap is cut into several that share it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from knowledge.parsing.source_map import Block, Section

TARGET = 600
CAP = 1200
#: A passage up to this long stays whole.
_WHOLE = 900
#: A rest shorter than this stays with the block before it.
_CRUMB = 120
_PROSE = frozenset({"heading", "paragraph", "list", "quote", "caption"})
_SENTENCE_END = re.compile(r"[。！？；…][”’」』）)]*|[.!?;][\"'”’)\]]*(?=\s)")
_SPACE = re.compile(r"\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Lines `start`..`end` (1-based, inclusive) of one type. `stops`: lines that are good to start a block at."""

    type: str
    start: int
    end: int
    stops: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    type: str
    start: int
    end: int
    section_id: str | None


class Blocks:
    """Cuts one derived text. `lines` are its lines, `sections` its outline, `edges` lines that must start a block."""

    def __init__(self, lines: Sequence[str], sections: Sequence[Section] = (), edges: Iterable[int] = ()) -> None:
        self._lines = lines
        self._sections = sections_by_line(sections, len(lines))
        self._edges = frozenset(edges)
        self._offsets = [0, *accumulate(len(line) + 1 for line in lines)]

    def cut(self, spans: Iterable[Span]) -> tuple[Block, ...]:
        """Return the blocks of the spans, with the lines that no span holds added as paragraphs."""
        pieces = self._merge(piece for span in self._whole(spans) for piece in self._pieces(span))
        return tuple(
            replace(block, id=f"b{number}")
            for number, block in enumerate((block for piece in pieces for block in self._blocks(piece)), start=1)
        )

    def _whole(self, spans: Iterable[Span]) -> Iterator[Span]:
        following = 1
        for span in sorted(spans, key=lambda span: span.start):
            if span.end < following:
                continue  # inside the span before it
            yield from self._runs(following, span.start - 1)
            yield replace(span, start=max(span.start, following))
            following = span.end + 1
        yield from self._runs(following, len(self._lines))

    def _runs(self, start: int, end: int) -> Iterator[Span]:
        """Yield the runs of non-blank lines between two lines as paragraphs."""
        first = 0
        for number in range(start, end + 2):
            filled = number <= end and bool(self._lines[number - 1].strip())
            if filled and not first:
                first = number
            elif first and not filled:
                yield Span(type="paragraph", start=first, end=number - 1)
                first = 0

    def _pieces(self, span: Span) -> Iterator[_Piece]:
        for start, end in self._same_section(*self._trim(span.start, span.end)):
            for first, last in self._fitting(start, end, span.stops):
                first, last = self._trim(first, last)  # noqa: PLW2901
                if first <= last:
                    section = self._sections[first - 1]
                    yield _Piece(type=span.type, start=first, end=last, section_id=section)

    def _trim(self, start: int, end: int) -> tuple[int, int]:
        while start <= end and not self._lines[start - 1].strip():
            start += 1
        while end >= start and not self._lines[end - 1].strip():
            end -= 1
        return start, end

    def _same_section(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        first = start
        for number in range(start + 1, end + 1):
            if self._sections[number - 1] != self._sections[number - 2] or number in self._edges:
                yield first, number - 1
                first = number
        if first <= end:
            yield first, end

    def _size(self, start: int, end: int) -> int:
        return self._offsets[end] - self._offsets[start - 1] - 1

    def _fitting(self, start: int, end: int, stops: frozenset[int]) -> Iterator[tuple[int, int]]:
        """Cut lines into runs of about the target, at the stops where there are any near."""
        first = start
        while first <= end:
            if self._size(first, end) <= _WHOLE:
                yield first, end
                return
            last = self._last_fitting(first, end, stops)
            yield first, last
            first = last + 1

    def _last_fitting(self, first: int, end: int, stops: frozenset[int]) -> int:
        last = first
        while last < end and self._size(first, last + 1) <= TARGET:
            last += 1
        if self._size(first, end) <= CAP and (last == end or self._size(last + 1, end) < _CRUMB):
            return end
        for stop in range(last + 1, first, -1):
            if self._size(first, stop - 1) < TARGET // 2:
                break
            if stop in stops:
                return stop - 1
        return last

    def _merge(self, pieces: Iterable[_Piece]) -> Iterator[_Piece]:
        held: _Piece | None = None
        for piece in pieces:
            if held is not None and self._joins(held, piece):
                held = replace(held, type=self._joined_type(held, piece), end=piece.end)
                continue
            if held is not None:
                yield held
            held = piece
        if held is not None:
            yield held

    def _joins(self, held: _Piece, piece: _Piece) -> bool:
        if held.section_id != piece.section_id or piece.start in self._edges:
            return False
        size = self._size(held.start, piece.end)
        if held.type == "heading":
            return size <= CAP
        return size <= TARGET and held.type in _PROSE and piece.type in _PROSE - {"heading"}

    def _joined_type(self, held: _Piece, piece: _Piece) -> str:
        if held.type == "heading":
            return piece.type
        return held.type if self._size(held.start, held.end) >= self._size(piece.start, piece.end) else piece.type

    def _blocks(self, piece: _Piece) -> Iterator[Block]:
        begin = self._offsets[piece.start - 1]
        text = "\n".join(self._lines[piece.start - 1 : piece.end])
        cuts = [(0, len(text))] if len(text) <= CAP else cut_line(text)
        for start, end in cuts:
            yield Block(
                id="",
                type=piece.type,
                text=text[start:end],
                line_start=piece.start,
                line_end=piece.end,
                char_start=begin + start,
                char_end=begin + end,
                section_id=piece.section_id,
            )


def cut_line(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a line that is too long for one block, cut at ends of sentences, else at spaces."""
    start = _skip_space(text, 0)
    while len(text) - start > CAP:
        end = start + _cut_at(text[start : start + CAP])
        yield start, end
        start = _skip_space(text, end)
    if start < len(text):
        yield start, len(text)


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _cut_at(window: str) -> int:
    ends = [match.end() for match in _SENTENCE_END.finditer(window, TARGET // 2)]
    if ends:
        return min(ends, key=lambda end: abs(end - TARGET))
    spaces = [match.start() for match in _SPACE.finditer(window, TARGET // 2)]
    return min(spaces, key=lambda end: abs(end - TARGET)) if spaces else CAP


def sections_by_line(sections: Sequence[Section], line_count: int) -> list[str | None]:
    """Return the id of the innermost section of every line; sections come in reading order, parents first."""
    found: list[str | None] = [None] * line_count
    for section in sections:
        found[section.line_start - 1 : section.line_end] = [section.id] * (section.line_end - section.line_start + 1)
    return found
