"""Plain text, logs, data files and source code to a source map. Derived line n is line n of the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from knowledge.parsing.base import ParseInput
from knowledge.parsing.blocks import Blocks, Span
from knowledge.parsing.code_outline import code_headings, outline_name, text_headings
from knowledge.parsing.decoding import decode_text
from knowledge.parsing.file_types import type_for_name
from knowledge.parsing.lines import split_lines
from knowledge.parsing.outline import Heading, build_sections
from knowledge.parsing.source_map import ResourceKind, SourceMap
from knowledge.parsing.text_size import check_data_size, check_text_size


class TextParser:
    """Reads everything that is lines of text and has no parser of its own.

    The same bytes have other sections as Python than as prose, so the revision names the way of outlining.
    """

    provider_id = "text"

    def __init__(self, name: str = "") -> None:
        self.revision = f"1/{outline_name(name) or _kind(name)}"

    def can_parse(self, item: ParseInput) -> bool:
        return _kind(item.name) is not None

    def parse(self, item: ParseInput) -> SourceMap:
        kind = _kind(item.name) or ResourceKind.TEXT
        check_data_size(item.data, item.limits)
        decoded = decode_text(item.data, encoding=item.options.get("encoding"))
        check_text_size(decoded.text, item.limits)
        lines = split_lines(decoded.text)
        headings = _headings(kind, item.name, lines)
        sections = build_sections(headings, len(lines))
        return SourceMap(
            provider=self.provider_id,
            model_version=self.revision,
            kind=kind,
            source_hash=item.source_hash,
            text=decoded.text,
            blocks=Blocks(lines, sections).cut(_spans(kind, headings, lines)),
            sections=sections,
            meta=dict(decoded.meta),
        )


def _kind(name: str) -> ResourceKind | None:
    found = type_for_name(name)
    return found.kind if found is not None and found.kind in {ResourceKind.TEXT, ResourceKind.CODE} else None


def _headings(kind: ResourceKind, name: str, lines: Sequence[str]) -> list[Heading]:
    return list(code_headings(name, lines) if kind is ResourceKind.CODE else text_headings(name, lines))


def _spans(kind: ResourceKind, headings: Sequence[Heading], lines: Sequence[str]) -> Iterator[Span]:
    if kind is ResourceKind.CODE:
        after_blank = (number for number, line in enumerate(lines[:-1], start=2) if not line.strip())
        yield Span(type="code", start=1, end=len(lines), stops=frozenset(after_blank))
        return
    for heading in headings:
        yield Span(type="heading", start=heading.line, end=heading.line)
