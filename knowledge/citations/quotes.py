"""Recognising a quoted passage again: in the same text, after an edit, or after the file moved.

White space and invisible characters do not count, because editors, page breaks and line wraps change them without
changing what is said. Everything else does.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from dataclasses import dataclass

#: Characters that carry no text: zero-width ones, soft hyphen, BOM.
_INVISIBLE = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_WITHOUT_INVISIBLE = dict.fromkeys(map(ord, _INVISIBLE))
_HAS_INVISIBLE = re.compile(f"[{''.join(_INVISIBLE)}]").search
_START_CHARS = 24


@dataclass(frozen=True, slots=True)
class QuoteAnchor:
    """A passage in short: its first significant characters, how many there are, and a digest of them all."""

    start: str
    length: int
    digest: str

    @classmethod
    def of(cls, quote: str) -> QuoteAnchor:
        """Return the anchor of `quote`. An empty quote gives length 0 and is never found."""
        core = significant(quote)
        return cls(start=core[:_START_CHARS], length=len(core), digest=_digest(core))


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` to `end` (exclusive) of the text that was searched."""

    start: int
    end: int


def significant(text: str) -> str:
    """Return `text` without white space and invisible characters."""
    core = "".join(text.split())
    return core.translate(_WITHOUT_INVISIBLE) if _HAS_INVISIBLE(core) else core


def leading_blank(text: str) -> int:
    """Return how many characters stand before the first significant one."""
    return next((i for i, char in enumerate(text) if not char.isspace() and char not in _INVISIBLE), 0)


class QuoteFinder:
    """Finds anchors in one text. Build it once per text: that is the expensive part."""

    def __init__(self, text: str) -> None:
        self._positions = array(
            "L", (i for i, char in enumerate(text) if not char.isspace() and char not in _INVISIBLE)
        )
        self._core = "".join([text[i] for i in self._positions])

    def find(self, anchor: QuoteAnchor) -> list[Span]:
        """Return every place where the anchored passage stands, in order."""
        spans: list[Span] = []
        at = self._core.find(anchor.start) if anchor.length else -1
        while at >= 0:
            if _digest(self._core[at : at + anchor.length]) == anchor.digest:
                last = at + anchor.length - 1
                spans.append(Span(self._positions[at], self._positions[last] + 1))
            at = self._core.find(anchor.start, at + 1)
        return spans


def _digest(core: str) -> str:
    return hashlib.blake2b(core.encode("utf-8", "surrogatepass"), digest_size=9).hexdigest()
