"""The pages that a provider's own marks name, held against the pages on which its words were found in ours.

A comment before a slide names the slide of all that follows. The name of a picture names a page: the text before it is
not of a later one, the text after it not of an earlier. Where the two disagree, one of them read something else, and
nobody knows which.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice

from knowledge.mapping.alignment import NOWHERE, Alignment
from knowledge.mapping.converted import Mark
from knowledge.mapping.skeleton import Skeleton
from knowledge.parsing.source_map import ResourceKind, SourceMap

#: Fewer letters than this on another page are chance; so many next to a picture are looked at.
CHANCE = 3


def doubted(
    marks: Sequence[Mark], theirs: Skeleton, ours: Skeleton, found: Alignment, source_map: SourceMap
) -> bytearray:
    """Return which letters of theirs were found on another page than the marks allow: 1 for each such."""
    wrong = bytearray(len(theirs.letters))
    if not marks or source_map.kind not in (ResourceKind.SLIDES, ResourceKind.PDF):
        return wrong
    pages = _Pages(ours, source_map)
    starts = [theirs.range_of(mark.at, mark.at)[0] for mark in marks]
    for mark, start, end in zip(marks, starts, [*starts[1:], len(wrong)], strict=True):
        if source_map.kind is ResourceKind.SLIDES:
            _note(wrong, pages, found, range(start, end), mark.page, mark.page)
        else:
            _note(wrong, pages, found, _nearest(found, range(start - 1, -1, -1)), 0, mark.page)
            _note(wrong, pages, found, _nearest(found, range(start, len(wrong))), mark.page, pages.last)
    return wrong


def _note(wrong: bytearray, pages: _Pages, found: Alignment, letters: Sequence[int], first: int, last: int) -> None:
    for at in letters:
        if found.to[at] != NOWHERE and not first <= pages.of(found.to[at]) <= last:
            wrong[at] = 1


def _nearest(found: Alignment, letters: range) -> list[int]:
    """Return the first letters that were found, in this order."""
    placed: Iterator[int] = (at for at in letters if found.to[at] != NOWHERE)
    return list(islice(placed, CHANCE))


class _Pages:
    """On which page or slide each letter of ours stands."""

    def __init__(self, ours: Skeleton, source_map: SourceMap) -> None:
        self._starts, self._pages = array("L"), array("L")
        offset = 0
        for line, place in zip(source_map.text.split("\n"), source_map.places, strict=True):
            self._starts.append(ours.range_of(offset, offset)[0])
            self._pages.append(place.page or place.slide or 0)
            offset += len(line) + 1
        self.last = max(self._pages, default=0)

    def of(self, letter: int) -> int:
        return self._pages[bisect_right(self._starts, letter) - 1]
