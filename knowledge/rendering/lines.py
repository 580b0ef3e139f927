"""Text and code as numbered lines, the cited ones marked. Never more than one window of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from knowledge.citations.lines import LineIndex
from knowledge.rendering.highlighting import MAX_CHARS, Colour, colours
from knowledge.rendering.marks import Anchors, Mark, cut, mark_of_lines
from knowledge.rendering.windows import Bounds, Wanted, Window, window_of

LINES = 600
#: Characters of one window; a window ends early rather than pass it.
WINDOW_CHARS = 160_000
#: What is shown of one line.
LINE_CHARS = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedLines:
    """`html` holds one element for each line of the window. `cut_lines` counts lines that are not shown whole."""

    html: str
    window: Window
    cut_lines: int = 0


def numbered_lines(text: str, *, language: str, marks: Sequence[Mark], wanted: Wanted) -> NumberedLines:
    """Render lines of `text`; `language` colours them, "" leaves them plain."""
    index = LineIndex(text)
    window = _window(index, wanted)
    begin, end = index.span_of(window.first, window.last)[0], index.span_of(window.last, window.last)[1]
    # A lexer that starts in the middle of a file may take code for a string: colour from the top where that is cheap.
    top = 0 if end <= MAX_CHARS else begin
    runs = [Colour(run.start + top, run.end + top, run.css) for run in colours(text[top:end], language)]
    writer = _LineWriter(text, runs, marks)
    parts = [writer.line(number, *index.span_of(number, number)) for number in range(window.first, window.last + 1)]
    return NumberedLines(html="".join(parts), window=window, cut_lines=writer.cut_lines)


def code_lines(text: str, *, first: int, language: str, marks: Sequence[Mark], anchors: Anchors) -> str:
    """Render a code block inside other text: its lines without numbers. `first` is the line at which it starts."""
    found: list[str] = []
    runs = colours(text, language)
    at = 0
    for number, line in enumerate(text.split("\n"), start=first):
        inner = "".join(_coloured(line, at, _runs_in(runs, at, at + len(line))))
        mark = mark_of_lines(marks, number, number)
        found.append(f"{anchors.opening(mark)}{inner}</mark>" if mark and line.strip() else inner)
        at += len(line) + 1
    return "\n".join(found)


def _window(index: LineIndex, wanted: Wanted) -> Window:
    def cost_of(line: int) -> int:
        start, end = index.span_of(line, line)
        return min(end - start, LINE_CHARS)

    return window_of(index.count, "line", Bounds(size=LINES, cost=WINDOW_CHARS, cost_of=cost_of), wanted)


class _LineWriter:
    def __init__(self, text: str, runs: Sequence[Colour], marks: Sequence[Mark]) -> None:
        self._text = text
        self._runs = runs
        self._marks = marks
        self._anchors = Anchors()
        self.cut_lines = 0

    def line(self, number: int, start: int, end: int) -> str:
        left, right = self._shown(start, end)
        before = "…" if left > start else ""
        after = "…" if right < end else ""
        inner = "".join(self._segments(left, right))
        mark = mark_of_lines(self._marks, number, number)
        row = ' class="l on"' if mark and mark.is_main else ' class="l"'
        return (
            f'<div{row} id="L{number}"><a class="ln" href="#L{number}" tabindex="-1">{number}</a>'
            f"<code>{before}{inner}{after}</code></div>"
        )

    def _shown(self, start: int, end: int) -> tuple[int, int]:
        """Choose what is shown of a very long line: its beginning, or the part around the marked passage."""
        if end - start <= LINE_CHARS:
            return start, end
        self.cut_lines += 1
        marked = next((mark for mark in self._marks if mark.start < end and start < mark.end), None)
        left = max(start, marked.start - LINE_CHARS // 4) if marked else start
        return left, min(end, left + LINE_CHARS)

    def _segments(self, start: int, end: int) -> Iterator[str]:
        for left, right, mark in cut(start, end, self._marks):
            inner = "".join(_coloured(self._text[left:right], left, _runs_in(self._runs, left, right)))
            yield f"{self._anchors.opening(mark)}{inner}</mark>" if mark else inner


def _runs_in(runs: Sequence[Colour], start: int, end: int) -> Sequence[Colour]:
    first = bisect_left(runs, start, key=lambda run: run.end)
    last = bisect_left(runs, end, key=lambda run: run.start)
    return runs[first:last]


def _coloured(text: str, start: int, runs: Sequence[Colour]) -> Iterator[str]:
    """Yield `text`, which begins at character `start` of what the runs count, as HTML."""
    at, end = start, start + len(text)
    for run in runs:
        left, right = max(run.start, at), min(run.end, end)
        if left >= right:
            continue
        yield escape(text[at - start : left - start], quote=False)
        yield f'<span class="{run.css}">{escape(text[left - start : right - start], quote=False)}</span>'
        at = right
    yield escape(text[at - start : end - start], quote=False)
