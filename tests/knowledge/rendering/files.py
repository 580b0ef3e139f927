"""Parsed files for the tests of rendering, and marks on quoted words."""

from __future__ import annotations

from collections.abc import Sequence

from lxml import html
from lxml.html import HtmlElement

from knowledge.citations.lines import LineIndex
from knowledge.parsing.base import ParseInput
from knowledge.parsing.registry import parse_bytes
from knowledge.parsing.source_map import Block, Page, Place, ResourceKind, SourceMap, TextItem
from knowledge.rendering.markdown import Note, render_note
from knowledge.rendering.marks import Mark, MarkKind
from knowledge.rendering.windows import Wanted


class PlainLinks:
    """Addresses that show what was asked for."""

    def file(self, path: str) -> str:
        return f"/open/{path}"

    def picture(self, path: str) -> str:
        return f"/raw/{path}"

    def wiki(self, name: str) -> str:
        return f"/find/{name}"

    def wiki_picture(self, name: str) -> str:
        return f"/raw/pictures/{name}" if name != "unknown.png" else ""


def parsed(text: str, name: str = "note.md") -> SourceMap:
    return parse_bytes(ParseInput(name=name, data=text.encode(), source_hash="sha256:00"))


def mark(source_map: SourceMap, quote: str, kind: MarkKind = MarkKind.CITED, *, number: int = 1) -> Mark:
    start = source_map.text.index(quote)
    end = start + len(quote)
    first, last = LineIndex(source_map.text).range_of(start, end)
    return Mark(start=start, end=end, first=first, last=last, kind=kind, number=number)


def note(text: str, *quotes: str, path: str = "folder/note.md", wanted: Wanted | None = None) -> Note:
    """Render a note with the quoted words marked as cited."""
    source_map = parsed(text)
    marks = [mark(source_map, quote) for quote in quotes]
    return render_note(source_map, path=path, marks=marks, links=PlainLinks(), wanted=wanted or Wanted())


def tree(fragment: str) -> HtmlElement:
    return html.fragment_fromstring(fragment, create_parent="div")


def cited(fragment: str) -> list[str]:
    """The texts of the marked elements, in order."""
    found = tree(fragment).xpath('.//*[contains(concat(" ", @class, " "), " cite ")]')
    return [each.text_content() for each in found]


def source_map(
    kind: ResourceKind, lines: Sequence[tuple[str, Place]], *, pages: Sequence[Page] = (), block: str = "paragraph"
) -> SourceMap:
    """A map of these derived lines, one block a line."""
    text = "\n".join(line for line, _ in lines)
    index = LineIndex(text)
    blocks = [
        Block(
            id=f"b{number}",
            type=block,
            text=line,
            line_start=number,
            line_end=number,
            char_start=index.span_of(number, number)[0],
            char_end=index.span_of(number, number)[1],
        )
        for number, (line, _) in enumerate(lines, start=1)
        if line
    ]
    return SourceMap(
        provider="test",
        model_version="1",
        kind=kind,
        source_hash="sha256:00",
        text=text,
        blocks=tuple(blocks),
        places=tuple(place for _, place in lines),
        pages=tuple(pages),
    )


def run(page: int, number: int, text: str, box: tuple[float, float, float, float], start: int) -> TextItem:
    return TextItem(id=f"p{page}_t{number}", text=text, bbox=box, char_start=start, char_end=start + len(text))
