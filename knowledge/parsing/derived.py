"""Derived text of a structured original, built line by line, each with its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from knowledge.parsing.base import ParseCode, ParseError, ParseInput, ParseProvider
from knowledge.parsing.blocks import Blocks, Span
from knowledge.parsing.outline import Heading, build_sections
from knowledge.parsing.source_map import Link, Place, ResourceKind, SourceMap
from knowledge.parsing.text_size import check_text_size


@dataclass(slots=True)
class Derived:
    """Lines of text and where they come from. A blank line separates what belongs to different things."""

    lines: list[str] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    _groups: list[tuple[str, Any]] = field(default_factory=list)
    _edges: list[int] = field(default_factory=list)
    _first_heading: str | None = None

    @property
    def next_line(self) -> int:
        return len(self.lines) + 1

    def add(self, text: str, place: Place, kind: str = "paragraph", *, group: Any = None) -> int:
        """Add one line and return its number. Lines in a row of one kind and group are cut only when too long."""
        self.lines.append(text)
        self.places.append(place)
        self._groups.append((kind, group if group is not None else object()))
        return len(self.lines)

    def add_heading(self, text: str, place: Place, level: int) -> int:
        """Add a line that opens a section."""
        number = self.add(text, place, "heading")
        if level == 1 and self._first_heading is None:
            self._first_heading = text
        self.headings.append(Heading(line=number, level=level, title=text))
        return number

    def add_blank(self, place: Place) -> None:
        """Add an empty line, unless there is one already or nothing yet."""
        if self.lines and self.lines[-1]:
            self.add("", place)

    def start_block(self) -> None:
        """Let the next line start a block of its own."""
        self._edges.append(self.next_line)

    def open_section(self, title: str, level: int = 1, *, at: int | None = None) -> None:
        """Open a section at the next line, or an earlier one that opens none; the line is not a heading itself."""
        self.headings.append(Heading(line=at or self.next_line, level=level, title=title))

    def source_map(
        self,
        parser: ParseProvider,
        item: ParseInput,
        kind: ResourceKind,
        *,
        title: str | None = None,
        meta: dict[str, Any] | None = None,
    ) -> SourceMap:
        """Return the source map; without a title of its own it has that of its first outermost heading.

        Raises ParseError: no_text when no line holds anything, too_large.
        """
        while self.lines and not self.lines[-1].strip():
            self.lines.pop(), self.places.pop(), self._groups.pop()
        text = "\n".join(self.lines)
        if not text.strip():
            raise ParseError(ParseCode.NO_TEXT, "the file holds no text")
        check_text_size(text, item.limits)
        within = [heading for heading in self.headings if heading.line <= len(self.lines)]
        sections = build_sections(within, len(self.lines))
        return SourceMap(
            provider=parser.provider_id,
            model_version=parser.revision,
            kind=kind,
            source_hash=item.source_hash,
            text=text,
            blocks=Blocks(self.lines, sections, self._edges).cut(self._spans()),
            sections=sections,
            places=tuple(self.places),
            links=tuple(self.links),
            title=title or self._first_heading,
            meta=meta or {},
        )

    def _spans(self) -> Iterator[Span]:
        start = 0
        for number in range(1, len(self._groups) + 1):
            if number == len(self._groups) or self._groups[number] != self._groups[start]:
                yield Span(type=self._groups[start][0], start=start + 1, end=number)
                start = number
