"""The user's include and exclude patterns: `*.pdf`, `reports/**`. Never a regular expression, always linear time.

`*` stands for any characters within one name, `?` for one, `**` as a whole component for any folders, also none.
Everything else, `[` and `\\` too, is itself. Letters match in either case and in either Unicode normalisation.
A pattern without `/` is for a name at any depth, a pattern with one starts at the source's folder. A pattern that
matches a folder covers all below it; with a `/` at its end it matches folders only.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

MAX_PATTERNS = 200
MAX_PATTERN_CHARS = 500

T = TypeVar("T")
P = TypeVar("P")


class GlobErrorCode(StrEnum):
    """Why a pattern is refused."""

    EMPTY = "empty"
    TOO_LONG = "too_long"
    TOO_MANY = "too_many"
    NOT_A_PATH = "not_a_path"


class GlobError(ValueError):
    """A pattern that cannot be used."""

    def __init__(self, code: GlobErrorCode, pattern: str = "") -> None:
        super().__init__(f"{code}: {pattern!r}")
        self.code = code
        self.pattern = pattern


@dataclass(frozen=True, slots=True)
class Glob:
    """One parsed pattern. `parts` are folded components; `**` stands for any folders."""

    parts: tuple[str, ...]
    is_anchored: bool
    folders_only: bool

    def matches(self, names: Sequence[str], *, is_folder: bool) -> bool:
        """Say whether the path of these folded names (see `fold`) is matched itself; not by a folder above it."""
        if self.folders_only and not is_folder:
            return False
        if not self.is_anchored:
            return bool(names) and _matches_name(self.parts[0], names[-1])
        parts = self.parts
        if parts[-1] == "**" and not is_folder:
            parts = (*parts[:-1], "*", "**")  # `reports/**` is what lies in the folder, not a file called reports
        return _matches_stars(parts, names, is_star=_is_any_folders, fits=_matches_name)


def parse_globs(patterns: Iterable[str]) -> tuple[Glob, ...]:
    """Parse the user's patterns; blank lines do not count.

    Raises:
        GlobError: too many, too long, or holding `.`, `..`, NUL or an empty component.
    """
    wanted = [pattern.strip() for pattern in patterns if pattern.strip()]
    if len(wanted) > MAX_PATTERNS:
        raise GlobError(GlobErrorCode.TOO_MANY)
    return tuple(_parse(pattern) for pattern in wanted)


def fold(name: str) -> str:
    """Bring a name or pattern to the form in which they are compared."""
    return name.casefold() if name.isascii() else unicodedata.normalize("NFC", name).casefold()


def _parse(pattern: str) -> Glob:
    if len(pattern) > MAX_PATTERN_CHARS:
        raise GlobError(GlobErrorCode.TOO_LONG, pattern[:80])
    body = pattern.removeprefix("/").removesuffix("/")
    if not body:
        raise GlobError(GlobErrorCode.EMPTY, pattern)
    parts = tuple(fold(part) for part in body.split("/"))
    if "\0" in body or any(part in {"", ".", ".."} for part in parts):
        raise GlobError(GlobErrorCode.NOT_A_PATH, pattern)
    is_anchored = pattern.startswith("/") or len(parts) > 1 or parts == ("**",)
    return Glob(parts=parts, is_anchored=is_anchored, folders_only=pattern.endswith("/"))


def _is_any_folders(part: str) -> bool:
    return part == "**"


def _is_any_characters(character: str) -> bool:
    return character == "*"


def _fits_character(pattern: str, character: str) -> bool:
    return pattern in {"?", character}


def _matches_name(pattern: str, name: str) -> bool:
    if "*" not in pattern and "?" not in pattern:
        return pattern == name
    head, star, tail = pattern.partition("*")
    if star and "*" not in tail and "?" not in pattern:
        return len(name) >= len(head) + len(tail) and name.startswith(head) and name.endswith(tail)
    return _matches_stars(pattern, name, is_star=_is_any_characters, fits=_fits_character)


def _matches_stars(
    pattern: Sequence[P], text: Sequence[T], *, is_star: Callable[[P], bool], fits: Callable[[P, T], bool]
) -> bool:
    """Match with stars, going back only to the last one: at most len(pattern) x len(text) steps, never more."""
    at = start = mark = 0
    star = -1
    while mark < len(text):
        if at < len(pattern) and is_star(pattern[at]):
            star, start, at = at, mark, at + 1
        elif at < len(pattern) and fits(pattern[at], text[mark]):
            at, mark = at + 1, mark + 1
        elif star >= 0:
            at, start = star + 1, start + 1
            mark = start
        else:
            return False
    return all(is_star(part) for part in pattern[at:])
