"""Marked passages: characters of the derived text that a page points out, cut to fit the elements they fall into."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

#: The id of the first element of the cited passage.
CITED = "cited"


class MarkKind(StrEnum):
    """Why a passage is pointed out; the value is its class. NEAR is where a passage that is gone would have stood."""

    CITED = "cite"
    ALSO = "cite also"
    NEAR = "near"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Characters `start` to `end` (exclusive) of the derived text, on lines `first` to `last` (1-based, inclusive).

    `number` counts the marks of a document in reading order.
    """

    start: int
    end: int
    first: int
    last: int
    number: int = 1
    kind: MarkKind = MarkKind.CITED

    @property
    def is_main(self) -> bool:
        return self.kind is not MarkKind.ALSO

    @property
    def anchor(self) -> str:
        return CITED if self.is_main else f"passage-{self.number}"


class Anchors:
    """Hands out the id of each mark once: to its first element on the page."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def take(self, mark: Mark) -> str:
        """Return the anchor of `mark` the first time, "" from then on."""
        if mark.anchor in self._given:
            return ""
        self._given.add(mark.anchor)
        return mark.anchor

    def opening(self, mark: Mark, *, tag: str = "mark", sign: str = "", is_inside: bool = False) -> str:
        """Return the start tag of an element of `mark`; the first one can be jumped to and focused.

        `is_inside`: other words stand before it on its line. `sign` is put before each value where the tag has to pass
        a filter that drops values without it.
        """
        anchor = self.take(mark)
        place = f' id="{sign}{anchor}" tabindex="{sign}-1"' if anchor else ""
        return f'<{tag} class="{sign}{mark.kind}{" in" if is_inside else ""}"{place}>'


def marks_on(marks: Sequence[Mark], start: int, end: int) -> list[Mark]:
    """Return the marks that share characters with `start` to `end`, the main one first."""
    found = [mark for mark in marks if mark.start < end and start < mark.end]
    return sorted(found, key=lambda mark: (not mark.is_main, mark.start))


def mark_of_lines(marks: Sequence[Mark], first: int, last: int) -> Mark | None:
    """Return the mark that touches lines `first` to `last`, the main one before others."""
    found = [mark for mark in marks if mark.first <= last and first <= mark.last]
    return min(found, key=lambda mark: (not mark.is_main, mark.start), default=None)


def cut(start: int, end: int, marks: Sequence[Mark]) -> Iterator[tuple[int, int, Mark | None]]:
    """Cut characters `start` to `end` where marks begin and end; where marks overlap the main one wins."""
    found = marks_on(marks, start, end)
    edges = {start, end} | {min(end, max(start, edge)) for mark in found for edge in (mark.start, mark.end)}
    ordered = sorted(edges)
    for left, right in pairwise(ordered):
        yield left, right, next((mark for mark in found if mark.start <= left and right <= mark.end), None)
