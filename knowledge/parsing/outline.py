"""Headings to sections: each heading holds the lines up to the next one of its level or above."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from knowledge.parsing.source_map import Section

MAX_TITLE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading that starts at derived line `line`; `level` 1 is the outermost."""

    line: int
    level: int
    title: str


def build_sections(
    headings: Sequence[Heading], line_count: int, *, page_of: Callable[[int], int | None] = lambda _: None
) -> tuple[Section, ...]:
    """Return the sections of headings in reading order; headings without a title are passed over.

    `page_of` gives the page of a derived line, for paged originals.
    """
    named = _distinct([heading for heading in headings if heading.title.strip()])
    sections: list[Section] = []
    open_sections: list[Section] = []
    ends = _ends(named, line_count)
    for number, (heading, end) in enumerate(zip(named, ends, strict=True), start=1):
        while open_sections and open_sections[-1].level >= heading.level:
            open_sections.pop()
        parent = open_sections[-1] if open_sections else None
        title = heading.title.strip()[:MAX_TITLE]
        section = Section(
            id=f"sec_{number}",
            title=title,
            level=heading.level,
            path=((*parent.path, title) if parent else (title,)),
            line_start=heading.line,
            line_end=end,
            parent_id=parent.id if parent else None,
            page_start=page_of(heading.line),
            page_end=page_of(end),
        )
        sections.append(section)
        open_sections.append(section)
    return tuple(sections)


def _distinct(headings: Sequence[Heading]) -> list[Heading]:
    """Leave out a heading that starts on the line of the one before it without standing under it."""
    kept: list[Heading] = []
    for heading in headings:
        if not kept or heading.line > kept[-1].line or heading.level > kept[-1].level:
            kept.append(heading)
    return kept


def _ends(headings: Sequence[Heading], line_count: int) -> list[int]:
    """Return for each heading the last line of its section."""
    ends = [line_count] * len(headings)
    waiting: list[int] = []
    for index, heading in enumerate(headings):
        while waiting and headings[waiting[-1]].level >= heading.level:
            ends[waiting.pop()] = heading.line - 1
        waiting.append(index)
    return ends
