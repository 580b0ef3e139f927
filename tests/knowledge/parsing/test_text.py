from __future__ import annotations

import pytest

from knowledge.parsing.base import ParseCode, ParseLimits
from knowledge.parsing.source_map import ResourceKind
from tests.knowledge.parsing.builders import parse, refusal

PYTHON = """import os

class Shelf:
    def put(self, book):
        return book

    async def take(self): ...


def main() -> None:
    pass
"""
RUST = """pub struct Shelf { books: u8 }

impl Shelf {
    pub fn put(&mut self) {}
}
fn main() {}
"""


@pytest.mark.parametrize(
    ("name", "text", "paths"),
    [
        ("a.py", PYTHON, [("Shelf",), ("Shelf", "put"), ("Shelf", "take"), ("main",)]),
        ("a.rs", RUST, [("Shelf",), ("Shelf",), ("Shelf", "put"), ("main",)]),
        ("a.js", "export class A {\n  x() {}\n}\nconst f = (a) => a\nfunction g() {}\n", [("A",), ("f",), ("g",)]),
        ("a.go", "func (s *Shelf) Put() {\n}\ntype Shelf struct {\n}\n", [("Shelf struct",)]),
        ("a.sh", "put() {\n  true\n}\nfunction take {\n}\n", [("put",), ("take",)]),
        ("a.sql", "CREATE TABLE IF NOT EXISTS books (id int);\ncreate view v as select 1;\n", [("books",), ("v",)]),
        ("a.rst", "Title\n=====\n\nPart\n----\n\ntext\n", [("Title",), ("Title", "Part")]),
        ("a.org", "* One\n** Two\n", [("One",), ("One", "Two")]),
        ("a.adoc", "= One\n\n== Two\n", [("One",), ("One", "Two")]),
        ("a.tex", "\\section{One}\ntext\n\\subsection{Two}\n", [("One",), ("One", "Two")]),
        ("a.txt", "第一章 开始\n\n正文。\n第二章\n他在第三章里说。\n", [("第一章 开始",), ("第二章",)]),
    ],
)
def test_sections_are_told_from_single_lines(name: str, text: str, paths: list[tuple[str, ...]]) -> None:
    assert [section.path for section in parse(name, text).sections] == paths


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.log", ResourceKind.TEXT),
        ("a.json", ResourceKind.CODE),
        ("Makefile", ResourceKind.CODE),
        ("LICENSE-MIT", ResourceKind.TEXT),
        ("README", ResourceKind.TEXT),
    ],
)
def test_kind_follows_the_name(name: str, kind: ResourceKind) -> None:
    assert parse(name, "some: text\n").kind is kind


def test_code_is_cut_after_blank_lines() -> None:
    body = "\n".join(f"    x = {number}" for number in range(20))
    text = "\n\n".join(f"function_call_{number}(\n{body}\n)" for number in range(6))

    assert all(block.text.startswith("function_call") for block in parse("a.txt.py", text).blocks)


def test_one_huge_line_is_too_large() -> None:
    limits = ParseLimits(max_text_chars=100_000)

    assert refusal("a.md", b"word " * 30_000, limits) is ParseCode.TOO_LARGE
    assert refusal("a.md", b"word " * 300_000, limits) is ParseCode.TOO_LARGE


def test_file_over_the_limit_is_too_large() -> None:
    assert refusal("a.md", b"x" * 101, ParseLimits(max_bytes=100)) is ParseCode.TOO_LARGE
