"""How much of a long document one page shows: a run of lines, rows, slides or pages around the place asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which part is asked for: from unit `start` on, or up to unit `end`, or around unit `focus`, or the beginning."""

    start: int | None = None
    end: int | None = None
    focus: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Units `first` to `last` (1-based, inclusive) of `total`; `unit` is line, row, slide, page or passage."""

    first: int
    last: int
    total: int
    unit: str

    @property
    def has_before(self) -> bool:
        return self.first > 1

    @property
    def has_after(self) -> bool:
        return self.last < self.total

    @property
    def is_whole(self) -> bool:
        return not self.has_before and not self.has_after

    @property
    def before(self) -> int:
        return self.first - 1

    @property
    def after(self) -> int:
        return self.last + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How large a window may be: `size` units that together cost at most `cost`, where `cost_of` prices one unit."""

    size: int
    cost: int = 0
    cost_of: Callable[[int], int] = lambda _: 0


def window_of(total: int, unit: str, bounds: Bounds, wanted: Wanted) -> Window:
    """Return the window to show. It holds at least one unit, and always the one that was asked for."""
    if wanted.end is not None:
        last = _within(wanted.end, total)
        first = _backward(last, bounds, share=1)
        return Window(first=first, last=last, total=total, unit=unit)
    first = _within(wanted.start or wanted.focus or 1, total)
    if wanted.start is None and wanted.focus is not None:
        first = _backward(first, bounds, share=4)
    return Window(first=first, last=_forward(first, total, bounds), total=total, unit=unit)


def _within(unit: int, total: int) -> int:
    return max(1, min(unit, total))


def _backward(last: int, bounds: Bounds, *, share: int) -> int:
    """Return the first unit of a run that ends at `last` and takes one `share`-th of a window."""
    first, cost = last, bounds.cost_of(last)
    while first > 1 and last - first + 1 < bounds.size // share:
        cost += bounds.cost_of(first - 1)
        if cost > bounds.cost // share:
            break
        first -= 1
    return first


def _forward(first: int, total: int, bounds: Bounds) -> int:
    last, cost = first, bounds.cost_of(first)
    while last < total and last - first + 1 < bounds.size:
        cost += bounds.cost_of(last + 1)
        if cost > bounds.cost:
            break
        last += 1
    return last
