"""The longest common subsequence of two short texts, with the pairs that make it."""

from __future__ import annotations

from collections import defaultdict

#: Rows times columns, in bits: what one call may keep in memory (12 MB).
MOST_CELLS = 100_000_000


def common_pairs(left: str, right: str) -> list[tuple[int, int]]:
    """Return (index in left, index in right) of a longest common subsequence, ascending. Bits of one number stand for
    all characters of `left` (Hyyrö 2004), so a row costs about as much as a few additions."""
    masks: dict[str, int] = defaultdict(int)
    for at, character in enumerate(left):
        masks[character] |= 1 << at
    full = (1 << len(left)) - 1
    rows: list[int] = []
    row = full
    for character in right:
        both = row & masks.get(character, 0)
        row = ((row + both) | (row - both)) & full
        rows.append(row)
    return _walk_back(rows, len(left), len(right))


def _walk_back(rows: list[int], column: int, line: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    while line and column:
        if rows[line - 1] >> (column - 1) & 1:
            column -= 1
            continue
        line -= 1
        if not line or rows[line - 1] >> (column - 1) & 1:
            column -= 1
            pairs.append((column, line))
    return pairs[::-1]
