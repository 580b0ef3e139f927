"""Orders in which the letters of our text can be read. A page has more than one: by its blocks, as we read it, or row
by row across the page, as others read tables."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate, groupby

from knowledge.mapping.alignment import NOWHERE, Alignment, align
from knowledge.mapping.skeleton import Skeleton
from knowledge.parsing.source_map import Place, ResourceKind, SourceMap

#: With so much found in one order no other is tried.
_ENOUGH = 0.995


def best_alignment(theirs: Skeleton, ours: Skeleton, source_map: SourceMap) -> Alignment:
    """Align with our text in the order in which most of the other is found; places are those of our text as it is."""
    lines = _line_letters(ours, source_map)
    has_pages = source_map.kind is ResourceKind.PDF
    pages = _page_starts(lines, source_map) if has_pages else []
    found = align(theirs.letters, ours.letters, lines=[each.start for each in lines], pages=pages)
    if not has_pages or found.coverage >= _ENOUGH:
        return found
    rows = _by_rows(lines, source_map)
    order = array("l", (at for row in rows for at in row))
    starts = list(accumulate((len(row) for row in rows), initial=0))[:-1]
    other = align(theirs.letters, "".join([ours.letters[at] for at in order]), lines=starts, pages=pages)
    return found if other.coverage <= found.coverage else _as_it_is(other, ours.letters, order)


def _as_it_is(found: Alignment, letters: str, order: array[int]) -> Alignment:
    same = Alignment(found.theirs, letters)
    for at, there in enumerate(found.to):
        if there != NOWHERE:
            same.take(at, order[there], sure=bool(found.sure[at]))
    return same


def _line_letters(ours: Skeleton, source_map: SourceMap) -> list[range]:
    """Return the letters of each line."""
    found: list[range] = []
    start = 0
    for line in source_map.text.split("\n"):
        found.append(range(*ours.range_of(start, start + len(line))))
        start += len(line) + 1
    return found


def _page_starts(lines: Sequence[range], source_map: SourceMap) -> list[int]:
    """Return the letter with which each page begins, which is the same in either order."""
    first: dict[int | None, int] = {}
    for place, letters in zip(source_map.places, lines, strict=True):
        first.setdefault(place.page, letters.start)
    return list(first.values())


def _by_rows(lines: Sequence[range], source_map: SourceMap) -> list[range]:
    """Return the letters of the lines page by page, row by row, from left to right."""
    placed = [(place, letters) for place, letters in zip(source_map.places, lines, strict=True) if letters]
    pages = groupby(placed, key=lambda each: each[0].page)
    return [letters for _page, group in pages for letters in _rows_of(list(group))]


def _rows_of(lines: list[tuple[Place, range]]) -> list[range]:
    """Lines whose middles are as high are one row."""
    boxed = sorted((each for each in lines if each[0].bbox), key=lambda each: _middle(each[0]))
    rows: list[list[tuple[Place, range]]] = []
    for each in boxed:
        if rows and _middle(each[0]) - _middle(rows[-1][0][0]) <= _height(rows[-1][0][0]) / 2:
            rows[-1].append(each)
        else:
            rows.append([each])
    return [letters for row in rows for _place, letters in sorted(row, key=lambda each: each[0].bbox or ())]


def _middle(place: Place) -> float:
    return (place.bbox[1] + place.bbox[3]) / 2 if place.bbox else 0.0


def _height(place: Place) -> float:
    return place.bbox[3] - place.bbox[1] if place.bbox else 0.0
