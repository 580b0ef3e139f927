"""Letters and digits of a text, and where each stands: what stays of a text whoever has converted it."""

from __future__ import annotations

import unicodedata
from array import array
from bisect import bisect_left
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Skeleton:
    """`letters` in one case and without accents; `origins[n]` is the offset of letter n in the text."""

    letters: str
    origins: array[int] = field(repr=False)

    @classmethod
    def of(cls, text: str) -> Skeleton:
        folded: dict[str, str] = {}
        letters: list[str] = []
        origins = array("L")
        for offset, character in enumerate(text):
            kept = folded.get(character)
            if kept is None:
                kept = folded[character] = _letters_of(character)
            if kept:
                letters.append(kept)
                origins.extend([offset] * len(kept))
        return cls("".join(letters), origins)

    def range_of(self, start: int, end: int) -> tuple[int, int]:
        """Return which letters stand between two offsets of the text."""
        return bisect_left(self.origins, start), bisect_left(self.origins, end)

    def span_of(self, first: int, last: int) -> tuple[int, int]:
        """Return the characters of the text from letter `first` to letter `last`, both included."""
        return self.origins[first], self.origins[last] + 1


def _letters_of(character: str) -> str:
    plain = unicodedata.normalize("NFKD", character).casefold()
    return "".join(each for each in unicodedata.normalize("NFKD", plain) if each.isalnum())
