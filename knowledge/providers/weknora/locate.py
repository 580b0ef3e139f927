"""Where a passage of the server stands in the text that was sent. The offsets decide; nothing is ever searched."""

from __future__ import annotations

import re

_DASHES = re.compile(r"\|?(\s*:?-{3,}:?\s*\|)+(\s*:?-{3,}:?)?\s*")


def locate(sent: str, content: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span of a passage in the sent text, without blanks around it; None unless it stands there.

    `content` is the slice, or a repeated table head and the slice. Anything else is of another version or edited.
    """
    if not 0 <= start < end <= len(sent):
        return None
    slice_ = sent[start:end]
    ink = slice_.strip()
    if not ink or not is_passage(content, slice_):
        return None
    first = start + len(slice_) - len(slice_.lstrip())
    return first, first + len(ink)


def is_passage(content: str, slice_: str) -> bool:
    """Say whether `content` is this slice of the text, with or without a table head before it."""
    return content == slice_ or (
        len(content) > len(slice_) and content.endswith(slice_) and is_table_head(content[: -len(slice_)])
    )


def is_table_head(text: str) -> bool:
    """Say whether a text is exactly the head of a Markdown table: a row, and its row of dashes."""
    rows = [row.strip() for row in text.split("\n") if row.strip()]
    return len(rows) == 2 and rows[0].startswith("|") and _DASHES.fullmatch(rows[1]) is not None


def fits(content: str, start: int, end: int) -> bool:
    """Say whether a passage can be the slice its offsets name, as far as that can be said without the text."""
    head = len(content) - (end - start)
    return 0 <= start < end and (head == 0 or (head > 0 and is_table_head(content[:head])))
