"""The four truths (spec 5.2): what became of a cited passage, judged on the file as it is now."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from knowledge.citations.lines import LineIndex
from knowledge.citations.locators import LocatorState
from knowledge.citations.quotes import QuoteAnchor, QuoteFinder, Span
from knowledge.parsing.source_map import Section, SourceMap


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """What was cited: the file's hash then, the derived characters and first line, the quote in short, its section.

    `section_keys` holds one `section_key` for each title of the section path, so that a citation stays short.
    """

    source_hash: str
    char_start: int
    line_start: int
    anchor: QuoteAnchor
    section_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is true now. `chars` and `lines` point into the present derived text: the passage for EXACT and MOVED, the
    nearest section for CHANGED, None where nothing can be pointed at."""

    state: LocatorState
    chars: tuple[int, int] | None = None
    lines: tuple[int, int] | None = None
    occurrences: int = 0


def section_keys(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return short keys by which the titles of a section path are recognised."""
    return tuple(hashlib.blake2b(title.encode(), digest_size=3).hexdigest() for title in path)


def judge(citation: Citation, now: SourceMap) -> Verdict:
    """Compare a citation with the present file. Never points at a place that does not hold the quote, but for CHANGED,
    where the nearest section is named as such."""
    index = LineIndex(now.text)
    spans = QuoteFinder(now.text).find(citation.anchor)
    if not spans:
        return _changed(citation, now, index)
    same_file = citation.source_hash == now.source_hash
    chosen = _nearest(spans, citation, now, index, same_file=same_file)
    is_there = same_file and chosen.start == citation.char_start
    return Verdict(
        state=LocatorState.EXACT if is_there else LocatorState.MOVED,
        chars=(chosen.start, chosen.end),
        lines=index.range_of(chosen.start, chosen.end),
        occurrences=len(spans),
    )


def _nearest(spans: list[Span], citation: Citation, now: SourceMap, index: LineIndex, *, same_file: bool) -> Span:
    """Of several places choose the cited one, else the one in the same section, else the nearest line."""

    def distance(span: Span) -> tuple[int, int]:
        line = index.line_at(span.start)
        if same_file:
            return 0, abs(span.start - citation.char_start)
        section = now.section_of(line)
        keys = section_keys(section.path) if section else ()
        return int(keys != citation.section_keys), abs(line - citation.line_start)

    return min(spans, key=distance)


def _changed(citation: Citation, now: SourceMap, index: LineIndex) -> Verdict:
    section = _closest_section(citation.section_keys, now)
    if section is None:
        return Verdict(state=LocatorState.CHANGED)
    lines = (section.line_start, section.line_start)
    return Verdict(state=LocatorState.CHANGED, lines=lines, chars=index.span_of(*lines))


def _closest_section(keys: tuple[str, ...], now: SourceMap) -> Section | None:
    """Return the section that shares the longest part of the cited path, from the top down."""
    by_keys = {section_keys(section.path): section for section in reversed(now.sections)}
    return next((by_keys[keys[:length]] for length in range(len(keys), 0, -1) if keys[:length] in by_keys), None)
