"""Lines as an editor counts them: CRLF, LF and a lone CR end a line; form feed, U+2028 and the like do not."""

from __future__ import annotations

import re

#: Stands between the cells of a row in derived text.
CELL_GAP = " | "

_BREAK = re.compile(r"\r\n|\r")


def normalise_breaks(text: str) -> str:
    """Return the text with LF line ends only; its number of lines stays as an editor shows it."""
    return _BREAK.sub("\n", text) if "\r" in text else text


def split_lines(text: str) -> list[str]:
    """Return the lines of a text with LF line ends; an end of line at the very end gives a last, empty line."""
    return text.split("\n")


def one_line(text: str) -> str:
    """Return the text as one derived line: every run of white space becomes one space."""
    return " ".join(text.split())
