from __future__ import annotations

import pytest

from knowledge.parsing.source_map import Page, Place, ResourceKind
from knowledge.rendering.documents import Request, render
from knowledge.rendering.pages import bare_pages, boxes_of, parse_box
from knowledge.rendering.tables import column_letters, column_number, parse_range
from knowledge.rendering.windows import Wanted
from tests.knowledge.rendering.files import PlainLinks, cited, mark, run, source_map, tree


def _pdf(page_count: int = 3):
    """Two lines a page; the second has two runs."""
    lines, pages, at = [], [], 0
    for number in range(1, page_count + 1):
        first, second = f"Heading {number}", f"left {number} right {number}"
        lines.append((first, Place(page=number, bbox=(72.0, 72.0, 200.0, 84.0))))
        lines.append((second, Place(page=number, bbox=(72.0, 90.0, 300.0, 102.0))))
        start = at + len(first) + 1
        items = (
            run(number, 1, first, (72.0, 72.0, 200.0, 84.0), at),
            run(number, 2, f"left {number}", (72.0, 90.0, 150.0, 102.0), start),
            run(number, 3, f"right {number}", (160.0, 90.0, 300.0, 102.0), start + len(f"left {number} ")),
        )
        pages.append(Page(page=number, width=595.0, height=842.0, text_items=items))
        at = start + len(second) + 1
    return source_map(ResourceKind.PDF, lines, pages=pages)


def _rendered(found, **given):
    return render(found, path="a/file.bin", request=Request(**given), links=PlainLinks())


def test_pages_show_the_cited_boxes_on_every_page():
    found = _pdf()
    quote = "right 1\nHeading 2"
    pages = _rendered(found, marks=[mark(found, quote)]).body.pages

    rects = [tree(f"<svg>{page.overlay}</svg>").xpath(".//rect/@class") for page in pages]
    assert rects == [["cite"], ["cite"], []]
    assert [page.is_cited for page in pages] == [True, True, False]


def test_pages_give_the_first_box_the_anchor():
    found = _pdf()
    pages = _rendered(found, marks=[mark(found, "right 1\nHeading 2")]).body.pages

    anchors = [tree(f"<svg>{page.overlay}</svg>").xpath('.//*[@id="cited"]') for page in pages]
    assert [len(each) for each in anchors] == [1, 0, 0]


@pytest.mark.parametrize(
    ("quote", "box"),
    [
        ("Heading 1", (72.0, 72.0, 200.0, 84.0)),
        ("right 1", (160.0, 90.0, 300.0, 102.0)),
        ("left 1", (72.0, 90.0, 150.0, 102.0)),
        ("left 1 right 1", (72.0, 90.0, 300.0, 102.0)),
    ],
)
def test_boxes_hold_the_cited_runs_only(quote, box):
    found = _pdf()

    assert [each for each, _ in boxes_of(found, [mark(found, quote)])[1]] == [box]


def test_pages_carry_their_text_to_select():
    page = _rendered(_pdf()).body.pages[0]

    texts = tree(f"<svg>{page.overlay}</svg>").xpath(".//text")
    assert [each.text for each in texts] == ["Heading 1", "left 1", "right 1"]
    assert texts[0].get("x") == "72.0"


def test_pages_overlay_has_no_styles():
    found = _pdf()
    overlay = _rendered(found, marks=[mark(found, "Heading 1")]).body.pages[0].overlay

    assert tree(f"<svg>{overlay}</svg>").xpath(".//@style") == []


def test_pages_text_is_escaped():
    lines = [("<script>&", Place(page=1, bbox=(0.0, 0.0, 10.0, 10.0)))]
    page = Page(page=1, width=10, height=10, text_items=(run(1, 1, "<script>&", (0.0, 0.0, 10.0, 10.0), 0),))
    overlay = _rendered(source_map(ResourceKind.PDF, lines, pages=[page])).body.pages[0].overlay

    assert "&lt;script&gt;&amp;" in overlay


def test_long_pdf_shows_the_pages_around_the_place():
    found = _pdf(200)
    body = _rendered(found, marks=[mark(found, "Heading 120")]).body

    assert body.window.first <= 120 <= body.window.last
    assert len(body.pages) == 20


def test_pages_show_a_box_that_the_address_names():
    body = _rendered(_pdf(), page=2, box=(10.0, 20.0, 30.0, 40.0)).body

    assert [page.number for page in body.pages if page.is_cited] == [2]


def test_scan_shows_its_pages_without_text():
    body = bare_pages([(100.0, 200.0)] * 30, wanted=Wanted(focus=25))

    assert 25 in [page.number for page in body.pages]
    assert {page.overlay for page in body.pages} == {""}


@pytest.mark.parametrize("written", ["", "1,2,3", "a,b,c,d", "5,5,1,1", "1,2,3,4,5"])
def test_parse_box_refuses_what_is_no_box(written):
    assert parse_box(written) is None


def _book():
    return source_map(
        ResourceKind.SHEET,
        [
            ("name | price", Place(sheet="Prices", row=1, a1="A1:B1")),
            ("basic | 100 | note", Place(sheet="Prices", row=2, a1="A2:C2")),
            ("plus", Place(sheet="Prices", row=4, a1="B4")),
            ("", Place(sheet="Other", row=1)),
            ("x | y | z | v", Place(sheet="Other", row=1, a1="B1:D1")),
        ],
        block="table",
    )


def test_sheets_show_letters_and_row_numbers():
    table = _rendered(_book()).body.tables[0]
    rows = tree(f"<table>{table.body}</table>").xpath(".//tr")

    assert (table.name, tree(f"<table><tr>{table.head}</tr></table>").xpath(".//th/text()")) == (
        "Prices",
        ["A", "B", "C"],
    )
    assert [[cell.text or "" for cell in row] for row in rows] == [
        ["1", "name", "price", ""],
        ["2", "basic", "100", "note"],
        ["4", "", "plus", ""],
    ]


def test_sheets_never_put_a_cell_into_the_wrong_column():
    table = _rendered(_book()).body.tables[1]

    assert [cell.text for cell in tree(f"<table>{table.body}</table>").xpath(".//td")] == ["x | y | z | v"]


def test_sheets_mark_the_cited_cells():
    found = _book()
    tables = _rendered(found, marks=[mark(found, "100 | note")]).body.tables

    assert cited(f"<table>{tables[0].body}</table>") == ["100", "note"]


def test_sheets_mark_only_the_cells_of_a_range():
    found = _book()
    whole = mark(found, "name | price\nbasic | 100 | note")
    tables = _rendered(found, marks=[whole], cells=("Prices", parse_range("B1:B2"))).body.tables

    assert cited(f"<table>{tables[0].body}</table>") == ["price", "100"]


@pytest.mark.parametrize(("number", "letters"), [(1, "A"), (26, "Z"), (27, "AA"), (702, "ZZ"), (703, "AAA")])
def test_columns_are_named_as_in_a_spreadsheet(number, letters):
    assert (column_letters(number), column_number(letters)) == (letters, number)


@pytest.mark.parametrize("written", ["", "A", "1", "A1:B", "A1;B2", "$$"])
def test_parse_range_refuses_what_is_no_range(written):
    assert parse_range(written) is None


def test_csv_rows_keep_their_numbers_and_the_first_stands_out():
    found = source_map(
        ResourceKind.CSV, [("a | b", Place(row=1)), ("1 | 2", Place(row=2)), ("3 | 4", Place(row=5))], block="table"
    )
    body = tree(f"<table>{_rendered(found, marks=[mark(found, '3 | 4')]).body.tables[0].body}</table>")

    assert body.xpath(".//tr/th/text()") == ["1", "2", "5"]
    assert body.xpath('.//tr[@class="first"]/td/text()') == ["a", "b"]
    assert body.xpath('.//td[@class="cite"]/text()') == ["3", "4"]


def test_long_table_shows_a_window():
    found = source_map(ResourceKind.CSV, [(f"{n} | v", Place(row=n)) for n in range(1, 5_001)], block="table")
    body = _rendered(found, marks=[mark(found, "\n3000 | v")]).body

    assert body.window.first < 3_000 < body.window.last
    assert len(body.tables[0].body) < 100_000


def test_slides_show_their_number_and_notes():
    found = source_map(
        ResourceKind.SLIDES,
        [
            ("Title", Place(slide=1, shape="2")),
            ("Say this", Place(slide=1, shape="3", notes=True)),
            ("Third", Place(slide=3, shape="2")),
        ],
    )
    slides = _rendered(found, marks=[mark(found, "Say this")]).body.slides

    assert [(slide.number, cited(slide.html), cited(slide.notes)) for slide in slides if slide.notes] == [
        (1, [], ["Say this"])
    ]
    assert [slide.number for slide in slides] == [1, 3]


def test_word_text_shows_paragraphs_and_tables():
    found = source_map(
        ResourceKind.WORD,
        [
            ("A <paragraph>", Place(paragraph=1)),
            ("", Place(paragraph=2)),
            ("a | b", Place(table=1, row=1)),
            ("c | d", Place(table=1, row=2)),
        ],
    )
    html = _rendered(found, marks=[mark(found, "c | d")]).body.html

    assert tree(html).xpath(".//p/text()") == ["A <paragraph>"]
    assert [row.xpath("./td/text()") for row in tree(html).xpath(".//tr")] == [["a", "b"], ["c", "d"]]
    assert cited(html) == ["c", "d"]


def test_web_page_shows_text_never_markup():
    found = source_map(ResourceKind.HTML, [("<img src=x onerror=alert(1)>", Place(line=4))])
    html = _rendered(found).body.html

    assert tree(html).xpath(".//img") == []
    assert "onerror" in tree(html).text_content()
