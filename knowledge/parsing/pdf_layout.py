"""Reading order of one page: runs of text with boxes in, visual lines in the order a person reads them out.

Runs come sorted by height on the page, which mixes columns. Columns are found as strips of white that stay free over
several rows with prose on both sides; tables have such strips too, but no prose, and are read row by row. Where the
cells of a table are long enough for prose, it is told by the further strips inside the sides.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from knowledge.parsing.source_map import BBox

_MIN_GUTTER = 5.0
_MIN_ROWS = 4
_MIN_MEAN_WIDTH = 15
_MIN_FILL = 0.5
#: Share of rows that a strip between cells has, and the mean width from which text is no cell.
_CELL_ROWS, _MAX_CELL_WIDTH = 0.9, 30
#: Gap, as a share of the height of the text, from which two runs are two words.
_WORD_GAP = 0.12
_RTL = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_LTR = re.compile(r"[A-Za-z\u0400-\u04ff\u3040-\u9fff]")
_WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A piece of text on a page.

    `bbox` is where it is shown, in points, origin top-left; `upright` is its box with the page turned so that the text
    stands upright. Reading order works on the second.
    """

    text: str
    bbox: BBox
    upright: BBox

    @property
    def height(self) -> float:
        return self.upright[3] - self.upright[1]

    @property
    def middle(self) -> float:
        return (self.upright[1] + self.upright[3]) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class VisualLine:
    """Runs on one line, in reading order, and the text between each run and the one before it."""

    runs: tuple[Run, ...]
    gaps: tuple[str, ...]

    @property
    def text(self) -> str:
        return "".join(gap + run.text for gap, run in zip(self.gaps, self.runs, strict=True))

    @property
    def bbox(self) -> BBox:
        return around([run.bbox for run in self.runs])


def read_lines(runs: Sequence[Run]) -> list[VisualLine]:
    """Return the lines of a page in reading order."""
    return [_line(row) for row in _ordered(_rows(runs))]


def around(boxes: Sequence[BBox]) -> BBox:
    """Return the smallest box that holds all boxes."""
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)


def _rows(runs: Sequence[Run]) -> list[list[Run]]:
    """Group runs that stand on one line; a superscript belongs to the line whose height it stands in."""
    rows: list[list[Run]] = []
    bands: list[tuple[float, float]] = []
    for run in sorted(runs, key=lambda run: (run.middle, run.upright[0], run.upright[1], run.text)):
        top, bottom = bands[-1] if bands else (0.0, 0.0)
        if rows and (top <= run.middle <= bottom or run.upright[1] <= (top + bottom) / 2 <= run.upright[3]):
            rows[-1].append(run)
            if run.height > bottom - top:
                bands[-1] = (run.upright[1], run.upright[3])
            continue
        rows.append([run])
        bands.append((run.upright[1], run.upright[3]))
    return rows


def _ordered(rows: Sequence[list[Run]]) -> Iterator[list[Run]]:
    found = _columns(rows)
    if found is None:
        yield from rows
        return
    yield from _ordered(rows[: found.start])
    yield from _in_columns(rows[found.start : found.end], found)
    yield from _ordered(rows[found.end :])


def _in_columns(rows: Sequence[list[Run]], found: _Columns) -> Iterator[list[Run]]:
    if _is_table(rows, found):
        yield from rows
        return
    left, right = (_rows(side) for side in _sides(rows, found.gutter))
    text = " ".join(run.text for row in rows for run in row)
    for side in (right, left) if _is_rtl(text) else (left, right):
        yield from _ordered(side)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """Rows `start` up to `end` (exclusive) have prose on both sides of the x `gutter`; `shared` of them on both."""

    start: int
    end: int
    gutter: float
    shared: int


def _columns(rows: Sequence[list[Run]]) -> _Columns | None:
    """Return the longest stretch of rows that is set in columns."""
    stretches = [stretch for gutter in _gutters(rows) for stretch in _stretches(rows, gutter)]
    stretches.sort(key=lambda stretch: (-stretch.shared, stretch.gutter, stretch.start))
    for stretch in stretches:
        if all(_is_prose(_rows(side)) for side in _sides(rows[stretch.start : stretch.end], stretch.gutter)):
            return stretch
    return None


def _gutters(rows: Sequence[Sequence[Run]]) -> list[float]:
    """Return the middles of the white strips between runs that several rows have, on a grid of the least width."""
    seen: Counter[float] = Counter()
    for row in rows:
        seen.update({round((left + right) / 2 / _MIN_GUTTER) * _MIN_GUTTER for left, right in _white(row)})
    near = {middle: sum(seen[middle + step * _MIN_GUTTER] for step in (-2, -1, 0, 1, 2)) for middle in seen}
    return sorted(middle for middle, count in near.items() if count >= _MIN_ROWS // 2)


def _white(row: Sequence[Run]) -> Iterator[tuple[float, float]]:
    spans = sorted((run.upright[0], run.upright[2]) for run in row)
    reached = spans[0][1]
    for left, right in spans[1:]:
        if left - reached >= _MIN_GUTTER:
            yield reached, left
        reached = max(reached, right)


def _stretches(rows: Sequence[Sequence[Run]], gutter: float) -> Iterator[_Columns]:
    """Yield the runs of rows that no text crosses at the gutter."""
    half = _MIN_GUTTER / 2
    start = shared = 0
    for index, row in enumerate([*rows, None]):
        if row is None or any(run.upright[0] < gutter + half and run.upright[2] > gutter - half for run in row):
            if index - start >= _MIN_ROWS and shared:
                yield _Columns(start=start, end=index, gutter=gutter, shared=shared)
            start, shared = index + 1, 0
        elif min(run.upright[2] for run in row) < gutter < max(run.upright[0] for run in row):
            shared += 1


def _sides(rows: Sequence[Sequence[Run]], gutter: float) -> tuple[list[Run], list[Run]]:
    runs = [run for row in rows for run in row]
    return [run for run in runs if run.upright[0] < gutter], [run for run in runs if run.upright[0] >= gutter]


def _is_prose(rows: Sequence[Sequence[Run]]) -> bool:
    if len(rows) < _MIN_ROWS:
        return False
    boxes = [around([run.upright for run in row]) for row in rows]
    width = max(box[2] for box in boxes) - min(box[0] for box in boxes)
    mean = sum(_width(run.text) for row in rows for run in row) / len(rows)
    return mean >= _MIN_MEAN_WIDTH and median(box[2] - box[0] for box in boxes) >= _MIN_FILL * width


def _is_table(rows: Sequence[Sequence[Run]], found: _Columns) -> bool:
    """Say whether rows with text on both sides of a gutter are cells: nearly every row has both, and they fall into
    columns that are all short, some too short for prose, and that do not begin anew halfway as those of a list that is
    set in two columns."""
    if found.shared < _CELL_ROWS * len(rows):
        return False
    widths = _cell_widths(rows)
    narrow = [width < _MIN_MEAN_WIDTH for width in widths]
    half = len(narrow) // 2
    return max(widths) < _MAX_CELL_WIDTH and any(narrow) and narrow != narrow[:half] * 2


def _cell_widths(rows: Sequence[Sequence[Run]]) -> list[float]:
    """Return the mean width of the text in each of the columns that nearly all rows fall into."""
    gutters = [gutter for gutter in _gutters(rows) if _share(rows, gutter) >= _CELL_ROWS]
    widths: Counter[int] = Counter()
    for row in rows:
        for run in row:
            widths[bisect_right(gutters, run.upright[0])] += _width(run.text)
    return [widths[column] / len(rows) for column in sorted(widths)]


def _share(rows: Sequence[Sequence[Run]], gutter: float) -> float:
    """Return the share of rows that have white at a gutter between text on both sides of it."""
    half = _MIN_GUTTER / 2
    white = [any(left <= gutter - half and gutter + half <= right for left, right in _white(row)) for row in rows]
    return sum(white) / len(rows)


def _width(text: str) -> int:
    return len(text) + len(_WIDE.findall(text))


def _is_rtl(text: str) -> bool:
    return len(_RTL.findall(text)) > len(_LTR.findall(text))


def _line(row: Sequence[Run]) -> VisualLine:
    runs = sorted(_drawn_once(row), key=lambda run: run.upright[0])
    rtl = _is_rtl("".join(run.text for run in runs))
    if rtl:
        runs.reverse()
    gaps = ["", *(_gap(before, after, rtl=rtl) for before, after in pairwise(runs))]
    return VisualLine(runs=tuple(runs), gaps=tuple(gaps))


def _drawn_once(row: Sequence[Run]) -> list[Run]:
    """Leave out runs that another one on the line says again at the same place: shadows, and faulty character maps."""
    kept: list[Run] = []
    for run in sorted(row, key=lambda run: -len(run.text)):
        if not any(run.text in other.text and _covered(run, other) for other in kept):
            kept.append(run)
    return kept


def _covered(run: Run, other: Run) -> bool:
    """Say whether more than half of the width of `run` lies on `other`."""
    shared = min(run.upright[2], other.upright[2]) - max(run.upright[0], other.upright[0])
    return shared > 0.5 * (run.upright[2] - run.upright[0])


def _gap(before: Run, after: Run, *, rtl: bool) -> str:
    distance = before.upright[0] - after.upright[2] if rtl else after.upright[0] - before.upright[2]
    return " " if distance > _WORD_GAP * min(before.height, after.height) else ""
