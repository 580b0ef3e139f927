"""PowerPoint (pptx) to a source map: one section for each slide, its lines placed by slide and shape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from knowledge.parsing.archives import Archive, attribute, child, core_title, local_name
from knowledge.parsing.base import ParseCode, ParseError, ParseInput
from knowledge.parsing.charts import charts_in
from knowledge.parsing.derived import Derived
from knowledge.parsing.file_types import type_for_name
from knowledge.parsing.lines import CELL_GAP, one_line
from knowledge.parsing.outline import MAX_TITLE
from knowledge.parsing.source_map import Link, Place, ResourceKind, SourceMap

_TITLES = frozenset({"title", "ctrTitle"})
_FURNITURE = frozenset({"dt", "ftr", "sldNum", "hdr", "sldImg"})
_BREAKS = frozenset({"br"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    text: str
    shape: str
    kind: str
    is_title: bool
    element: etree._Element


class SlidesParser:
    """Reads pptx and its show, macro and template variants."""

    provider_id = "office"
    revision = "slides-2"

    def can_parse(self, item: ParseInput) -> bool:
        found = type_for_name(item.name)
        return found is not None and found.kind is ResourceKind.SLIDES

    def parse(self, item: ParseInput) -> SourceMap:
        archive = Archive(item.data, item.limits)
        part = archive.main_part("ppt/presentation.xml")
        slides = list(_slide_parts(archive, part))
        if len(slides) > item.limits.max_pages:
            raise ParseError(ParseCode.TOO_LARGE, f"the file has more than {item.limits.max_pages} slides")
        derived = Derived()
        for number, name in enumerate(slides, start=1):
            _read_slide(archive, name, number, derived)
        title = _own(core_title(archive)) or next((heading.title for heading in derived.headings), None)
        meta = {"slideCount": len(slides)}
        return derived.source_map(self, item, ResourceKind.SLIDES, title=title, meta=meta)


def _own(title: str | None) -> str | None:
    return None if title is None or title.lower() in {"powerpoint presentation", "powerpoint-präsentation"} else title


def _slide_parts(archive: Archive, part: str) -> Iterator[str]:
    relations = archive.relations(part)
    listed = child(archive.xml(part), "sldIdLst")
    for entry in listed if listed is not None else ():
        # The relation's id stands beside an id of the slide: both are called id, one in a namespace.
        identity = next((str(value) for key, value in entry.attrib.items() if str(key).endswith("}id")), "")
        kind, target = relations.get(identity, ("", ""))
        if kind == "slide" and archive.has(target):
            yield target


def _read_slide(archive: Archive, name: str, number: int, derived: Derived) -> None:
    lines = list(_part_lines(archive, name))
    lines.sort(key=lambda line: not line.is_title)
    relations = archive.relations(name)
    notes = [line for kind, target in relations.values() if kind == "notesSlide" for line in _notes(archive, target)]
    if not lines and not notes:
        return
    derived.add_blank(Place(slide=number))
    derived.start_block()
    derived.open_section(_title(lines or notes), level=1)
    for line in lines:
        kind = "heading" if line.is_title else line.kind
        group = line.shape if kind == "table" else None
        at = derived.add(line.text, Place(slide=number, shape=line.shape), kind, group=group)
        _add_links(line.element, relations, at, derived)
    if notes:
        derived.add_blank(Place(slide=number, notes=True))
    for line in notes:
        derived.add(line.text, Place(slide=number, shape=line.shape, notes=True), "notes", group=number)


def _title(lines: list[_Line]) -> str:
    titles = [line.text for line in lines if line.is_title]
    return " ".join(titles)[:MAX_TITLE] if titles else lines[0].text[:MAX_TITLE]


def _notes(archive: Archive, name: str) -> list[_Line]:
    return list(_part_lines(archive, name)) if archive.has(name) else []


def _part_lines(archive: Archive, name: str) -> Iterator[_Line]:
    """Yield the lines of a slide or of its notes, shape by shape."""
    relations = archive.relations(name)
    for shape in _shapes(child(archive.xml(name), "cSld", "spTree")):
        yield from _lines_of(shape)
        identity = _identity(shape)[0]
        for text in charts_in(shape, archive, relations):
            yield _Line(text=text, shape=identity, kind="table", is_title=False, element=shape)


def _shapes(tree: etree._Element | None) -> Iterator[etree._Element]:
    for shape in tree if tree is not None else ():
        name = local_name(shape)
        if name == "AlternateContent":
            yield from _shapes(child(shape, "Choice"))
        elif name == "grpSp":
            yield from _shapes(shape)
        elif name in {"sp", "cxnSp", "pic", "graphicFrame"}:
            yield shape


def _lines_of(shape: etree._Element) -> Iterator[_Line]:
    identity, role = _identity(shape)
    if role in _FURNITURE:
        return
    rows = list(shape.iter("{*}tr"))
    if rows:
        for row in rows:
            cells = [
                one_line(" ".join(_text(p) for p in cell.iter("{*}p"))) for cell in row if local_name(cell) == "tc"
            ]
            if any(cells):
                yield _Line(text=CELL_GAP.join(cells), shape=identity, kind="table", is_title=False, element=row)
        return
    for paragraph in shape.iter("{*}p"):
        text = one_line(_text(paragraph))
        if text:
            yield _Line(text=text, shape=identity, kind="paragraph", is_title=role in _TITLES, element=paragraph)


def _identity(shape: etree._Element) -> tuple[str, str | None]:
    """Return the id of a shape on its slide, and the role of its placeholder."""
    for properties in shape:
        if local_name(properties).startswith("nv"):
            own = child(properties, "cNvPr")
            placeholder = child(properties, "nvPr", "ph")
            identity = (attribute(own, "id") if own is not None else None) or ""
            return identity, (attribute(placeholder, "type") if placeholder is not None else None)
    return "", None


def _text(paragraph: etree._Element) -> str:
    items = paragraph.iter("{*}t", "{*}br")
    return "".join("\n" if local_name(item) in _BREAKS else item.text or "" for item in items)


def _add_links(element: etree._Element, relations: dict[str, tuple[str, str]], line: int, derived: Derived) -> None:
    for link in element.iter("{*}hlinkClick"):
        kind, target = relations.get(attribute(link, "id") or "", ("", ""))
        if kind == "hyperlink" and target:
            derived.links.append(Link(target=target, text=derived.lines[line - 1], line=line, kind="slides"))
