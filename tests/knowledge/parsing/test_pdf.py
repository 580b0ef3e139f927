from __future__ import annotations

import pypdfium2
import pytest

from knowledge.parsing.base import ParseCode, ParseLimits
from knowledge.parsing.pdf_layout import Run, read_lines
from knowledge.parsing.source_map import BBox
from tests.knowledge.parsing.builders import lines_of, make_pdf, make_raw_pdf, parse, place_of, refusal
from tests.knowledge.parsing.test_lines_and_blocks import check_blocks

TWO_LINES = b"BT /F1 24 Tf 100 700 Td (Hello turned world) Tj ET BT /F1 12 Tf 100 400 Td (Second line here) Tj ET"
NAMED_SONG = (
    b"/F2<</Type/Font/Subtype/Type0/BaseFont/STSong-Light/Encoding/UniGB-UCS2-H/DescendantFonts[<</Type/Font"
    b"/Subtype/CIDFontType0/BaseFont/STSong-Light/CIDSystemInfo<</Registry(Adobe)/Ordering(GB1)/Supplement 0>>"
    b"/DW 1000/FontDescriptor<</Type/FontDescriptor/FontName/STSong-Light/Flags 6/FontBBox[-25 -254 1000 880]"
    b"/ItalicAngle 0/Ascent 752/Descent -271/CapHeight 737/StemV 58>>>>]>>"
)
PAGES = [["First page, first line", "first page, second line"], ["The fact stands here", "and here"]]


def ink_outside(data: bytes, boxes: list[BBox]) -> int:
    """Count the dark pixels of the rendered first page that no box holds."""
    with pypdfium2.PdfDocument(data) as document:
        image = document[0].render(scale=1).to_pil().convert("L")
    pixels = image.load()
    dark = [(x, y) for y in range(image.height) for x in range(image.width) if pixels[x, y] < 128]
    assert dark
    return sum(
        not any(left - 1 <= x <= right + 1 and top - 1 <= y <= bottom + 1 for left, top, right, bottom in boxes)
        for x, y in dark
    )


def test_pdf_lines_carry_page_and_box() -> None:
    source_map = parse("a.pdf", make_pdf(PAGES))

    assert [line for line in lines_of(source_map) if line] == [line for page in PAGES for line in page]
    assert place_of(source_map, "The fact").page == 2
    left, top, right, bottom = place_of(source_map, "The fact").bbox
    assert 0 < left < right < source_map.pages[1].width
    assert 0 < top < bottom < source_map.pages[1].height / 4


@pytest.mark.parametrize("said", ["Q0179 每个季度末 Q0199 check 2024", "第三章 Q0200 之前 Q0202"])
def test_pdf_digits_of_a_font_that_the_file_does_not_hold_are_what_is_shown(said: str) -> None:
    # Asian fonts are often only named, with one of the well-known encodings: the reader lays them out by itself.
    text = "".join(f"{ord(letter):04x}" for letter in said).encode()
    content = b"BT /F2 12 Tf 1 0 0 1 72 700 Tm <%b> Tj ET" % text

    source_map = parse("a.pdf", make_raw_pdf(content, fonts=NAMED_SONG))

    assert [line for line in lines_of(source_map) if line] == [said]


def test_pdf_text_drawn_twice_for_its_shadow_is_read_once() -> None:
    drawn = b"BT /F1 24 Tf %d %d Td (%b) Tj ET"
    word = b" ".join(drawn % (left, 700, b"Shadow stands here") for left in (100, 101, 102))

    source_map = parse("a.pdf", make_raw_pdf(word + b" " + drawn % (380, 700, b"here")))

    assert [line for line in lines_of(source_map) if line] == ["Shadow stands here here"]


@pytest.mark.parametrize("extra", [[], ["around"]])
def test_run_inside_another_that_says_it_is_left_out(extra: list[str]) -> None:
    # a character map that gives one glyph the whole word: the reader tells the word again at the glyph
    whole = Run(text="habibi حبيبي", bbox=(60, 60, 120, 72), upright=(60, 60, 120, 72))
    again = Run(text="حبيبي", bbox=(112, 62, 118, 70), upright=(112, 62, 118, 70))
    beside = [Run(text=each, bbox=(10, 60, 50, 72), upright=(10, 60, 50, 72)) for each in extra]

    (line,) = read_lines([whole, again, *beside])

    assert line.text == " ".join([*extra, "habibi حبيبي"])


def test_pdf_blocks_never_cross_pages_and_are_named_by_page() -> None:
    source_map = parse("a.pdf", make_pdf(PAGES))

    assert [block.id for block in source_map.blocks] == ["p1_b1", "p2_b1"]
    check_blocks(source_map)


def test_pdf_text_items_point_into_the_text_and_lie_on_the_page() -> None:
    source_map = parse("a.pdf", make_pdf(PAGES))

    items = [(page, item) for page in source_map.pages for item in page.text_items]
    assert [item.id for _, item in items] == ["p1_t1", "p1_t2", "p2_t1", "p2_t2"]
    for page, item in items:
        assert source_map.text[item.char_start : item.char_end] == item.text
        assert 0 <= item.bbox[0] < item.bbox[2] <= page.width
        assert 0 <= item.bbox[1] < item.bbox[3] <= page.height


@pytest.mark.parametrize(
    "page",
    [
        b"",
        b"/Rotate 90",
        b"/Rotate 180",
        b"/Rotate 270",
        b"/CropBox[50 200 500 750]",
        b"/CropBox[50 200 500 750]/Rotate 90",
        b"/CropBox[50 200 500 750]/Rotate 270",
        b"/CropBox[-100 -100 800 1000]",
        b"/UserUnit 2",
    ],
)
def test_pdf_boxes_hold_the_ink_of_the_page_as_shown(page: bytes) -> None:
    data = make_raw_pdf(TWO_LINES, page)

    source_map = parse("a.pdf", data)

    assert [line for line in lines_of(source_map) if line] == ["Hello turned world", "Second line here"]
    assert ink_outside(data, [item.bbox for item in source_map.pages[0].text_items]) == 0
    with pypdfium2.PdfDocument(data) as document:
        assert (source_map.pages[0].width, source_map.pages[0].height) == document[0].get_size()


def test_pdf_text_along_the_edge_is_read_after_the_page() -> None:
    edge = b" BT /F1 10 Tf 0 1 -1 0 30 200 Td (stamp along the edge) Tj ET"

    source_map = parse("a.pdf", make_raw_pdf(TWO_LINES + edge))

    assert lines_of(source_map)[-1] == "stamp along the edge"


def test_pdf_columns_are_read_one_after_the_other() -> None:
    left = [f"left column line {number} of prose text" for number in range(8)]
    right = [f"right column line {number} of prose text" for number in range(8)]
    rows = b""
    for number, texts in enumerate(zip(left, right, strict=True)):
        for x, text in zip((60, 320), texts, strict=True):
            rows += b"BT /F1 12 Tf %d %d Td (%b) Tj ET\n" % (x, 700 - 16 * number, text.encode())

    source_map = parse("a.pdf", make_raw_pdf(rows))

    assert [line for line in lines_of(source_map) if line] == left + right


def test_pdf_table_rows_stay_together() -> None:
    rows = b""
    for number in range(8):
        for x, text in ((60, f"item {number}"), (320, f"{number * 7} EUR")):
            rows += b"BT /F1 12 Tf %d %d Td (%b) Tj ET\n" % (x, 700 - 16 * number, text.encode())

    assert "item 3 21 EUR" in lines_of(parse("a.pdf", make_raw_pdf(rows)))


def _rows_of(*columns: tuple[int, list[str]]) -> list[str]:
    """Return the lines of a page on which columns of text stand side by side, each at its x."""
    rows = b""
    for x, texts in columns:
        for number, text in enumerate(texts):
            rows += b"BT /F1 10 Tf %d %d Td (%b) Tj ET\n" % (x, 700 - 16 * number, text.encode())
    return [line for line in lines_of(parse("a.pdf", make_raw_pdf(rows))) if line]


def test_pdf_table_of_long_cells_is_read_row_by_row() -> None:
    """Each side of its widest gutter holds as much text as a column of prose."""
    tags, rest = [f"T-{number:02}" for number in range(12)], [f"harbour master {number}" for number in range(12)]
    what, when = ["pressure gauge checked"] * 12, [f"2026-03-{number + 1:02}" for number in range(12)]

    found = _rows_of((50, tags), (100, what), (260, rest), (380, when), (450, ["open"] * 12))

    assert found == [" ".join(row) for row in zip(tags, what, rest, when, ["open"] * 12, strict=True)]


def test_pdf_list_in_two_columns_is_not_read_across_them() -> None:
    """An index, or the contents of a book: both sides fall into the same narrow and wide parts."""
    left, right = [f"gauges and valves {n}" for n in range(12)], [f"flanges and seals {n}" for n in range(12)]
    pages = [str(number) for number in range(12)]

    found = _rows_of((50, left), (220, pages), (320, right), (490, pages))

    assert [line for line in found if "gauges" in line and "flanges" in line] == []
    assert sum("gauges" in line or "flanges" in line for line in found) == 24


def test_pdf_columns_with_numbered_lines_are_read_one_after_the_other() -> None:
    """Drafts under review: to the eye of a grid they are a table of four columns."""
    left = [f"the left column of the draft goes on and on {n}" for n in range(12)]
    right = [f"and the right one says what follows from it {n}" for n in range(12)]
    numbers = [f"{number:03}" for number in range(12)]

    found = _rows_of((30, numbers), (60, left), (320, right), (560, numbers))

    assert found == [f"{n} {text}" for n, text in zip(numbers, left, strict=True)] + [
        f"{text} {n}" for n, text in zip(numbers, right, strict=True)
    ]


def test_pdf_bookmarks_become_sections_with_pages() -> None:
    import fpdf

    pdf = fpdf.FPDF()
    pdf.set_font("helvetica", size=12)
    for title, level in (("Part one", 0), ("Chapter", 1), ("Part two", 0)):
        pdf.add_page()
        pdf.start_section(title, level=level)
        pdf.cell(0, 10, title, new_x="LMARGIN", new_y="NEXT")
        pdf.cell(0, 10, "body of it", new_x="LMARGIN", new_y="NEXT")

    sections = parse("a.pdf", bytes(pdf.output())).sections

    assert [(section.path, section.page_start, section.page_end) for section in sections] == [
        (("Part one",), 1, 2),
        (("Part one", "Chapter"), 2, 2),
        (("Part two",), 3, 3),
    ]


def test_pdf_headings_are_told_by_their_size() -> None:
    body = b"".join(
        b"BT /F1 10 Tf 72 %d Td (Body text that runs along the page in small type.) Tj ET\n" % (680 - 14 * number)
        for number in range(10)
    )

    source_map = parse("a.pdf", make_raw_pdf(b"BT /F1 26 Tf 72 720 Td (A large heading) Tj ET\n" + body))

    assert [section.title for section in source_map.sections] == ["A large heading"]


def test_pdf_link_is_found_on_its_line() -> None:
    import fpdf

    pdf = fpdf.FPDF()
    pdf.set_font("helvetica", size=12)
    pdf.add_page()
    pdf.cell(0, 10, "above", new_x="LMARGIN", new_y="NEXT")
    pdf.cell(0, 10, "see there", link="https://example.org/x", new_x="LMARGIN", new_y="NEXT")

    source_map = parse("a.pdf", bytes(pdf.output()))

    assert [(link.target, lines_of(source_map)[link.line - 1]) for link in source_map.links] == [
        ("https://example.org/x", "see there")
    ]


def test_pdf_with_a_user_password_is_encrypted() -> None:
    data = make_pdf(PAGES, owner_password="owner", user_password="user")

    assert refusal("a.pdf", data) is ParseCode.ENCRYPTED


def test_pdf_with_an_owner_password_only_is_read() -> None:
    assert "The fact" in parse("a.pdf", make_pdf(PAGES, owner_password="owner")).text


def test_pdf_cut_in_half_is_corrupt() -> None:
    assert refusal("a.pdf", b"%PDF-1.7\n1 0 obj\n<<") is ParseCode.CORRUPT
    assert refusal("a.pdf", make_pdf(PAGES)[:300]) is ParseCode.CORRUPT


def test_pdf_with_a_broken_table_of_objects_is_read() -> None:
    data = make_raw_pdf(TWO_LINES).replace(b"startxref\n", b"startxref\n9")

    assert "Hello turned world" in parse("a.pdf", data).text


def test_pdf_without_pages_is_empty() -> None:
    assert refusal("a.pdf", make_raw_pdf(b"", pages=0)) in {ParseCode.EMPTY, ParseCode.CORRUPT}


def test_pdf_without_text_says_so() -> None:
    assert refusal("a.pdf", make_raw_pdf(b"0 0 100 100 re f")) is ParseCode.NO_TEXT


def test_pdf_over_the_page_limit_is_too_large() -> None:
    assert refusal("a.pdf", make_pdf(PAGES), ParseLimits(max_pages=1)) is ParseCode.TOO_LARGE


def test_pdf_gives_equal_bytes_for_equal_input() -> None:
    data = make_pdf(PAGES)

    assert parse("a.pdf", data).to_bytes() == parse("a.pdf", data).to_bytes()


def test_pdf_counts_pages_without_text() -> None:
    meta = parse("a.pdf", make_pdf([["text"], [], ["more"]])).meta

    assert meta == {"pageCount": 3, "pagesWithoutText": 1}
