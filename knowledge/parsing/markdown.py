"""Markdown to a source map. Derived line n is line n of the file; blocks follow its block structure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import version

from markdown_it import MarkdownIt
from markdown_it.token import Token

from knowledge.parsing.base import ParseInput
from knowledge.parsing.blocks import Blocks, Span
from knowledge.parsing.decoding import Decoded, decode_text
from knowledge.parsing.file_types import type_for_name
from knowledge.parsing.front_matter import FrontMatter, read_front_matter
from knowledge.parsing.lines import split_lines
from knowledge.parsing.markdown_links import find_links, normalise_label, plain_title
from knowledge.parsing.outline import Heading, build_sections
from knowledge.parsing.source_map import Link, ResourceKind, SourceMap
from knowledge.parsing.text_size import check_data_size, check_text_size

_TYPES = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "fence": "code",
    "code_block": "code",
    "blockquote_open": "quote",
    "html_block": "paragraph",
    "table_open": "table",
}


class MarkdownParser:
    """Reads CommonMark with tables, front matter and wiki links."""

    provider_id = "markdown"
    revision = f"1/{version('markdown-it-py')}"

    def can_parse(self, item: ParseInput) -> bool:
        found = type_for_name(item.name)
        return found is not None and found.kind is ResourceKind.MARKDOWN

    def parse(self, item: ParseInput) -> SourceMap:
        check_data_size(item.data, item.limits)
        decoded = decode_text(item.data, encoding=item.options.get("encoding"))
        check_text_size(decoded.text, item.limits)
        return _Reading(decoded).source_map(item.source_hash)


class _Reading:
    """One Markdown text, read once."""

    def __init__(self, decoded: Decoded) -> None:
        self._decoded = decoded
        self._lines = split_lines(decoded.text)
        self._front = read_front_matter(self._lines)
        env: dict[str, dict[str, dict[str, str]]] = {}
        self._tokens = _reader().parse(_without_front(self._lines, self._front), env)
        references = env.get("references", {})
        self._references = {normalise_label(label): entry["href"] for label, entry in references.items()}

    def source_map(self, source_hash: str) -> SourceMap:
        headings = list(self._headings())
        sections = build_sections(headings, len(self._lines))
        meta = dict(self._decoded.meta)
        if self._front is not None and self._front.title:
            meta["frontMatterTitle"] = self._front.title
        return SourceMap(
            provider=MarkdownParser.provider_id,
            model_version=MarkdownParser.revision,
            kind=ResourceKind.MARKDOWN,
            source_hash=source_hash,
            text=self._decoded.text,
            blocks=Blocks(self._lines, sections).cut(self._spans()),
            sections=sections,
            links=tuple(sorted(self._links(), key=lambda link: link.line)),
            title=self._title(headings),
            meta=meta,
        )

    def _title(self, headings: Sequence[Heading]) -> str | None:
        if self._front is not None and self._front.title:
            return self._front.title
        top = [heading.title for heading in headings if heading.level == 1 and heading.title]
        return top[0] if top else None

    def _headings(self) -> Iterator[Heading]:
        for opening, content in zip(self._tokens, self._tokens[1:], strict=False):
            if opening.type == "heading_open" and opening.level == 0 and opening.map:
                level = int(opening.tag.removeprefix("h"))
                yield Heading(line=opening.map[0] + 1, level=level, title=plain_title(content.content))

    def _spans(self) -> Iterator[Span]:
        if self._front is not None:
            yield Span(type="front_matter", start=1, end=self._front.end)
        items = _item_lines(self._tokens)
        for token in self._tokens:
            if token.level == 0 and token.map and token.type in _TYPES:
                start, end = token.map[0] + 1, token.map[1]
                stops = items if token.type.endswith("list_open") else frozenset()
                yield Span(type=_TYPES[token.type], start=start, end=end, stops=stops)

    def _links(self) -> Iterator[Link]:
        for token in self._tokens:
            if token.map and token.type in {"inline", "html_block"}:
                yield from find_links(token.content, token.map[0] + 1, self._references)


@cache
def _reader() -> MarkdownIt:
    # Inline marks are found by position (markdown_links): inline tokens carry none.
    return MarkdownIt("commonmark").enable("table").disable("inline", ignoreInvalid=True)


def _without_front(lines: Sequence[str], front: FrontMatter | None) -> str:
    if front is None:
        return "\n".join(lines)
    return "\n" * front.end + "\n".join(lines[front.end :])


def _item_lines(tokens: Sequence[Token]) -> frozenset[int]:
    return frozenset(token.map[0] + 1 for token in tokens if token.type == "list_item_open" and token.map)
