"""Between character offsets and line numbers of a derived text."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache


@lru_cache(maxsize=64)
def lines_of(text: str) -> LineIndex:
    """Return the line index of a text that is looked at again and again."""
    return LineIndex(text)


class LineIndex:
    """Line starts of one text. Lines are 1-based; offsets count characters."""

    def __init__(self, text: str) -> None:
        self._starts = [0]
        at = text.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = text.find("\n", at + 1)
        self._length = len(text)

    @property
    def count(self) -> int:
        return len(self._starts)

    def line_at(self, offset: int) -> int:
        """Return the line that holds character `offset`."""
        return bisect_right(self._starts, offset)

    def range_of(self, start: int, end: int) -> tuple[int, int]:
        """Return the first and last line touched by characters `start` to `end` (exclusive)."""
        return self.line_at(start), self.line_at(max(start, end - 1))

    def span_of(self, first: int, last: int) -> tuple[int, int]:
        """Return the characters of lines `first` to `last`, without the last line's line feed."""
        start = self._starts[first - 1]
        end = self._starts[last] - 1 if last < len(self._starts) else self._length
        return start, end
