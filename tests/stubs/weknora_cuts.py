"""How a WeKnora stub cuts texts: in the manner of the server, with its quirks.

Pieces of about `chunk_size` characters from whole lines, a little of the last one repeated in the next, the head of a
table repeated before its later pieces without being counted, blank pieces left out with their number, and no piece
longer than 7,500 characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

_CEILING = 7_500
_HEADING = re.compile(r"(#{1,6})\s+(.+)")
_DASHES = re.compile(r"\|?(\s*:?-{3,}:?\s*\|)+(\s*:?-{3,}:?)?\s*")
_SENTENCE = re.compile(r".*?(?:\. |。|\Z)", re.DOTALL)

Span = tuple[int, int]
Cut = tuple[int, int, int, str, str]


def cut(text: str, config: Mapping[str, Any]) -> list[Cut]:
    """Return (index, start, end, content, breadcrumb) of each piece that is kept."""
    size, overlap = int(config.get("chunk_size") or 512), int(config.get("chunk_overlap") or 80)
    units = list(_units(text, size))
    heads = _table_heads(text)
    found = []
    for index, (start, end) in enumerate(_packed(text, units, size, overlap)):
        body = text[start:end]
        if body.strip():
            found.append((index, start, end, _head_for(start, heads) + body, _breadcrumb(text, start)))
    return found


def _units(text: str, size: int) -> Iterator[Span]:
    """Lines, long ones in sentences, code blocks whole."""
    at, fence = 0, None
    for line in _lines(text):
        start, at = at, at + len(line)
        marks = line.lstrip().startswith("```")
        if fence is not None:
            if marks:
                yield from _limited(fence, at)
                fence = None
        elif marks:
            fence = start
        elif len(line) > size:
            yield from _sentences(text, start, at)
        else:
            yield start, at
    if fence is not None:
        yield from _limited(fence, at)


def _sentences(text: str, start: int, end: int) -> Iterator[Span]:
    for found in _SENTENCE.finditer(text, start, end):
        if found.end() > found.start():
            yield from _limited(found.start(), found.end())


def _limited(start: int, end: int) -> Iterator[Span]:
    for at in range(start, end, _CEILING):
        yield at, min(at + _CEILING, end)


def _packed(text: str, units: list[Span], size: int, overlap: int) -> Iterator[Span]:
    group: list[Span] = []
    for unit in units:
        starts_section = _HEADING.match(text, *unit) and group and group[-1][1] - group[0][0] > size // 2
        if group and (unit[1] - group[0][0] > size or starts_section):
            yield group[0][0], group[-1][1]
            group = [] if starts_section else _tail(group, overlap)
            if group and unit[1] - group[0][0] > size:
                group = []
        group.append(unit)
    if group:
        yield group[0][0], group[-1][1]


def _tail(group: list[Span], overlap: int) -> list[Span]:
    """The last whole units that fit into the overlap, never all of them."""
    return [unit for unit in group[1:] if group[-1][1] - unit[0] <= overlap]


def _table_heads(text: str) -> list[tuple[int, int, str]]:
    """(start, end of its rows, head) of each table."""
    found, at = [], 0
    lines = _lines(text)
    starts = [0, *accumulate(map(len, lines))]
    while at + 1 < len(lines):
        if lines[at].lstrip().startswith("|") and _DASHES.fullmatch(lines[at + 1].strip()):
            last = at + 2
            while last < len(lines) and lines[last].lstrip().startswith("|"):
                last += 1
            found.append((starts[at + 2], starts[last], lines[at] + lines[at + 1]))
            at = last
        else:
            at += 1
    return found


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _head_for(start: int, heads: list[tuple[int, int, str]]) -> str:
    return next((head for first, end, head in heads if first <= start < end), "")


def _breadcrumb(text: str, start: int) -> str:
    levels: dict[int, str] = {}
    for line in text[:start].split("\n"):
        found = _HEADING.fullmatch(line)
        if found:
            levels = {level: title for level, title in levels.items() if level < len(found[1])}
            levels[len(found[1])] = line
    return "\n".join(levels.values())
