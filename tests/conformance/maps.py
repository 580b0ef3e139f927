"""Source maps made from Markdown text, so that providers can be tested without any parser.

A block is a run of lines without a blank one; a line of `#` and a space is a block of its own and opens a section.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256

from knowledge.parsing.source_map import Block, Link, ResourceKind, Section, SourceMap

_HEADING = re.compile(r"(#{1,6}) (.+)")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)]+)\)")

Piece = tuple[str, int, int]


def markdown_map(text: str, *, title: str | None = None, revision: str = "test-1") -> SourceMap:
    """Return the source map of Markdown `text`, which needs LF line ends."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    pieces = list(_pieces(lines))
    sections = _sections(lines, pieces)
    return SourceMap(
        provider="markdown",
        model_version=revision,
        kind=ResourceKind.MARKDOWN,
        source_hash="sha256:" + sha256(text.encode()).hexdigest(),
        text=text,
        title=title,
        blocks=tuple(_block(n, piece, text, starts, sections) for n, piece in enumerate(pieces, 1)),
        sections=sections,
        links=tuple(_links(lines)),
    )


def _pieces(lines: list[str]) -> Iterator[Piece]:
    """Yield (type, first line, last line), 1-based and inclusive."""
    start = None
    for number, line in enumerate([*lines, ""], 1):
        heading = _HEADING.fullmatch(line)
        if start and (heading or not line.strip()):
            yield "paragraph", start, number - 1
            start = None
        if heading:
            yield "heading", number, number
        elif line.strip() and not start:
            start = number


def _sections(lines: list[str], pieces: list[Piece]) -> tuple[Section, ...]:
    found: list[Section] = []
    headings = [line for kind, line, _ in pieces if kind == "heading"]
    for line in headings:
        marks, title = _HEADING.fullmatch(lines[line - 1]).groups()
        level = len(marks)
        parent = next((s for s in reversed(found) if s.level < level and s.line_end >= line), None)
        end = next((n - 1 for n in headings if n > line and _level(lines[n - 1]) <= level), len(lines))
        found.append(
            Section(
                id=f"s{len(found) + 1}",
                title=title,
                level=level,
                path=(*(parent.path if parent else ()), title),
                line_start=line,
                line_end=end,
                parent_id=parent.id if parent else None,
            )
        )
    return tuple(found)


def _level(line: str) -> int:
    return len(line) - len(line.lstrip("#"))


def _block(n: int, piece: Piece, text: str, starts: list[int], sections: tuple[Section, ...]) -> Block:
    kind, first, last = piece
    start, end = starts[first - 1], starts[last] - 1
    inside = [section for section in sections if section.line_start <= first <= section.line_end]
    return Block(
        id=f"b{n}",
        type=kind,
        text=text[start:end],
        line_start=first,
        line_end=last,
        char_start=start,
        char_end=end,
        section_id=max(inside, key=lambda section: section.level).id if inside else None,
    )


def _links(lines: list[str]) -> Iterator[Link]:
    for number, line in enumerate(lines, 1):
        for bang, text, target in _LINK.findall(line):
            yield Link(target=target, text=text, line=number, kind="image" if bang else "markdown")
