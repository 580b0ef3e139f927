"""The document map over text files that a live server was sent as they are: it changes images, links, tables, NULs."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest

from knowledge.citations.lines import LineIndex
from knowledge.citations.locators import MapState
from knowledge.mapping.document_map import Mapped, map_document
from knowledge.parsing.base import ParseInput
from knowledge.parsing.registry import parse_bytes
from knowledge.parsing.source_map import SourceMap
from knowledge.providers.weknora.conversion import key_of, put_together
from tests.weknora_documents import RecordedText, recorded_texts

#: Sent with an encoding that the server takes for another: its letters are lost, and we send such a text as UTF-8.
_LOST = "21-not-utf8.txt"


def _parsed(each: RecordedText) -> SourceMap:
    source_hash = "sha256:" + hashlib.sha256(each.body).hexdigest()
    return parse_bytes(ParseInput(name=each.name, data=each.body, source_hash=source_hash))


def _mapped(each: RecordedText, ours: SourceMap) -> list[Mapped]:
    drawn = map_document(put_together(each.rows, each.sent_name.rpartition(".")[2]), ours, source_hash="sha256:0")
    return [drawn.passages[key_of(row.content, row.start, row.end)] for row in each.rows]


def _lines(ours: SourceMap, mapped: Mapped) -> tuple[int, int]:
    """First and last line of a place, in the file; for a table its rows."""
    index = LineIndex(ours.text)
    numbers = [line for span in mapped.spans for line in index.range_of(*span)]
    places = [ours.place_of(line) for line in (min(numbers), max(numbers))]
    first, last = (place.line or place.row for place in places)
    assert first
    assert last
    return first, last


@pytest.mark.parametrize("name", sorted(set(recorded_texts()) - {"22-quotes.csv"}))
def test_place_lies_within_the_lines_that_were_written_down(name: str) -> None:
    """It may be smaller where a passage begins or ends with lines without a letter."""
    each = recorded_texts()[name]
    ours = _parsed(each)
    for mapped, (_state, first, last) in zip(_mapped(each, ours), each.lines, strict=True):
        if mapped.spans:
            assert first <= _lines(ours, mapped)[0] <= _lines(ours, mapped)[1] <= last


def test_all_passages_of_the_recorded_texts_are_accounted_for() -> None:
    states = Counter(
        (state, mapped.state)
        for each in recorded_texts().values()
        if each.name != _LOST
        for mapped, (state, *_lines) in zip(_mapped(each, _parsed(each)), each.lines, strict=True)
    )

    assert {(told, found) for told, found in states if found is not MapState.EXACT} == {("none", MapState.NONE)}
    assert sum(states.values()) == 232


def test_text_that_lost_its_letters_is_found_nowhere() -> None:
    each = recorded_texts()[_LOST]

    assert {mapped.state for mapped in _mapped(each, _parsed(each))} == {MapState.NONE}
