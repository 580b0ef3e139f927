from __future__ import annotations

import pytest

from knowledge.parsing.base import ParseCode
from knowledge.parsing.source_map import Link, Place
from tests.knowledge.parsing.builders import lines_of, make_epub, parse, place_of, refusal
from tests.knowledge.parsing.test_lines_and_blocks import check_blocks

PAGE = """<!DOCTYPE html>
<html><head><title>The &amp; page</title><style>p {color: red}</style></head>
<body>
<script>var text = "<p>never</p>";</script>
<h1 id="top">Head</h1>
<p>first
line <b>bold</b> tail<br>after the break
<!-- never -->
<h2>Part</h2>
<table><tr><th>Name</th><th>Value</th></tr>
<tr><td>tea</td><td><a href="tea.md">3</a></td></tr></table>
<ul><li>one<ul><li>two</li></ul></li></ul>
<pre>
x = 1
  y
</pre>
<div hidden>never</div><div style="display: none">never</div>
loose text
</body></html>"""


def test_html_lines_are_those_a_reader_sees() -> None:
    source_map = parse("a.html", PAGE)

    assert [line for line in lines_of(source_map) if line] == [
        "The & page",
        "Head",
        "first line bold tail",
        "after the break",
        "Part",
        "Name | Value",
        "tea | 3",
        "one",
        "two",
        "x = 1",
        "  y",
        "loose text",
    ]
    check_blocks(source_map)


def test_html_places_carry_line_and_anchor() -> None:
    source_map = parse("a.html", PAGE)

    for text in ("first line", "tea | 3", "  y", "loose text"):
        number = place_of(source_map, text).line
        assert text.split()[0] in PAGE.split("\n")[number - 1]
    assert place_of(source_map, "first line") == Place(line=6, href="#top")


def test_html_headings_make_the_path() -> None:
    source_map = parse("a.html", PAGE)

    assert [section.path for section in source_map.sections] == [("Head",), ("Head", "Part")]
    assert source_map.title == "The & page"


def test_html_title_stands_once_where_it_is_written() -> None:
    assert place_of(parse("a.html", PAGE), "The & page") == Place(line=2)
    assert lines_of(parse("a.html", "<title>Pump</title><h1>Pump</h1><p>word")) == ["Pump", "", "word"]


def test_html_with_a_title_alone_holds_no_text() -> None:
    """A page that a script draws: to call it read would be wrong."""
    assert refusal("a.html", "<title>Pump</title><body><script>draw()</script></body>") is ParseCode.NO_TEXT


def test_html_links_stand_on_their_line() -> None:
    source_map = parse("a.html", PAGE)

    line = lines_of(source_map).index("tea | 3") + 1
    assert source_map.links == (Link(target="tea.md", text="3", line=line, kind="html"),)


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [("gb2312", "gbk"), ("GBK", "gbk"), ("big5", "big5"), ("shift_jis", "shift_jis"), ("utf-8", "utf-8")],
)
def test_html_is_decoded_as_it_declares(declared: str, encoding: str) -> None:
    page = f'<html><head><meta charset="{declared}"></head><body><p>中文</p></body></html>'

    assert parse("a.html", page.encode(encoding)).text == "中文"


def test_html_that_declares_another_encoding_is_decoded_by_content() -> None:
    page = '<meta charset="utf-8"><p>这里写的是中文，但是编码写错了。</p>'

    assert "编码写错了" in parse("a.html", page.encode("gbk")).text


def test_html_tables_for_layout_are_read_in_order() -> None:
    page = (
        "<table><tr><td><h1>Head</h1><p>text</p></td><td><table><tr><td>a</td><td>b</td></tr></table></td></tr></table>"
    )

    assert [line for line in lines_of(parse("a.html", page)) if line] == ["Head", "text", "a | b"]


def test_html_nested_deep_is_read_whole() -> None:
    page = "<div>" * 1500 + "deep" + "</div>" * 1500 + "<table><tr><td>" + "<b>" * 400 + "cell</table>"

    assert [line for line in lines_of(parse("a.html", page)) if line] == ["deep", "cell"]


def test_html_nested_too_deep_is_refused_not_cut() -> None:
    assert refusal("a.html", "<p>text</p>" + "<div>" * 5000 + "deep") is ParseCode.TOO_LARGE


def test_html_without_text_says_so() -> None:
    assert refusal("a.html", "<html><body><script>1</script></body></html>") is ParseCode.NO_TEXT


def test_xhtml_with_a_declaration_is_read() -> None:
    page = '<?xml version="1.0" encoding="utf-8"?>\n<html xmlns="http://www.w3.org/1999/xhtml"><body><p>x</p></body></html>'

    assert parse("a.xhtml", page).text == "x"


CHAPTERS = {
    "one.xhtml": "<html><head><title>One</title></head><body><p>plain chapter</p></body></html>",
    "text/two.xhtml": '<html><body><h1 id="s">Two</h1><p>second chapter</p></body></html>',
}


def test_epub_chapters_are_read_in_order_with_their_file() -> None:
    source_map = parse("a.epub", make_epub(CHAPTERS))

    assert place_of(source_map, "plain chapter").part == "OEBPS/one.xhtml"
    assert place_of(source_map, "second chapter") == Place(part="OEBPS/text/two.xhtml", line=1, href="#s")
    assert [section.path for section in source_map.sections] == [("One",), ("Two",)]
    assert source_map.title == "The Book"
    check_blocks(source_map)


def test_epub_with_a_lock_is_encrypted() -> None:
    lock = '<encryption><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes256-cbc"/></encryption>'

    assert refusal("a.epub", make_epub(CHAPTERS, extra={"META-INF/encryption.xml": lock})) is ParseCode.ENCRYPTED


def test_epub_with_disguised_fonts_is_read() -> None:
    fonts = '<encryption><EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/></encryption>'

    assert parse("a.epub", make_epub(CHAPTERS, extra={"META-INF/encryption.xml": fonts})).text
