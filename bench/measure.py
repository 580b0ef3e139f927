"""What a measurement is, and how it is printed."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """`ours` beside `limit`, both in `unit`; `limit` is what the machine does without us on the same data.

    `ratio` is always how many times the limit we take: 1.0 is as good as it gets, lower than 1 is better than it.
    """

    name: str
    size: str
    ours: float
    limit: float
    unit: str
    note: str = ""

    @property
    def ratio(self) -> float:
        is_rate = self.unit.endswith("/s")
        top, bottom = (self.limit, self.ours) if is_rate else (self.ours, self.limit)
        return top / bottom if bottom else 0.0


def timed(work: Callable[[], object]) -> float:
    """Return the seconds one call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def times(work: Callable[[int], object], count: int, *, warm_up: int = 3) -> list[float]:
    """Return the milliseconds of `count` calls, each given its number, after a warm-up that does not count."""
    for number in range(warm_up):
        work(number)
    return [timed(lambda number=number: work(number)) * 1000 for number in range(count)]


def p50(values: list[float]) -> float:
    return statistics.median(values)


def p95(values: list[float]) -> float:
    return sorted(values)[max(0, round(0.95 * len(values)) - 1)]


def show(measures: list[Measure], *, as_json: bool) -> str:
    """Return the measures as a table, or as JSON."""
    if as_json:
        return json.dumps([asdict(measure) | {"ratio": round(measure.ratio, 3)} for measure in measures], indent=1)
    rows = [("name", "size", "ours", "limit", "ratio", "unit", "")]
    rows += [(m.name, m.size, f"{m.ours:,.2f}", f"{m.limit:,.2f}", f"{m.ratio:.2f}", m.unit, m.note) for m in measures]
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True)) for row in rows
    )
