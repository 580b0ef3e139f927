from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge.parsing.base import ParseError
from knowledge.parsing.blocks import CAP, Blocks, Span, cut_line
from knowledge.parsing.source_map import SourceMap
from tests.knowledge.parsing.builders import parse

EDITOR_BREAK = re.compile(r"\r\n|\n|\r")
_WORDS = st.text(st.sampled_from("abc 中文。.!#-*>|`[]()=_~:\t\x0c\u2028\u3000"), max_size=80)
_LINES = st.one_of(
    _WORDS,
    st.sampled_from(
        ["# Head", "## Sub", "- item", "> quote", "```", "| a | b |", "|---|---|", "---", "def f():", "第一章 开始"]
    ),
    st.integers(1, 60).map(lambda count: "A sentence here. " * count),
    st.integers(1000, 3000).map(lambda count: "x" * count),
)
TEXTS = st.lists(_LINES, max_size=25).flatmap(
    lambda lines: st.sampled_from(["\n", "\r\n", "\r"]).map(lambda end: end.join(lines))
)


def check_blocks(source_map: SourceMap) -> None:
    lines = source_map.text.split("\n")
    held = dict.fromkeys(range(1, len(lines) + 1), 0)
    for block in source_map.blocks:
        assert block.text == source_map.text[block.char_start : block.char_end]
        assert block.text.strip()
        assert len(block.text) <= CAP
        for number in range(block.line_start, block.line_end + 1):
            held[number] += 1
    for number, line in enumerate(lines, start=1):
        assert held[number] == 1 or not line.strip() or len(line) > CAP
    starts = [block.char_start for block in source_map.blocks]
    assert starts == sorted(starts)
    assert len({block.id for block in source_map.blocks}) == len(source_map.blocks)


@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.py", "a.csv", "a.rst"])
@settings(max_examples=60, deadline=None)
@given(text=TEXTS)
def test_blocks_are_exact_slices_that_hold_every_line_once(name: str, text: str) -> None:
    try:
        source_map = parse(name, text)
    except ParseError:
        return

    check_blocks(source_map)
    assert SourceMap.from_bytes(source_map.to_bytes(), source_map.text) == source_map
    assert parse(name, text).to_bytes() == source_map.to_bytes()


@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.py"])
@settings(max_examples=40, deadline=None)
@given(text=TEXTS)
def test_line_kinds_number_their_lines_as_an_editor(name: str, text: str) -> None:
    try:
        source_map = parse(name, text)
    except ParseError:
        return

    assert source_map.text.split("\n") == EDITOR_BREAK.split(text)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_change_neither_text_nor_numbers(end: str) -> None:
    note = ["---", "title: Note", "---", "# Head", "", "Body\x0cwith\u2028odd breaks", "last"]

    source_map = parse("a.md", end.join(note))

    assert source_map.text == "\n".join(note)
    assert source_map.title == "Note"
    assert source_map.sections[0].line_start == 4


def test_mixed_line_ends_count_once_each() -> None:
    assert parse("a.txt", "one\r\ntwo\rthree\nfour\r\n\r\nsix").text.split("\n") == [
        "one",
        "two",
        "three",
        "four",
        "",
        "six",
    ]


def test_long_line_is_cut_at_ends_of_sentences() -> None:
    line = "这是一个句子，用来检查切分。" * 300

    pieces = [line[start:end] for start, end in cut_line(line)]

    assert "".join(pieces) == line
    assert all(piece.endswith("。") and len(piece) <= CAP for piece in pieces)
    assert len({block.line_start for block in parse("a.md", line).blocks}) == 1


def test_long_line_without_any_end_is_cut_at_the_cap() -> None:
    assert [end - start for start, end in cut_line("x" * 3000)] == [CAP, CAP, 600]


def test_small_paragraphs_of_a_section_share_a_block_and_sections_do_not() -> None:
    source_map = parse("a.md", "# One\n\nfirst\n\nsecond\n\n# Two\n\nthird\n")

    assert [block.text for block in source_map.blocks] == ["# One\n\nfirst\n\nsecond", "# Two\n\nthird"]
    assert [block.section_id for block in source_map.blocks] == ["sec_1", "sec_2"]


def test_edge_starts_a_block() -> None:
    blocks = Blocks(["a", "b"], edges=[2]).cut([Span(type="paragraph", start=1, end=2)])

    assert [block.text for block in blocks] == ["a", "b"]


def test_long_list_is_cut_at_items() -> None:
    items = [f"- item {number} " + "word " * 12 + "\n  continued " + "more " * 12 for number in range(30)]

    blocks = parse("a.md", "\n".join(items)).blocks

    assert len(blocks) > 3
    assert all(block.text.startswith("- item") for block in blocks)
