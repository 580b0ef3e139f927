"""Which letter of a converted text is which letter of ours: unique passages first, then what lies between them."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from knowledge.mapping.subsequence import MOST_CELLS, common_pairs

#: Lengths of passages that count when they stand once on both sides: anywhere, and between two neighbours.
_FAR, _NEAR = (32, 20), (12, 8)
#: How far from where its neighbours went something is looked for: about a full page of print.
_REACH = 8_000
#: Texts longer than this are looked at through a sample of their passages.
_SAMPLED = 200_000
#: Fewer letters than this at the end of a passage may be chance.
_CHANCE = 16
#: Shorter runs of equal letters between neighbours are chance.
_SHORTEST, _LONG, _HALF = 3, 12, 0.6
#: A gap of which so much is explained leaves no other reading.
_EXPLAINED = 0.95

NOWHERE = -1


@dataclass(slots=True)
class Alignment:
    """`to[n]` is the letter of `ours` that letter n of `theirs` is, or NOWHERE. `sure[n]`: found by a passage that
    stands once on both sides, or in a gap that leaves no other reading."""

    theirs: str
    ours: str
    to: array[int] = field(init=False)
    sure: bytearray = field(init=False)
    used: bytearray = field(init=False)

    def __post_init__(self) -> None:
        self.to = array("l", [NOWHERE]) * len(self.theirs)
        self.sure = bytearray(len(self.theirs))
        self.used = bytearray(len(self.ours))

    @property
    def coverage(self) -> float:
        """How much of the converted text was found in ours."""
        return sum(each != NOWHERE for each in self.to) / len(self.to) if self.to else 0.0

    def take(self, theirs: int, ours: int, *, sure: bool) -> None:
        self.to[theirs], self.used[ours], self.sure[theirs] = ours, 1, sure

    def take_all(self, theirs: int, ours: int, length: int) -> None:
        """Take a passage that is equal on both sides, as far as it is free. What the passage before it has taken is
        not looked at again."""
        for step in range(length - 1, -1, -1):
            if self.to[theirs + step] == ours + step:
                return
            if self.is_free(theirs + step, ours + step):
                self.take(theirs + step, ours + step, sure=True)

    def release(self, theirs: int) -> None:
        self.used[self.to[theirs]] = 0
        self.to[theirs], self.sure[theirs] = NOWHERE, 0

    def is_free(self, theirs: int, ours: int) -> bool:
        return self.to[theirs] == NOWHERE and not self.used[ours]


def align(theirs: str, ours: str, *, lines: Sequence[int] = (), pages: Sequence[int] = ()) -> Alignment:
    """Align two skeletons. Long passages may have moved, short ones within their pages, where there are any; what
    stands several times is told apart by order alone. `lines` and `pages` are the letters of ours at which one begins,
    ascending."""
    found = Alignment(theirs, ours)
    for length in _FAR:
        _match_unique(found, length)
    _release_chance(found, lines)
    for length in _NEAR:
        for gap in list(_gaps(found, pages, shortest=length)):
            _match_unique_within(found, gap, length)
    # Not before all are found: a few letters of chance could take away what another needs.
    _grow(found)
    _release_chance(found, lines)
    for gap in list(_gaps(found)):
        _match_in_order(found, gap)
    return found


@dataclass(frozen=True, slots=True)
class _Gap:
    """Letters of theirs without a place, and the free letters of ours where they would be."""

    theirs: range
    ours: list[int]


def _match_unique(found: Alignment, length: int) -> None:
    """Take the passages of this length that stand once on both sides."""
    sampled = max(len(found.theirs), len(found.ours)) > _SAMPLED
    theirs = _unique(found.theirs, _free_runs(found.to, NOWHERE), length, sampled=sampled)
    ours = _unique(found.ours, _free_runs(found.used, 0), length, sampled=sampled)
    for passage, at in theirs.items():
        there = ours.get(passage, NOWHERE)
        if NOWHERE not in (at, there):
            found.take_all(at, there, length)


def _unique(text: str, runs: Iterator[tuple[int, int]], length: int, *, sampled: bool) -> dict[str, int]:
    """Return the passages within runs and where they stand; NOWHERE for those that stand several times."""
    places: dict[str, int] = {}
    for start, end in runs:
        for at in range(start, end - length + 1):
            if sampled and hash(text[at : at + 6]) & 7:
                continue
            passage = text[at : at + length]
            places[passage] = NOWHERE if passage in places else at
    return places


def _free_runs(taken: array[int] | bytearray, free: int) -> Iterator[tuple[int, int]]:
    start = None
    for at, value in enumerate(taken):
        if value == free:
            start = at if start is None else start
        elif start is not None:
            yield start, at
            start = None
    if start is not None:
        yield start, len(taken)


def _grow(found: Alignment) -> None:
    """Take what is equal right after and right before what has a place."""
    for step, order in ((1, range(len(found.theirs) - 1)), (-1, range(len(found.theirs) - 1, 0, -1))):
        for at in order:
            there = found.to[at] + step
            if found.to[at] == NOWHERE or not 0 <= there < len(found.ours):
                continue
            if found.theirs[at + step] == found.ours[there] and found.is_free(at + step, there):
                found.take(at + step, there, sure=True)


def _release_chance(found: Alignment, lines: Sequence[int]) -> None:
    """Give back the few letters at the end of a passage that reach into a line without going on there: what moves,
    moves in whole lines, and the same few letters stand somewhere else."""
    for start, end in list(_blocks(found)):
        first, last = found.to[start], found.to[end - 1]
        line = _line(lines, first, len(found.ours))
        rest = min(line[1] - first, end - start)
        if first > line[0] and rest < _CHANCE and 2 * rest < line[1] - line[0]:
            for at in range(start, start + rest):
                found.release(at)
        line = _line(lines, last, len(found.ours))
        rest = min(last + 1 - line[0], end - start)
        if last + 1 < line[1] and rest < _CHANCE and 2 * rest < line[1] - line[0]:
            for at in range(end - rest, end):
                if found.to[at] != NOWHERE:
                    found.release(at)


def _blocks(found: Alignment) -> Iterator[tuple[int, int]]:
    """Yield the runs of theirs that are runs of ours, both ends of each jumping elsewhere."""
    start = 0
    for at in range(1, len(found.to) + 1):
        if at == len(found.to) or found.to[at] != found.to[at - 1] + 1 or found.to[at - 1] == NOWHERE:
            if found.to[start] != NOWHERE:
                yield start, at
            start = at


def _line(lines: Sequence[int], letter: int, length: int) -> tuple[int, int]:
    """Return where the line of a letter begins and ends."""
    at = bisect_right(lines, letter)
    return (lines[at - 1] if at else 0), (lines[at] if at < len(lines) else length)


def _gaps(found: Alignment, pages: Sequence[int] = (), *, shortest: int = _SHORTEST) -> Iterator[_Gap]:
    """Each run of theirs without a place, with the free letters of ours that follow the place of what stands before it
    and precede that of what stands after it, where those two stand in order; else with all near to either. With `pages`
    with all near to either on their pages and those between. Runs below `shortest` are left alone."""
    for start, end in _free_runs(found.to, NOWHERE):
        if end - start < shortest:
            continue
        before = found.to[start - 1] if start else NOWHERE
        after = found.to[end] if end < len(found.to) else len(found.ours)
        reach = max(_REACH, 2 * (end - start))
        if before < after and not pages:
            first, last = before + 1, after
            if last - first > 2 * reach:
                spans = [range(first, first + reach), range(last - reach, last)]
            else:
                spans = [range(first, last)]
        else:
            near = (before, after)
            first, last = _pages_of(pages, near, len(found.ours))
            spans = [range(max(first, at - reach), min(last, at + reach)) for at in near]
        ours = sorted({at for span in spans for at in _free(found.used, span)})
        if ours:
            yield _Gap(range(start, end), ours)


def _free(used: bytearray, span: range) -> Iterator[int]:
    at = used.find(0, span.start, span.stop)
    while at >= 0:
        yield at
        at = used.find(0, at + 1, span.stop)


def _pages_of(pages: Sequence[int], near: tuple[int, int], length: int) -> tuple[int, int]:
    """Return from where to where the pages of two letters go, and those between; everything where there are none."""
    if not pages:
        return 0, length
    known = [at for at in near if 0 <= at < length] or [0, length - 1]
    return _line(pages, min(known), length)[0], _line(pages, max(known), length)[1]


def _match_unique_within(found: Alignment, gap: _Gap, length: int) -> None:
    ours = "".join([found.ours[at] for at in gap.ours])
    theirs = found.theirs[gap.theirs.start : gap.theirs.stop]
    here = _unique(theirs, iter([(0, len(theirs))]), length, sampled=False)
    there = _unique(ours, iter([(0, len(ours))]), length, sampled=False)
    for passage, at in here.items():
        place = there.get(passage, NOWHERE)
        if NOWHERE not in (at, place) and gap.ours[place + length - 1] - gap.ours[place] == length - 1:
            found.take_all(gap.theirs.start + at, gap.ours[place], length)


def _match_in_order(found: Alignment, gap: _Gap) -> None:
    """Of what stands several times the n-th is the n-th."""
    if len(gap.theirs) * len(gap.ours) > MOST_CELLS:
        return
    theirs = found.theirs[gap.theirs.start : gap.theirs.stop]
    ours = "".join([found.ours[at] for at in gap.ours])
    runs = [run for run in _runs(common_pairs(theirs, ours)) if len(run) >= _SHORTEST]
    explained = sum(map(len, runs)) / len(theirs)
    if explained < _HALF:  # what little is equal is chance, unless it is long
        runs = [run for run in runs if len(run) >= _LONG]
    for run in runs:
        for here, there in run:
            if found.is_free(gap.theirs.start + here, gap.ours[there]):
                found.take(gap.theirs.start + here, gap.ours[there], sure=explained >= _EXPLAINED)


def _runs(pairs: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    run: list[tuple[int, int]] = []
    for here, there in pairs:
        if run and (here != run[-1][0] + 1 or there != run[-1][1] + 1):
            yield run
            run = []
        run.append((here, there))
    if run:
        yield run
