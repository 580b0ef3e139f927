"""Choosing sentences to look for, and changes to make to files; the same choice for the same seed."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from knowledge.citations.quotes import significant
from knowledge.parsing.source_map import SourceMap

_SENTENCE_END = re.compile(r"(?<=[。！？!?；])|(?<=[.])(?=\s)")
_SHORTEST, _LONGEST = 16, 160
_SKIPPED_BLOCKS = frozenset({"heading", "front_matter"})


def sentences(source_map: SourceMap) -> Iterator[str]:
    """Yield the sentences of a file that say enough to be looked for; within one block each."""
    for block in source_map.blocks:
        if block.type in _SKIPPED_BLOCKS:
            continue
        for line in block.text.split("\n"):
            for piece in _SENTENCE_END.split(line):
                if _SHORTEST <= len(significant(piece)) <= _LONGEST and _has_words(piece):
                    yield piece.strip()


def choose(source_map: SourceMap, count: int, *, seed: str) -> list[str]:
    """Return up to `count` different sentences of a file."""
    found = list(dict.fromkeys(sentences(source_map)))
    chance = random.Random(seed)  # noqa: S311 the choice of samples is no secret
    return chance.sample(found, min(count, len(found)))


def holds(text: str, sentence: str, *, loosely: bool = False) -> bool:
    """Say whether `text` holds `sentence`, white space aside. `loosely`: nine in ten of its four-letter pieces, for
    readers that order or spell the letters of a page otherwise than we do."""
    wanted, there = _bare(sentence), _bare(text)
    if wanted in there:
        return True
    pieces = [wanted[i : i + 4] for i in range(max(1, len(wanted) - 3))]
    return loosely and sum(piece in there for piece in pieces) >= 0.9 * len(pieces)


def _bare(text: str) -> str:
    """Drop white space, and the bars that stand between cells in a derived text but not in a file."""
    return significant(text).replace("|", "")


def _has_words(piece: str) -> bool:
    letters = sum(char.isalpha() for char in piece)
    return letters >= 0.6 * len(significant(piece))
