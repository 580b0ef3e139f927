"""The text that a provider made of an original, and how it cut it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One passage: characters `start` to `end` (exclusive) of the converted text. `key` recognises it in a hit.

    `page` is the page or slide (1-based) that the provider's own marks name, where there are any. `is_of_picture`: it
    says what a model made of a picture, which is no text of the file and stands nowhere in the converted text.
    """

    key: str
    start: int
    end: int
    page: int | None = None
    is_of_picture: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A mark of the provider at offset `at` of the converted text that names a page or slide (1-based)."""

    at: int
    page: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The converted text, blanks in place of all that is not the file's own words, and its pieces in order.

    `echoes` are characters that may be the provider's repetition of others: where ours lacks them, nothing is missing.
    `marks` come in the order of the text.
    """

    text: str
    pieces: tuple[Piece, ...]
    echoes: tuple[tuple[int, int], ...] = ()
    marks: tuple[Mark, ...] = ()
