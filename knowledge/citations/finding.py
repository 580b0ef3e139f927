"""Finding what somebody typed in a text: letters match in either case and with or without accents."""

from __future__ import annotations

import unicodedata

from knowledge.citations.quotes import Span


def fold(text: str) -> str:
    """Bring a text to the form in which it is compared. Its length may change."""
    return text.casefold() if text.isascii() else "".join(map(_folded, text))


def find_all(text: str, wanted: str, *, limit: int) -> list[Span]:
    """Return where `wanted` stands in `text`, in order and without overlaps, at most `limit` places."""
    needle = fold(wanted.strip())
    if not needle:
        return []
    hay, starts = _folded_with_starts(text)
    spans: list[Span] = []
    at = hay.find(needle)
    while at >= 0 and len(spans) < limit:
        end = at + len(needle)
        spans.append(Span(starts[at], starts[end - 1] + 1) if starts else Span(at, end))
        at = hay.find(needle, end)
    return spans


def _folded_with_starts(text: str) -> tuple[str, list[int]]:
    """Return the folded text, and of each of its characters the offset in `text`; no list where they are the same."""
    if text.isascii():
        return text.lower(), []
    parts: list[str] = []
    starts: list[int] = []
    for offset, character in enumerate(text):
        folded = _folded(character)
        parts.append(folded)
        starts.extend([offset] * len(folded))
    return "".join(parts), starts


def _folded(character: str) -> str:
    """Fold one character: a letter with an accent becomes the letter, a lone accent disappears."""
    if character.isascii():
        return character.lower()
    if "\u4e00" <= character <= "\u9fff":
        return character
    letters = unicodedata.normalize("NFKD", character)
    return "".join(each for each in letters if not unicodedata.combining(each)).casefold()
