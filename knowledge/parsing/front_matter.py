"""The metadata block at the top of a Markdown file: where it ends, and its title."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_FENCES = {"---": ("---", "..."), "+++": ("+++",)}
_TITLE = re.compile(r"title\s*[:=]\s*(?P<value>\S.*)$", re.IGNORECASE)
_KEY = re.compile(r"[\w\"'. -]+\s*[:=]|[-#\[\]}\s]|$")
_MAX_LINES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatter:
    """Lines 1..`end` of the file are metadata, fences included. `title` as a person would read it."""

    end: int
    title: str | None = None


def read_front_matter(lines: Sequence[str]) -> FrontMatter | None:
    """Return the block that opens on line 1 and is closed again, or None when line 1 is ordinary text."""
    closers = _FENCES.get(lines[0].rstrip()) if lines else None
    if closers is None:
        return None
    for number, line in enumerate(lines[1:_MAX_LINES], start=2):
        if line.rstrip() in closers:
            inside = lines[1 : number - 1]
            return FrontMatter(end=number, title=_title(inside)) if any(map(str.strip, inside)) else None
        if number == 2 and not _KEY.match(line):
            return None  # a rule above a paragraph, not metadata
    return None


def _title(lines: Sequence[str]) -> str | None:
    for position, line in enumerate(lines):
        match = _TITLE.match(line)
        if match:
            return _scalar(match["value"].strip(), lines[position + 1 :])
    return None


def _scalar(value: str, following: Sequence[str]) -> str | None:
    if value[0] in ">|":
        folded = [line.strip() for line in _indented(following)]
        return " ".join(folded) or None
    if value[0] in "\"'":
        closed = re.match(r"(['\"])(.*?)(?<!\\)\1", value)
        return (closed[2] if closed else value[1:]).replace('\\"', '"').strip() or None
    return re.sub(r"\s+#.*$", "", value).strip() or None


def _indented(lines: Sequence[str]) -> list[str]:
    taken: list[str] = []
    for line in lines:
        if line.strip() and not line.startswith((" ", "\t")):
            break
        taken.append(line)
    return taken
