"""Which words of a passage a query matched, and the passage with them marked.

The search itself says what a word is: what is marked is what counted, whatever its case, accents or script.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from knowledge.providers.local.tokens import placed_tokens, query_terms

#: Room before the first marked word of an excerpt.
_LEAD = 60


@dataclass(frozen=True, slots=True)
class Match:
    """Characters `start` to `end` (exclusive) of a passage that matched, and the terms of the query they stand for."""

    start: int
    end: int
    terms: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Characters `start` to `end` of a passage; the cut sides are to be shown as such."""

    start: int
    end: int
    is_cut_before: bool
    is_cut_after: bool

    @property
    def is_cut(self) -> bool:
        return self.is_cut_before or self.is_cut_after


def matches(text: str, query: str) -> list[Match]:
    """Return what matched in `text`, in order; touching and overlapping places are one."""
    terms = query_terms(query)
    whole = {term.text for term in terms if not term.prefix}
    prefixes = tuple(term.text for term in terms if term.prefix)
    found: list[Match] = []
    for token, start, end in placed_tokens(text):
        if token in whole:
            found.append(Match(start, end, frozenset({token})))
        elif prefixes and token.startswith(prefixes):
            # Only a single character of an unspaced script is looked for as a beginning.
            found.append(Match(start, start + 1, frozenset(each for each in prefixes if token.startswith(each))))
    return _merged(found)


def missing_words(query: str, found: Sequence[Match]) -> list[str]:
    """Return the words of the query, as they were written, that nothing in the passage matched."""
    present = frozenset[str]().union(*(match.terms for match in found))
    wanted = {term.text for term in query_terms(query)}
    lost: set[int] = set()
    seen: set[int] = set()
    for token, start, end in placed_tokens(query):
        if token in wanted:
            (seen if token in present else lost).update(range(start, end))
    pieces = "".join(character if at in lost - seen else " " for at, character in enumerate(query))
    return list(dict.fromkeys(pieces.split()))


def excerpt_of(text: str, found: Sequence[Match], *, chars: int, lines: int = 8) -> Excerpt:
    """Choose the part of a passage, at most about `chars` long and of so many lines, that says most of the query."""
    if len(text) <= chars and len(text.splitlines()) <= lines:
        return Excerpt(start=0, end=len(text), is_cut_before=False, is_cut_after=False)
    wanted = min(_densest(found, chars) - _LEAD, max(0, len(text) - chars))
    start = _word_start(text, wanted) if wanted > _LEAD else 0
    end = _line_end(text, start, _word_end(text, min(len(text), start + chars)), lines)
    return Excerpt(start=start, end=end, is_cut_before=start > 0, is_cut_after=end < len(text))


def marked(text: str, found: Sequence[Match], part: Excerpt | None = None) -> SafeString:
    """Return a passage, or a part of it, as HTML with the matches in `<mark>`. Every piece of it is escaped."""
    at, end = (part.start, part.end) if part else (0, len(text))
    pieces: list[str] = []
    for match in found:
        if match.start < at or match.end > end:
            continue
        pieces += [escape(text[at : match.start]), "<mark>", escape(text[match.start : match.end]), "</mark>"]
        at = match.end
    return mark_safe("".join([*pieces, escape(text[at:end])]))  # noqa: S308 escaped piece by piece


def _merged(found: list[Match]) -> list[Match]:
    merged: list[Match] = []
    for match in sorted(found, key=lambda each: (each.start, each.end)):
        last = merged[-1] if merged else None
        if last and match.start <= last.end:
            merged[-1] = Match(last.start, max(last.end, match.end), last.terms | match.terms)
        else:
            merged.append(match)
    return merged


def _densest(found: Sequence[Match], chars: int) -> int:
    """Return where the window that holds most different terms begins; the earliest of equal ones."""
    best, best_count = 0, 0
    for number, first in enumerate(found):
        terms: frozenset[str] = frozenset()
        for match in found[number:]:
            if match.end > first.start + chars - _LEAD:
                break
            terms |= match.terms
        if len(terms) > best_count:
            best, best_count = first.start, len(terms)
    return best


def _line_end(text: str, start: int, end: int, lines: int) -> int:
    """Cut after so many lines that hold something."""
    at = start
    for line in text[start:end].splitlines(keepends=True):
        lines -= bool(line.strip())
        if lines < 0:
            return at
        at += len(line)
    return end


def _word_start(text: str, at: int) -> int:
    """Move forward to the beginning of a word, not far."""
    for offset in range(at, min(at + _LEAD, len(text))):
        if offset == 0 or text[offset - 1].isspace():
            return offset
    return at


def _word_end(text: str, at: int) -> int:
    """Move back to the end of a word, not far."""
    for offset in range(at, max(at - _LEAD, 0), -1):
        if offset == len(text) or text[offset].isspace():
            return offset
    return at
