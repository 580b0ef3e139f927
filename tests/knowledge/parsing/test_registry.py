from __future__ import annotations

import pytest

from knowledge.parsing.base import ParseCode
from knowledge.parsing.registry import SUPPORTED, is_supported, kind_for_name, parser_for, type_for_name
from knowledge.parsing.source_map import ResourceKind
from tests.knowledge.parsing.builders import make_pdf, make_zip, refusal

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 40


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.md", ResourceKind.MARKDOWN),
        ("A.MD", ResourceKind.MARKDOWN),
        ("a.b.pdf", ResourceKind.PDF),
        ("语言.docx", ResourceKind.WORD),
        ("a.xlsx", ResourceKind.SHEET),
        ("a.pptx", ResourceKind.SLIDES),
        ("a.epub", ResourceKind.HTML),
        ("a.tsv", ResourceKind.CSV),
        ("a.eml", ResourceKind.MAIL),
        ("a.png", ResourceKind.IMAGE),
        ("a.exe", None),
        ("a.doc", None),
        ("nothing", None),
        (".md", None),
    ],
)
def test_kind_for_name(name: str, kind: ResourceKind | None) -> None:
    assert kind_for_name(name) is kind


def test_every_type_that_gives_text_has_a_parser_that_takes_it() -> None:
    for extension in SUPPORTED:
        found = type_for_name(f"a.{extension}")
        assert found is not None
        assert is_supported(f"a.{extension}") is (found.kind is not ResourceKind.IMAGE)
        if found.parser:
            assert parser_for(f"a.{extension}").provider_id in {"markdown", "text", "liteparse", "office", "html"}


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("a.png", PNG, ParseCode.NO_TEXT),
        ("a.exe", b"MZ", ParseCode.UNSUPPORTED_TYPE),
        ("a.md", PNG, ParseCode.UNSUPPORTED_TYPE),
        ("a.md", make_pdf([["text"]]), ParseCode.UNSUPPORTED_TYPE),
        ("a.txt", make_zip({"a": b"x"}), ParseCode.UNSUPPORTED_TYPE),
        ("a.pdf", PNG, ParseCode.UNSUPPORTED_TYPE),
        ("a.pdf", b"just text", ParseCode.CORRUPT),
        ("a.docx", b"just text", ParseCode.CORRUPT),
        ("a.docx", make_pdf([["text"]]), ParseCode.UNSUPPORTED_TYPE),
        ("a.docx", make_zip({"xl/workbook.xml": b"<a/>"}), ParseCode.UNSUPPORTED_TYPE),
        ("a.epub", b"just text", ParseCode.CORRUPT),
        ("a.docx", b"", ParseCode.EMPTY),
    ],
)
def test_name_is_checked_against_the_content(name: str, data: bytes, code: ParseCode) -> None:
    assert refusal(name, data) is code


def test_text_about_pdf_is_text() -> None:
    assert refusal("a.md", b"%PDF-1.4 " + PNG) is ParseCode.CORRUPT


def test_revision_tells_ways_of_outlining_apart() -> None:
    assert parser_for("a.py").revision != parser_for("a.txt").revision
    assert parser_for("a.txt").revision == parser_for("README").revision
    assert parser_for("a.md").revision == parser_for("b.markdown").revision
