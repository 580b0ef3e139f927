from __future__ import annotations

import pytest

from knowledge.rendering.lines import LINE_CHARS, numbered_lines
from knowledge.rendering.marks import Mark
from knowledge.rendering.windows import Wanted
from tests.knowledge.rendering.files import cited, mark, parsed, tree

CODE = 'def one(value: int) -> str:\n    """Say it."""\n    return f"{value} <b>"\n\n\nx = 1\n'


def _lines(text: str, *marks: Mark, wanted: Wanted | None = None, language: str = ""):
    return numbered_lines(text, language=language, marks=marks, wanted=wanted or Wanted())


@pytest.mark.parametrize("language", ["", "python", "nonsense"])
def test_lines_hold_the_text_unchanged(language):
    html = _lines(CODE, language=language).html

    assert [code.text_content() for code in tree(html).xpath(".//code")] == CODE.split("\n")


def test_lines_have_numbers_as_anchors():
    html = _lines("a\nb\nc").html

    assert tree(html).xpath('.//div[@id="L2"]/a/@href') == ["#L2"]


@pytest.mark.parametrize("language", ["", "python"])
def test_lines_mark_exactly_the_cited_words(language):
    source_map = parsed(CODE, "a.py")
    html = _lines(CODE, mark(source_map, 'Say it."""\n    return f"{value}'), language=language).html

    assert cited(html) == ['Say it."""', '    return f"{value}']
    assert tree(html).xpath('.//div[contains(@class, " on")]/@id') == ["L2", "L3"]


def test_lines_are_coloured_by_language():
    classes = set(tree(_lines(CODE, language="python").html).xpath(".//span/@class"))

    assert {"t-k", "t-s", "t-f", "t-n"} <= classes


def test_long_file_shows_a_window_around_the_place():
    text = "".join(f"line {number}\n" for number in range(1, 50_001))
    found = _lines(text, wanted=Wanted(focus=30_000))

    assert found.window.first < 30_000 < found.window.last
    assert len(found.html) < 150_000


@pytest.mark.parametrize("wanted", [Wanted(start=7_001), Wanted(end=7_000)])
def test_long_file_continues_where_the_window_ended(wanted):
    text = "x\n" * 20_000
    window = _lines(text, wanted=wanted).window

    assert (window.first if wanted.start else window.last) == (wanted.start or wanted.end)


def test_very_long_line_shows_the_part_with_the_cited_words():
    text = "start " + "a" * 3_000_000 + " the words " + "b" * 100_000
    found = _lines(text, mark(parsed(text, "a.txt"), "the words"))

    assert cited(found.html) == ["the words"]
    assert len(found.html) < 3 * LINE_CHARS
    assert found.cut_lines == 1


def test_many_long_lines_do_not_make_a_large_page():
    text = "\n".join(["y" * 3_900] * 2_000)
    found = _lines(text, wanted=Wanted(focus=1_000))

    assert len(found.html) < 250_000
    assert found.window.first <= 1_000 <= found.window.last
