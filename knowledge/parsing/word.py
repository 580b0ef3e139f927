"""Word (docx) to a source map: one derived line for each paragraph or table row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lxml import etree

from knowledge.parsing.archives import Archive, attribute, child, core_title, local_name
from knowledge.parsing.base import ParseCode, ParseError, ParseInput
from knowledge.parsing.charts import charts_in
from knowledge.parsing.derived import Derived
from knowledge.parsing.file_types import type_for_name
from knowledge.parsing.lines import CELL_GAP, one_line
from knowledge.parsing.source_map import Link, Place, ResourceKind, SourceMap
from knowledge.parsing.word_styles import Styles
from knowledge.parsing.word_text import box_paragraphs, hyperlinks, paragraph_text

_WRAPPERS = frozenset({"sdt", "sdtContent", "customXml", "smartTag", "ins", "moveTo"})
_NOTES = ("footnotes", "endnotes")


class WordParser:
    """Reads docx and its macro and template variants."""

    provider_id = "office"
    revision = "word-2"

    def can_parse(self, item: ParseInput) -> bool:
        found = type_for_name(item.name)
        return found is not None and found.kind is ResourceKind.WORD

    def parse(self, item: ParseInput) -> SourceMap:
        archive = Archive(item.data, item.limits)
        part = archive.main_part("word/document.xml")
        body = child(archive.xml(part), "body")
        if body is None:
            raise ParseError(ParseCode.UNSUPPORTED_TYPE, "the archive holds no Word document")
        relations = archive.relations(part)
        reading = _Reading(archive=archive, styles=Styles.of(archive, relations), relations=relations)
        reading.read_body(body)
        for kind in _NOTES:
            for name in (target for found, target in relations.values() if found == kind and archive.has(target)):
                reading.read_notes(archive.xml(name), kind)
        title = core_title(archive) or reading.title
        return reading.derived.source_map(self, item, ResourceKind.WORD, title=title)


@dataclass(slots=True)
class _Reading:
    archive: Archive
    styles: Styles
    relations: dict[str, tuple[str, str]]
    derived: Derived = field(default_factory=Derived)
    title: str | None = None
    _paragraph: int = 0
    _table: int = 0

    def read_body(self, body: etree._Element) -> None:
        for element in _flow(body):
            if local_name(element) == "p":
                self._paragraph += 1
                self._read_paragraph(element, Place(paragraph=self._paragraph))
            else:
                self._table += 1
                self._read_table(element)

    def read_notes(self, root: etree._Element, part: str) -> None:
        """Add foot- or endnotes after the text; their places name the part and the note."""
        for note in root:
            if attribute(note, "type") in {None, "normal"}:
                text = one_line(" ".join(paragraph_text(element) for element in note.iter("{*}p")))
                number = attribute(note, "id") or ""
                if text:
                    self.derived.add_blank(Place(part=part))
                    self.derived.add(text, Place(part=f"{part}/{number}"), "notes")

    def _read_paragraph(self, element: etree._Element, place: Place) -> None:
        text = one_line(paragraph_text(element))
        style = self.styles.of_paragraph(element)
        if text and style.level is not None:
            self.derived.add_heading(text, place, style.level)
        elif style.is_list:
            self.derived.add(text, place, "list", group="list")
        else:
            self.derived.add(text, place, "caption" if style.is_caption else "paragraph")
        if text and style.is_title and self.title is None:
            self.title = text
        self._add_links(element, len(self.derived.lines))
        for box in box_paragraphs(element):
            boxed = one_line(paragraph_text(box))
            if boxed:
                self.derived.add(boxed, place)
        self._add_charts(element, place)

    def _read_table(self, table: etree._Element) -> None:
        place = Place(table=self._table)
        self.derived.add_blank(place)
        for number, row in enumerate(_children(table, "tr"), start=1):
            cells = [one_line(" ".join(paragraph_text(p) for p in cell.iter("{*}p"))) for cell in _children(row, "tc")]
            line = CELL_GAP.join(cells)
            if any(cells):
                self.derived.add(line, replace(place, row=number), "table", group=self._table)
                self._add_links(row, len(self.derived.lines))
            self._add_charts(row, replace(place, row=number))
        self.derived.add_blank(place)

    def _add_charts(self, element: etree._Element, place: Place) -> None:
        for text in charts_in(element, self.archive, self.relations):
            self.derived.add(text, place, "table", group=("chart", place))

    def _add_links(self, element: etree._Element, line: int) -> None:
        for identity, text in hyperlinks(element):
            target = self.relations.get(identity, ("", ""))[1]
            if target:
                self.derived.links.append(Link(target=target, text=text, line=line, kind="word"))


def _flow(body: etree._Element) -> Iterator[etree._Element]:
    """Yield paragraphs and tables in order, also those inside content controls and accepted insertions."""
    for element in body:
        name = local_name(element)
        if name in {"p", "tbl"}:
            yield element
        elif name in _WRAPPERS:
            yield from _flow(element)


def _children(element: etree._Element, name: str) -> Iterator[etree._Element]:
    for item in element:
        if local_name(item) == name:
            yield item
        elif local_name(item) in _WRAPPERS:
            yield from _children(item, name)
