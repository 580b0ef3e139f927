"""Small originals of every format, made here byte by byte or with the libraries people write them with."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import docx
import fpdf
import openpyxl
import pptx
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from knowledge.parsing.base import ParseCode, ParseError, ParseInput, ParseLimits
from knowledge.parsing.registry import parse_bytes
from knowledge.parsing.source_map import SourceMap

SOURCE_HASH = "sha256:" + "0" * 64


def parse(name: str, data: bytes | str, limits: ParseLimits | None = None, **options: Any) -> SourceMap:
    raw = data.encode() if isinstance(data, str) else data
    item = ParseInput(
        name=name, data=raw, source_hash=SOURCE_HASH, limits=limits or ParseLimits(), options=dict(options)
    )
    return parse_bytes(item)


def refusal(name: str, data: bytes | str, limits: ParseLimits | None = None, **options: Any) -> ParseCode:
    """Return the code that parsing is refused with."""
    try:
        parse(name, data, limits, **options)
    except ParseError as error:
        return error.code
    raise AssertionError(f"{name} was read")


def lines_of(source_map: SourceMap) -> list[str]:
    return source_map.text.split("\n")


def place_of(source_map: SourceMap, text: str) -> Any:
    """Return the place of the first derived line that holds the text."""
    number = next(number for number, line in enumerate(lines_of(source_map), start=1) if text in line)
    return source_map.place_of(number)


def make_zip(entries: Mapping[str, bytes | str], *, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    output = BytesIO()
    with zipfile.ZipFile(output, "w", compression) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return output.getvalue()


def make_pdf(pages: Sequence[Sequence[str]], **encryption: Any) -> bytes:
    """Return a PDF with the lines of each page; `encryption` goes to FPDF.set_encryption."""
    pdf = fpdf.FPDF(format="A4", unit="pt")
    if encryption:
        pdf.set_encryption(**encryption)
    pdf.set_font("helvetica", size=12)
    for lines in pages:
        pdf.add_page()
        for line in lines:
            pdf.cell(0, 16, line, new_x="LMARGIN", new_y="NEXT")
    return bytes(pdf.output())


def make_raw_pdf(content: bytes, page: bytes = b"", *, pages: int = 1, fonts: bytes = b"") -> bytes:
    """Return a one-page PDF from a content stream; `page` adds to the page's dictionary (/Rotate, /CropBox, ...),
    `fonts` to its fonts."""
    kids = b"[3 0 R]" if pages else b"[]"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids%b/Count %d>>" % (kids, pages),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]%b/Contents 4 0 R/Resources<</Font<</F1 5 0 R%b>>>>>>"
        % (page, fonts),
        b"<</Length %d>>stream\n%b\nendstream" % (len(content), content),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    output = b"%PDF-1.6\n"
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(output))
        output += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(output)
    trailer = b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % start
    return output + b"xref\n0 6\n0000000000 65535 f \n" + table + trailer


def make_docx(build: Any) -> bytes:
    document = docx.Document()
    build(document)
    output = BytesIO()
    document.save(output)
    return output.getvalue()


def make_xlsx(sheets: Mapping[str, Sequence[Sequence[Any]]]) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    output = BytesIO()
    book.save(output)
    return output.getvalue()


def make_pptx(slides: Sequence[tuple[str, Sequence[str], str]]) -> bytes:
    """Return slides of title, lines of body and notes."""
    deck = pptx.Presentation()
    for title, body, notes in slides:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = "\n".join(body)
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    output = BytesIO()
    deck.save(output)
    return output.getvalue()


def make_table_slide(rows: Sequence[Sequence[str]]) -> bytes:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Table"
    shape = slide.shapes.add_table(len(rows), len(rows[0]), Inches(1), Inches(2), Inches(4), Inches(2))
    for row, cells in zip(shape.table.rows, rows, strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    output = BytesIO()
    deck.save(output)
    return output.getvalue()


def make_chart_slide(title: str, categories: Sequence[Any], series: Mapping[str, Sequence[float]]) -> bytes:
    """Return a slide that holds nothing but its heading and a chart with a title."""
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Chart"
    data = CategoryChartData()
    data.categories = list(categories)
    for name, values in series.items():
        data.add_series(name, list(values))
    box = (Inches(1), Inches(2), Inches(6), Inches(4))
    chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *box, data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = title
    output = BytesIO()
    deck.save(output)
    return output.getvalue()


def make_epub(chapters: Mapping[str, str], *, extra: Mapping[str, str] | None = None) -> bytes:
    items = "".join(
        f'<item id="c{number}" href="{name}" media-type="application/xhtml+xml"/>'
        for number, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="c{number}"/>' for number in range(len(chapters)))
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>The Book</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
    )
    entries = {"mimetype": "application/epub+zip", "META-INF/container.xml": container, "OEBPS/book.opf": package}
    return make_zip(entries | {f"OEBPS/{name}": text for name, text in chapters.items()} | dict(extra or {}))
