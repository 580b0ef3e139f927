"""Which lines of a long note one page shows. A window begins and ends between blocks, best at a heading."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from knowledge.parsing.source_map import SourceMap
from knowledge.rendering.windows import Bounds, Wanted, Window, window_of

#: A note up to this many characters is shown whole; a longer one in windows of the second size.
WHOLE_CHARS = 150_000
WINDOW_CHARS = 80_000
_MAX_PARTS = 100_000


def window_of_note(source_map: SourceMap, lines: Sequence[str], wanted: Wanted) -> Window:
    """Return the lines to show."""
    if len(source_map.text) <= WHOLE_CHARS:
        return Window(first=1, last=len(lines), total=len(lines), unit="line")
    starts = _starts(source_map, lines)
    ends = [*(start - 1 for start in starts[1:]), len(lines)]
    sizes = [0, *accumulate(len(line) + 1 for line in lines)]

    def cost_of(part: int) -> int:
        return sizes[ends[part - 1]] - sizes[starts[part - 1] - 1]

    def part_of(line: int | None) -> int | None:
        if line is None:
            return None
        return max(1, sum(start <= line for start in starts))

    parts = Wanted(start=part_of(wanted.start), end=part_of(wanted.end), focus=part_of(wanted.focus))
    bounds = Bounds(size=_MAX_PARTS, cost=WINDOW_CHARS, cost_of=cost_of)
    found = window_of(len(starts), "line", bounds, parts)
    return Window(first=starts[found.first - 1], last=ends[found.last - 1], total=len(lines), unit="line")


def _starts(source_map: SourceMap, lines: Sequence[str]) -> list[int]:
    """Return the lines a window may begin at: headings, and blocks after a blank line that are not the rest of a list,
    table or code block cut in two."""
    headings = {section.line_start for section in source_map.sections}
    starts = {1} | headings
    before = ""
    for block in source_map.blocks:
        follows_blank = block.line_start > 1 and not lines[block.line_start - 2].strip()
        follows_heading = block.line_start - 2 in headings
        if follows_blank and not follows_heading and (block.type != before or block.type == "paragraph"):
            starts.add(block.line_start)
        before = block.type
    return sorted(starts)
