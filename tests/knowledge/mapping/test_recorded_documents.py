"""The document map over what a live server made of generated documents, against the places that were written down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from knowledge.citations.locators import MapState
from knowledge.mapping.document_map import DocumentMap, Mapped, map_document
from knowledge.parsing.source_map import SourceMap
from knowledge.providers.weknora.conversion import key_of, put_together
from tests.knowledge.mapping.true_places import stands_right
from tests.weknora_documents import recorded, without_markers

_WITH_TRUTH = sorted(name for name, each in recorded().items() if any("expect" in p for p in each.passages))


def _blind(source_map: SourceMap) -> SourceMap:
    """The text without markers: no line may be told from its twin by them."""
    return replace(source_map, text=without_markers(source_map.text))


@cache
def _map(name: str, onto: str = "") -> DocumentMap:
    each, other = recorded()[name], recorded()[onto or name]
    ours = other.parsed()
    converted = put_together(each.rows(blind=True), each.file_type)
    return map_document(converted, _blind(ours) if ours else None, source_hash="sha256:0")


def _mapped(name: str, onto: str = "") -> Iterator[tuple[dict[str, Any], Mapped]]:
    each = recorded()[name]
    for row, passage in zip(each.rows(blind=True), each.passages, strict=True):
        yield passage, _map(name, onto).passages[key_of(row.content, row.start, row.end)]


def _is_right(name: str, passage: dict[str, Any], mapped: Mapped) -> bool:
    ours = recorded()[name].parsed()
    return ours is not None and stands_right(ours, mapped, passage)


@pytest.mark.parametrize("name", _WITH_TRUTH)
def test_no_passage_has_a_wrong_place(name: str) -> None:
    ours = recorded()[name].parsed()
    placed = [(passage, mapped) for passage, mapped in _mapped(name) if mapped.spans]

    assert ours is not None or not placed
    assert [passage["start"] for passage, mapped in placed if not _is_right(name, passage, mapped)] == []


def test_all_passages_of_the_recorded_set_stand_where_they_were_written_down() -> None:
    """410 passages, 407 with words. A passage is right as the recording counts it: every marker it holds lies in the
    place it was given, and the place holds no other but that of the paragraph in which the passage begins, besides the
    lines, rows or slides that were written down for it. How much of the passage is shown there is its state. 403 are
    exact; the other 4 end with a block that the page hides, as the test after this says."""
    found = [(name, passage, mapped) for name in _WITH_TRUTH for passage, mapped in _mapped(name)]
    with_words = [each for each in found if each[1]["expect"]["state"] == "exact"]
    right = [mapped.state for name, passage, mapped in with_words if mapped.spans and _is_right(name, passage, mapped)]

    assert (len(with_words), len(right)) == (407, 407)
    assert Counter(right) == {MapState.EXACT: 403, MapState.PARTIAL: 4}
    assert [mapped.state for _name, passage, mapped in found if passage["expect"]["state"] == "no_text"] == (
        [MapState.NO_TEXT] * 3
    )


def test_passage_with_words_that_the_page_hides_is_partial() -> None:
    """A hit may rest on words that nobody sees there, so its place is not called exact; what is shown of it ends before
    them. A title, which the browser shows, and the numbers of a chart do not make a passage partial."""
    partial = [(name, passage) for name in _WITH_TRUTH for passage, m in _mapped(name) if m.state is MapState.PARTIAL]

    assert {name for name, _passage in partial} == {"manual.html"}
    assert all("invisible div words" in passage["content"] for _name, passage in partial)
    ours = recorded()["manual.html"].parsed()
    assert ours
    assert "invisible" not in ours.text


@pytest.mark.parametrize(
    ("name", "onto"),
    [("plain.pdf", "two-column.pdf"), ("report.docx", "tables.docx"), ("manual.html", "book.epub"),
     ("register.xlsx", "same-rows.xlsx"), ("chinese.docx", "report.docx")],
)  # fmt: skip
def test_another_file_gives_no_exact_place(name: str, onto: str) -> None:
    assert MapState.EXACT not in {mapped.state for _passage, mapped in _mapped(name, onto)}


@pytest.mark.parametrize("name", ["plain.pdf", "two-column.pdf", "report.docx", "manual.html", "book.epub"])
def test_passage_that_was_cut_out_of_the_file_is_never_exact(name: str) -> None:
    """Each time the words of one passage are taken out of our text, the server still having them."""
    each, ours = recorded()[name], recorded()[name].parsed()
    assert ours is not None
    blind = _blind(ours)
    converted = put_together(each.rows(blind=True), each.file_type)
    whole = _map(name)
    for piece in converted.pieces[1::7]:
        spans = whole.passages[piece.key].spans
        text = blind.text
        for start, end in spans:  # blanks keep lines and offsets where they are
            text = text[:start] + "".join("\n" if each == "\n" else " " for each in text[start:end]) + text[end:]

        mapped = map_document(converted, replace(blind, text=text), source_hash="sha256:0").passages[piece.key]

        assert mapped.state is not MapState.EXACT


def test_passages_without_words_name_the_page_of_their_picture() -> None:
    """Where nothing can be read here, the server's own mark of a page is all there is."""
    assert {mapped.page for _passage, mapped in _mapped("scanned.pdf")} <= {None, 1}


def test_map_survives_being_kept() -> None:
    drawn = _map("two-column.pdf")

    assert DocumentMap.from_bytes(drawn.to_bytes()) == drawn
    with pytest.raises(ValueError, match="not a document map"):
        DocumentMap.from_bytes(b'{"schema": "another"}')
