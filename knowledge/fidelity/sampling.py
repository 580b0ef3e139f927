"""Choosing sentences to look for, and changes to make to files; the same choice for the same seed."""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator

from knowledge.citations.quotes import significant
from knowledge.parsing.source_map import ResourceKind, SourceMap

_SHORTEST, _SHORTEST_WIDE, _LONGEST = 28, 12, 160
#: Signs that are drawn alike, and the bars between cells: who reads letters off their drawing takes the two-dotted
#: Arabic yeh and the initial kaf for their Persian twins.
_PLAIN = str.maketrans("“”„‘’‚–—‐−\u06cc\u06a9", "\"\"\"'''----\u064a\u0643", "|")
_SKIPPED_BLOCKS = frozenset({"heading", "front_matter"})


def sentences(source_map: SourceMap, split: Callable[[str, ResourceKind], list[str]]) -> Iterator[str]:
    """Yield the sentences of a file that say enough to be looked for; each within one block."""
    for block in source_map.blocks:
        if block.type not in _SKIPPED_BLOCKS:
            yield from (piece for piece in split(block.text, source_map.kind) if _says_enough(piece))


def choose(
    source_map: SourceMap, count: int, *, seed: str, split: Callable[[str, ResourceKind], list[str]]
) -> list[str]:
    """Return up to `count` different sentences of a file, cut by `split`."""
    found = list(dict.fromkeys(sentences(source_map, split)))
    chance = random.Random(seed)  # noqa: S311 the choice of samples is no secret
    return chance.sample(found, min(count, len(found)))


def holds(text: str, sentence: str, *, loosely: bool = False) -> bool:
    """Say whether `text` holds `sentence`, white space aside. `loosely`: nine in ten of its four-letter pieces, or all
    its letters in another order, because readers order the letters of right-to-left text and tables differently."""
    wanted, there = _bare(sentence), _bare(text)
    if wanted in there:
        return True
    if not loosely:
        return False
    pieces = [wanted[i : i + 4] for i in range(max(1, len(wanted) - 3))]
    missing = Counter(wanted) - Counter(there)
    return sum(piece in there for piece in pieces) >= 0.9 * len(pieces) or missing.total() <= 0.02 * len(wanted)


def _bare(text: str) -> str:
    """Drop white space, forms and quotation marks that only look different, and the bars that stand between cells."""
    return unicodedata.normalize("NFKC", significant(text)).translate(_PLAIN)


def _says_enough(piece: str) -> bool:
    """Leave out fragments, link targets and rulers: a reader would not look for them."""
    core = significant(piece)
    shortest = _SHORTEST_WIDE if any(char > "\u2e7f" for char in core) else _SHORTEST
    letters = sum(char.isalpha() for char in core)
    return shortest <= len(core) <= _LONGEST and letters >= 0.6 * len(core) and not set("<>[]{}") & set(core)
