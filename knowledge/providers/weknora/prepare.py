"""The text that is sent: our derived text without what the server would rewrite, and the way back.

The server downloads images, stores inline ones, and unwraps linked ones before it splits; each of these would move its
offsets. The prepared text has as many line breaks as ours and leaves it nothing to rewrite, so that what it splits is
what we sent, character for character.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

#: Names these rules in the metadata of a document. A change of any rule needs a new one.
RECIPE = "1"

# Every repeat has a bound or cannot be given back, so that no text makes these take more than a moment.
_BASE64 = r"[A-Za-z0-9+/=_%\s-]++"
_INLINE_IMAGES = re.compile(
    rf"""(?<=\()\s*+data:image/[^;()\s]{{1,100}};base64,{_BASE64}(?=\))"""
    rf"""|(?<=["'])\s*+data:image/[^;"'\s]{{1,100}};base64,{_BASE64}(?=["'])"""
    r"""|data:image/[^;\s]{1,100};base64,[A-Za-z0-9+/=]{100,}+"""
    r"""|base64,[A-Za-z0-9+/=]{200,}+""",
    re.IGNORECASE,
)
_IMAGES = re.compile(
    r"!\[(?:(?!!\[).){0,500}?\]\((?:\s{0,100}<?(https?:)//|[^()\s]{0,4000}(?:\([^)]{0,500}\)[^()\s]{0,500}){0,3}\))",
    re.IGNORECASE,
)
_HTML_IMAGES = re.compile(r"""<img\b(?:(?!<img\b)[^>]){0,1000}?\ssrc\s*+=\s*+["']\s*+(https?:)(?=//)""", re.IGNORECASE)
_LINKED_IMAGES = re.compile(r"\[(?=!\[)")
_CARRIAGE_RETURNS = re.compile(r"\r\n?")
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")
_MAX_NOTED = 60


@dataclass(frozen=True, slots=True)
class Edit:
    """`ours` characters of our text stand as `sent` characters at `at` of the sent text."""

    at: int
    sent: int
    ours: int


@dataclass(frozen=True, slots=True)
class Shifts:
    """Where places of the sent text stand in ours."""

    edits: tuple[Edit, ...]
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _gains: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        gains = [0]
        for edit in self.edits:
            gains.append(gains[-1] + edit.ours - edit.sent)
        object.__setattr__(self, "_starts", tuple(edit.at for edit in self.edits))
        object.__setattr__(self, "_gains", tuple(gains))

    def to_ours(self, start: int, end: int) -> tuple[int, int]:
        """Map a span of the sent text. One that begins or ends inside a rewritten place takes in all of that place."""
        return self._map(start, is_end=False), self._map(end, is_end=True)

    def note(self) -> str:
        """Write the edits down in short; "?" where they are too many to go along with every hit."""
        if len(self.edits) > _MAX_NOTED:
            return "?"
        return ",".join(f"{edit.at}:{edit.sent}:{edit.ours}" for edit in self.edits)

    @classmethod
    def read(cls, note: str | None) -> Shifts | None:
        """Read what `note` wrote; None where that is unknown."""
        if note is None:
            return None
        try:
            parts = [tuple(int(number) for number in part.split(":")) for part in note.split(",") if part]
            return cls(tuple(Edit(*part) for part in parts))
        except (TypeError, ValueError):
            return None

    def _map(self, at: int, *, is_end: bool) -> int:
        # An end belongs to what stands before it, so an edit that starts there does not count yet.
        n = bisect_right(self._starts, at - 1 if is_end else at)
        if n and at < (edit := self.edits[n - 1]).at + edit.sent:
            before = edit.at + self._gains[n - 1]
            return before + edit.ours if is_end else before
        return at + self._gains[n]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A text ready to be sent."""

    text: str
    shifts: Shifts


@lru_cache(maxsize=64)
def prepare(text: str) -> Prepared:
    """Return what is sent for a derived text."""
    parts: list[str] = []
    edits: list[Edit] = []
    done = length = 0
    for start, end, instead in _rewrites(text):
        if start < done:
            continue
        parts += (text[done:start], instead)
        length += start - done
        edits.append(Edit(at=length, sent=len(instead), ours=end - start))
        length += len(instead)
        done = end
    parts.append(text[done:])
    sent = _NOT_STORABLE.sub("\ufffd", "".join(parts))
    return Prepared(text=sent, shifts=Shifts(tuple(edits)))


def has_words(text: str) -> bool:
    """Say whether a text holds a letter or a digit. Without one the server indexes nothing, and fails to search."""
    return any(character.isalnum() for character in text)


def _rewrites(text: str) -> list[tuple[int, int, str]]:
    """Return start, end and replacement of each place to rewrite, in order; of overlapping ones the first wins."""
    found = [*_marks(text), *_inline_images(text), *_remote_images(text), *_linked_images(text)]
    return sorted(found, key=lambda place: place[0])


def _marks(text: str) -> Iterator[tuple[int, int, str]]:
    if text.startswith("\ufeff"):
        yield 0, 1, ""
    for found in _CARRIAGE_RETURNS.finditer(text) if "\r" in text else ():
        yield found.start(), found.end(), "\n"


def _inline_images(text: str) -> Iterator[tuple[int, int, str]]:
    for found in _INLINE_IMAGES.finditer(text) if "base64," in text.lower() else ():
        yield found.start(), found.end(), "data-image" + "\n" * found[0].count("\n")


def _remote_images(text: str) -> Iterator[tuple[int, int, str]]:
    for found in _IMAGES.finditer(text) if "![" in text else ():
        if found[1]:
            yield found.start(1), found.end(1), ""
    for found in _HTML_IMAGES.finditer(text):
        yield found.start(1), found.end(1), ""


def _linked_images(text: str) -> Iterator[tuple[int, int, str]]:
    for found in _LINKED_IMAGES.finditer(text) if "[![" in text else ():
        yield found.start(), found.end(), "[ "
