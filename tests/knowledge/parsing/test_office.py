from __future__ import annotations

import zipfile
from datetime import date, datetime, time, timedelta
from io import BytesIO
from typing import Any

import pytest

from knowledge.parsing.base import ParseCode, ParseLimits
from knowledge.parsing.sheets import column_name, show_value
from knowledge.parsing.source_map import Place
from tests.knowledge.parsing.builders import (
    lines_of,
    make_chart_slide,
    make_docx,
    make_pptx,
    make_table_slide,
    make_xlsx,
    make_zip,
    parse,
    place_of,
    refusal,
)
from tests.knowledge.parsing.test_lines_and_blocks import check_blocks

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 100


def word_xml(body: str, **parts: str) -> bytes:
    """Return a docx with this body and nothing else but `parts`."""
    return make_zip({"word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>"} | parts)


def report(document: Any) -> None:
    document.add_heading("Report", level=1)
    document.add_paragraph("First paragraph.")
    table = document.add_table(rows=2, cols=2)
    for row, cells in zip(table.rows, (("Name", "Value"), ("height", "12 m")), strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    document.add_heading("Terms", level=2)
    document.add_paragraph("Point", style="List Bullet")
    document.add_paragraph("Last paragraph.")


def test_word_places_are_paragraphs_and_table_rows() -> None:
    source_map = parse("a.docx", make_docx(report))

    assert place_of(source_map, "First paragraph.") == Place(paragraph=2)
    assert place_of(source_map, "height | 12 m") == Place(table=1, row=2)
    assert place_of(source_map, "Last paragraph.") == Place(paragraph=5)
    check_blocks(source_map)


def test_word_headings_make_sections() -> None:
    sections = parse("a.docx", make_docx(report)).sections

    assert [section.path for section in sections] == [("Report",), ("Report", "Terms")]


@pytest.mark.parametrize("name", ["heading 2", "标题 2", "Überschrift 2", "見出し 2", "Titre 2", "제목 2"])
def test_word_headings_are_known_by_their_name_in_many_languages(name: str) -> None:
    styles = f'<w:styles {W}><w:style w:styleId="x"><w:name w:val="{name}"/></w:style></w:styles>'
    body = '<w:p><w:pPr><w:pStyle w:val="x"/></w:pPr><w:r><w:t>Title</w:t></w:r></w:p>'

    source_map = parse("a.docx", word_xml(body, **{"word/styles.xml": styles}))

    assert [(section.title, section.level) for section in source_map.sections] == [("Title", 2)]


def test_word_heading_level_is_inherited_and_overridden() -> None:
    styles = (
        f'<w:styles {W}><w:style w:styleId="a"><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>'
        '<w:style w:styleId="b"><w:basedOn w:val="a"/></w:style></w:styles>'
    )
    style = '<w:pStyle w:val="b"/>'
    body = (
        f"<w:p><w:pPr>{style}</w:pPr><w:r><w:t>One</w:t></w:r></w:p>"
        f'<w:p><w:pPr>{style}<w:outlineLvl w:val="9"/></w:pPr><w:r><w:t>Body</w:t></w:r></w:p>'
        f'<w:p><w:pPr>{style}<w:outlineLvl w:val="2"/></w:pPr><w:r><w:t>Deep</w:t></w:r></w:p>'
    )

    source_map = parse("a.docx", word_xml(body, **{"word/styles.xml": styles}))

    assert [(section.title, section.level) for section in source_map.sections] == [("One", 1), ("Deep", 3)]


def test_word_text_is_read_as_it_stands_after_review() -> None:
    body = (
        "<w:p><w:r><w:t>kept </w:t></w:r><w:ins><w:r><w:t>added</w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:r><w:instrText>PAGE</w:instrText><w:tab/><w:t>end</w:t><w:br/><w:t>line</w:t></w:r></w:p>"
    )

    assert parse("a.docx", word_xml(body)).text == "kept added end line"


def test_word_text_boxes_and_notes_are_read_once() -> None:
    box = "<w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent>"
    mc = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    body = (
        f"<w:p><w:r><w:t>anchor</w:t><mc:AlternateContent {mc}><mc:Choice>{box}</mc:Choice>"
        f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r></w:p>"
    )
    notes = (
        f'<w:footnotes {W}><w:footnote w:type="separator" w:id="0"><w:p/></w:footnote>'
        '<w:footnote w:id="2"><w:p><w:r><w:t>the note</w:t></w:r></w:p></w:footnote></w:footnotes>'
    )
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="r1" Type="http://x/footnotes" Target="footnotes.xml"/></Relationships>'
    )
    parts = {"word/footnotes.xml": notes, "word/_rels/document.xml.rels": relations}

    source_map = parse("a.docx", word_xml(body, **parts))

    assert lines_of(source_map) == ["anchor", "boxed", "", "the note"]
    assert source_map.place_of(2) == Place(paragraph=1)
    assert source_map.place_of(4) == Place(part="footnotes/2")


def test_word_content_controls_count_as_the_text_around_them() -> None:
    body = (
        "<w:p><w:r><w:t>one</w:t></w:r></w:p>"
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>two</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        "<w:p><w:r><w:t>three</w:t></w:r></w:p>"
    )

    assert place_of(parse("a.docx", word_xml(body)), "three") == Place(paragraph=3)


def test_sheet_rows_carry_sheet_and_range() -> None:
    data = make_xlsx({"Prices": [["Item", "Price"], ["tea", 3.5], [], [None, "note"]], "Second": [["x"]]})

    source_map = parse("a.xlsx", data)

    assert lines_of(source_map) == ["Item | Price", "tea | 3.5", "note", "", "x"]
    assert source_map.place_of(2) == Place(sheet="Prices", row=2, a1="A2:B2")
    assert source_map.place_of(3) == Place(sheet="Prices", row=4, a1="B4")
    assert [section.path for section in source_map.sections] == [("Prices",), ("Second",)]
    check_blocks(source_map)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (12.0, "12"),
        (0.1 + 0.2, "0.3"),
        (1e20, "1e+20"),
        (True, "TRUE"),
        (date(2026, 3, 1), "2026-03-01"),
        (datetime(2026, 3, 1), "2026-03-01"),  # noqa: DTZ001 a workbook has no zones
        (datetime(2026, 3, 1, 12, 30), "2026-03-01 12:30:00"),  # noqa: DTZ001
        (time(8, 15), "08:15:00"),
        (timedelta(hours=26, minutes=3), "26:03:00"),
        ("two\nlines", "two lines"),
    ],
)
def test_sheet_values_are_shown_as_text(value: Any, shown: str) -> None:
    assert show_value(value) == shown


@pytest.mark.parametrize(
    ("index", "name"), [(0, "A"), (25, "Z"), (26, "AA"), (701, "ZZ"), (702, "AAA"), (16383, "XFD")]
)
def test_sheet_columns_have_letters(index: int, name: str) -> None:
    assert column_name(index) == name


def test_slides_carry_slide_shape_and_notes() -> None:
    source_map = parse(
        "a.pptx", make_pptx([("Start", ["first point", "second point"], ""), ("End", ["last"], "say this")])
    )

    assert [section.path for section in source_map.sections] == [("Start",), ("End",)]
    assert place_of(source_map, "first point").slide == 1
    assert place_of(source_map, "first point").shape == place_of(source_map, "second point").shape
    assert place_of(source_map, "say this").notes is True
    assert place_of(source_map, "say this").slide == 2
    assert [block.type for block in source_map.blocks] == ["paragraph", "paragraph", "notes"]
    check_blocks(source_map)


def test_slide_tables_are_read_row_by_row() -> None:
    assert "tea | 3" in lines_of(parse("a.pptx", make_table_slide([["Item", "Price"], ["tea", "3"]])))


def test_slide_charts_are_read_as_their_picture_shows_them() -> None:
    deck = make_chart_slide("Output by region", ["North", "South"], {"Gas": [0.1, 2], "Oil": [3, 4.25]})

    source_map = parse("a.pptx", deck)

    assert lines_of(source_map) == ["Chart", "Output by region", "Gas | Oil", "North | 0.1 | 3", "South | 2 | 4.25"]
    assert place_of(source_map, "North").slide == 1
    assert place_of(source_map, "North").shape != place_of(source_map, "Chart").shape
    check_blocks(source_map)


def test_days_on_a_chart_are_written_in_iso_form() -> None:
    deck = make_chart_slide("Readings", [date(2026, 1, 31), date(2026, 2, 28)], {"Level": [1, 2]})

    assert lines_of(parse("a.pptx", deck))[3:] == ["2026-01-31 | 1", "2026-02-28 | 2"]


def test_chart_that_is_damaged_costs_nothing_but_itself() -> None:
    """The file was readable before charts were read."""
    with zipfile.ZipFile(BytesIO(make_chart_slide("Output", ["North"], {"Gas": [1]}))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts = {name: b"<broken" if "charts/chart" in name else data for name, data in parts.items()}

    assert lines_of(parse("a.pptx", make_zip(parts))) == ["Chart"]


def test_word_charts_stand_in_their_paragraph() -> None:
    relation = '<Relationship Id="r7" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/chart"'
    source_map = parse(
        "a.docx",
        word_xml(
            "<w:p><w:r><w:t>Before.</w:t></w:r></w:p><w:p><w:r><w:drawing><c:chart xmlns:c='c' xmlns:r='r' r:id='r7'/>"
            "</w:drawing></w:r></w:p><w:p><w:r><w:t>After.</w:t></w:r></w:p>",
            **{
                "word/_rels/document.xml.rels": f'<Relationships>{relation} Target="charts/one.xml"/></Relationships>',
                "word/charts/one.xml": "<s><chart><plotArea><pieChart><ser><tx><v>Share</v></tx><cat><strRef><strCache>"
                "<pt idx='1'><v>South</v></pt><pt idx='0'><v>North</v></pt></strCache></strRef></cat><val><numRef>"
                "<numCache><formatCode>General</formatCode><pt idx='0'><v>7</v></pt></numCache></numRef></val></ser>"
                "</pieChart></plotArea></chart></s>",
            },
        ),
    )

    assert [line for line in lines_of(source_map) if line] == ["Before.", "Share", "North | 7", "South | ", "After."]
    assert [place_of(source_map, text) for text in ("North | 7", "After.")] == [Place(paragraph=2), Place(paragraph=3)]


@pytest.mark.parametrize("name", ["a.docx", "a.xlsx", "a.pptx"])
def test_office_file_with_a_password_is_encrypted(name: str) -> None:
    assert refusal(name, OLE + "EncryptedPackage".encode("utf-16-le") + b"\x00" * 100) is ParseCode.ENCRYPTED


@pytest.mark.parametrize("name", ["a.docx", "a.pptx"])
def test_office_file_in_the_older_format_is_not_read(name: str) -> None:
    assert refusal(name, OLE) is ParseCode.UNSUPPORTED_TYPE


@pytest.mark.parametrize("name", ["a.docx", "a.xlsx", "a.pptx"])
def test_office_file_cut_short_is_corrupt(name: str) -> None:
    whole = {"a.docx": make_docx(report), "a.xlsx": make_xlsx({"S": [["x"]]}), "a.pptx": make_pptx([("t", ["b"], "")])}

    assert refusal(name, whole[name][: len(whole[name]) // 2]) is ParseCode.CORRUPT


def test_office_file_without_text_says_so() -> None:
    assert refusal("a.docx", word_xml("<w:p/>")) is ParseCode.NO_TEXT
    assert refusal("a.xlsx", make_xlsx({"S": []})) is ParseCode.NO_TEXT


def test_archive_that_swells_is_too_large() -> None:
    bomb = word_xml("<w:p/>", **{"word/media/a.bin": "0" * 5_000_000})

    assert refusal("a.docx", bomb) is ParseCode.TOO_LARGE


def test_archive_over_a_limit_is_too_large() -> None:
    assert refusal("a.docx", word_xml("<w:p/>"), ParseLimits(max_zip_entries=0)) is ParseCode.TOO_LARGE
    assert refusal("a.docx", word_xml("<w:p/>"), ParseLimits(max_unzipped_bytes=10)) is ParseCode.TOO_LARGE


def test_archive_that_declares_a_small_size_is_not_unpacked_beyond_it() -> None:
    data = bytearray(make_xlsx({"S": [["x"]]}))
    at = data.rfind(b"PK\x01\x02")
    data[at + 24 : at + 28] = (1).to_bytes(4, "little")

    assert refusal("a.xlsx", bytes(data)) is ParseCode.CORRUPT


def test_xml_entities_are_not_expanded(tmp_path: Any) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    document = (
        f'<!DOCTYPE d [<!ENTITY a "boom"><!ENTITY f SYSTEM "{secret.as_uri()}">]>'
        f"<w:document {W}><w:body><w:p><w:r><w:t>safe &a; &f;</w:t></w:r></w:p></w:body></w:document>"
    )

    text = parse("a.docx", make_zip({"word/document.xml": document})).text

    assert text.startswith("safe")
    assert "boom" not in text
    assert "secret" not in text
