"""Whole sentences around a piece of text that somebody else has cut: no quote begins or ends inside one."""

from __future__ import annotations

import re

from knowledge.parsing.source_map import SourceMap

#: A sentence that goes on for longer stays cut.
_FAR = 400
_ENDS = re.compile(r"[。！？；][”’」』）)]*|[.!?][\"'”’)\]]*(?=\s)|\n(?=\s*(?:[-*+>|#]|\d+[.)]\s))")
_PROSE = frozenset({"paragraph", "list", "quote", "caption"})


def whole_sentences(source_map: SourceMap, start: int, end: int) -> tuple[int, int]:
    """Widen characters `start` to `end` to whole sentences, never beyond the passages of the text they begin and end
    in. Code and tables stay as they are."""
    text = source_map.text
    first, last = source_map.block_at(start), source_map.block_at(end - 1)
    if first is not None and first.type in _PROSE:
        start = _begin(text, max(first.char_start, start - _FAR), start, is_edge=start - _FAR <= first.char_start)
    if last is not None and last.type in _PROSE:
        end = _finish(text, end, min(last.char_end, end + _FAR), is_edge=end + _FAR >= last.char_end)
    return start, start + len(text[start:end].rstrip())


def _begin(text: str, earliest: int, start: int, *, is_edge: bool) -> int:
    ends = [found.end() for found in _ENDS.finditer(text, earliest, start)]
    begin = ends[-1] if ends else earliest if is_edge else start
    return min(start, begin + _blank(text[begin:start]))


def _finish(text: str, end: int, latest: int, *, is_edge: bool) -> int:
    if _is_over(text, end):
        return end
    found = _ENDS.search(text, end, latest)
    return found.end() if found else latest if is_edge else end


def _is_over(text: str, end: int) -> bool:
    """Say whether a sentence ends exactly here."""
    tail = text[max(0, end - 4) : end]
    ends = [found.end() for found in _ENDS.finditer(f"{tail} ")]
    return bool(ends) and ends[-1] == len(tail)


def _blank(text: str) -> int:
    return len(text) - len(text.lstrip())
