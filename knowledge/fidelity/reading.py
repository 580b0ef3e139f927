"""Reading the text at a locator from the original file, by other means than our parsers where there are any.

The check must not ask the parser whether the parser was right: PDF boxes are read by the PDF library itself, cells and
rows by their own readers, Word and slides from the XML. Only HTML and mail are read by line from a fresh parse.
"""

from __future__ import annotations

import csv
import io
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import pypdfium2
from lxml import etree
from python_calamine import CalamineWorkbook

from knowledge.citations.locators import Locator, LocatorKind
from knowledge.parsing.decoding import decode_text
from knowledge.parsing.source_map import SourceMap

#: Points by which a box may miss the letters it holds: fonts draw a little outside their own measure.
_MARGIN = 2.0
_BREAKS = re.compile(r"\r\n|\r|\n")
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def text_at(data: bytes, locator: Locator, source_map: SourceMap) -> str:
    """Return the text that stands at `locator` in the original bytes."""
    reader = _READERS.get(locator.kind)
    if reader is None:
        lines = source_map.text.split("\n")
        return "\n".join(lines[locator.line_start - 1 : locator.line_end])
    return reader(data, locator.parts)


def _lines(data: bytes, parts: dict[str, Any]) -> str:
    first, last = parts["lineRange"]
    return "\n".join(_BREAKS.split(decode_text(data).text)[first - 1 : last])


def _page_boxes(data: bytes, parts: dict[str, Any]) -> str:
    document = pypdfium2.PdfDocument(data)
    try:
        return "\n".join(_boxes_of(document, place) for place in parts["pages"])
    finally:
        document.close()


def _boxes_of(document: pypdfium2.PdfDocument, place: dict[str, Any]) -> str:
    page = document[place["page"] - 1]
    words = page.get_textpage()
    found = []
    for x0, y0, x1, y1 in place["bboxes"]:
        left, bottom, right, top = _unrotated(page, (x0, y0, x1, y1))
        found.append(words.get_text_bounded(left - _MARGIN, bottom - _MARGIN, right + _MARGIN, top + _MARGIN))
    return "\n".join(found)


def _unrotated(page: pypdfium2.PdfPage, box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    """Turn a box of the page as shown (origin top-left) into the page's own space (origin bottom-left)."""
    left, bottom, right, top = page.get_cropbox()
    x0, y0, x1, y1 = box
    match page.get_rotation():
        case 90:
            return left + y0, bottom + x0, left + y1, bottom + x1
        case 180:
            return right - x1, bottom + y0, right - x0, bottom + y1
        case 270:
            return right - y1, top - x1, right - y0, top - x0
    return left + x0, top - y1, left + x1, top - y0


def _cells(data: bytes, parts: dict[str, Any]) -> str:
    book = CalamineWorkbook.from_filelike(io.BytesIO(data))
    found = []
    for place in parts["ranges"]:
        rows = book.get_sheet_by_name(place["sheet"]).to_python(skip_empty_area=False)
        numbers = [int(number) for number in re.findall(r"\d+", place["a1"])]
        found += [" ".join(str(cell) for cell in row) for row in rows[min(numbers) - 1 : max(numbers)]]
    return "\n".join(found)


def _rows(data: bytes, parts: dict[str, Any]) -> str:
    first, last = parts["rowRange"]
    text = decode_text(data).text
    delimiter = max(",;\t|", key=text.count)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    return "\n".join(" ".join(row) for row in rows[first - 1 : last])


def _slides(data: bytes, parts: dict[str, Any]) -> str:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        order = _slide_files(archive)
        names = [order[slide["n"] - 1] for slide in parts["slides"]]
        text = [_all_text(_xml(archive, name)) for name in names]
        text += [_charts(archive, name, _xml(archive, name)) for name in names]
        if any(slide["notes"] for slide in parts["slides"]):
            notes = [name for name in archive.namelist() if name.startswith("ppt/notesSlides/notesSlide")]
            text += [_all_text(_xml(archive, name)) for name in notes]
    return "\n".join(text)


def _slide_files(archive: zipfile.ZipFile) -> list[str]:
    """Return the slides' files in the order in which they are shown."""
    links = _xml(archive, "ppt/_rels/presentation.xml.rels")
    targets = {link.get("Id"): link.get("Target", "") for link in links}
    deck = _xml(archive, "ppt/presentation.xml")
    ids = [slide.get(_RELATION) for slide in deck.iter("{*}sldId")]
    return [posixpath.normpath(posixpath.join("ppt", targets[each])) for each in ids]


def _words(data: bytes, parts: dict[str, Any]) -> str:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if not parts:
            notes = [name for name in archive.namelist() if name in ("word/footnotes.xml", "word/endnotes.xml")]
            return "\n".join(_all_text(_xml(archive, name)) for name in notes)
        body = _xml(archive, "word/document.xml")
        return "\n".join(_with_charts(archive, element) for element in _word_elements(body, parts))


def _word_elements(body: Any, parts: dict[str, Any]) -> Iterator[Any]:
    paragraphs = body.xpath("//*[local-name()='p'][not(ancestor::*[local-name()='tbl' or local-name()='txbxContent'])]")
    tables = body.xpath("//*[local-name()='tbl'][not(ancestor::*[local-name()='tbl'])]")
    first, last = parts.get("paragraphRange", (1, 0))
    yield from paragraphs[first - 1 : last]
    for place in parts.get("tables", ()):
        rows = tables[place["n"] - 1].xpath(".//*[local-name()='tr']")
        yield from rows[place["rows"][0] - 1 : place["rows"][1]]


def _with_charts(archive: zipfile.ZipFile, element: Any) -> str:
    return f"{_all_text(element)}\n{_charts(archive, 'word/document.xml', element)}"


def _charts(archive: zipfile.ZipFile, part: str, element: Any) -> str:
    """Return what the charts of an element of a part are drawn from: titles, names, then what belongs to each point."""
    folder, name = posixpath.split(part)
    shown = {chart.get(_RELATION) for chart in element.iter("{*}chart")}
    links = _xml(archive, f"{folder}/_rels/{name}.rels") if shown else ()
    targets = [link.get("Target", "") for link in links if link.get("Id") in shown]
    charts = [_xml(archive, posixpath.normpath(posixpath.join(folder, target))) for target in targets]
    return "\n".join(line for chart in charts for line in (_all_text(chart), *_points(chart)))


def _points(chart: Any) -> Iterator[str]:
    yield " ".join(chart.xpath("//*[local-name()='tx']//*[local-name()='v']/text()"))
    for at in dict.fromkeys(chart.xpath("//@idx")):
        point = f"*[local-name()='pt'][@idx={int(at)}]/*[local-name()='v']/text()"
        names = chart.xpath(f"//*[local-name()='cat' or local-name()='xVal']//{point}")
        values = chart.xpath(f"//*[local-name()='val' or local-name()='yVal']//{point}")
        yield " ".join([*dict.fromkeys(names), *values])


def _xml(archive: zipfile.ZipFile, name: str) -> Any:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    return etree.fromstring(archive.read(name), parser)


def _all_text(element: Any) -> str:
    return "".join(text.text or "" for text in element.iter("{*}t"))


_READERS: dict[LocatorKind, Callable[[bytes, dict[str, Any]], str]] = {
    LocatorKind.MARKDOWN_RANGE: _lines,
    LocatorKind.PDF_REGION: _page_boxes,
    LocatorKind.SHEET_RANGE: _cells,
    LocatorKind.CSV_ROWS: _rows,
    LocatorKind.SLIDE: _slides,
    LocatorKind.WORD_RANGE: _words,
}
