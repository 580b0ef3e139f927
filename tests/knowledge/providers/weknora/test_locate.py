from __future__ import annotations

from typing import Any

import pytest

from knowledge.providers.weknora.locate import fits, is_table_head, locate
from tests.knowledge.providers.weknora.desk import recorded_chunks

CHUNKS = [
    pytest.param(record["sent"], chunk, id=f"{record['name']}-{chunk['chunk_index']}")
    for record in recorded_chunks()
    for chunk in record["chunks"]
]


@pytest.mark.parametrize(("sent", "chunk"), CHUNKS)
def test_locate_finds_every_recorded_passage_in_its_lines(sent: str, chunk: dict[str, Any]) -> None:
    start, end = chunk["start_at"], chunk["end_at"]
    found = locate(sent, chunk["content"], start, end)

    assert found is not None
    assert sent[slice(*found)] == sent[start:end].strip()
    assert [sent.count("\n", 0, start) + 1, sent.count("\n", 0, end - 1) + 1] == chunk["lines"]


@pytest.mark.parametrize(("sent", "chunk"), CHUNKS)
def test_locate_refuses_every_passage_in_a_shifted_text(sent: str, chunk: dict[str, Any]) -> None:
    assert locate("x" + sent, chunk["content"], chunk["start_at"], chunk["end_at"]) is None


@pytest.mark.parametrize(("sent", "chunk"), CHUNKS)
def test_fits_takes_every_recorded_passage(sent: str, chunk: dict[str, Any]) -> None:
    assert fits(chunk["content"], chunk["start_at"], chunk["end_at"])


TABLE = "| a | b |\n|---|---|\n"
REFUSED = {
    "edited": ("one two three", "one TWO three", 0, 13),
    "a part only": ("one two three", "three", 0, 13),
    "any prefix": ("one two three", "zero one two three", 0, 13),
    "blank": ("one    two", "   ", 3, 6),
    "nothing": ("one", "", 0, 0),
    "a table head alone": ("| 1 | 2 |\n", TABLE, 0, 0),
    "beyond the end": ("one", "one", 0, 30),
    "before the start": ("one", "one", -1, 2),
}


@pytest.mark.parametrize(("sent", "content", "start", "end"), REFUSED.values(), ids=REFUSED)
def test_locate_claims_no_place_it_cannot_prove(sent: str, content: str, start: int, end: int) -> None:
    assert locate(sent, content, start, end) is None


def test_locate_takes_a_repeated_table_head() -> None:
    sent = TABLE + "| 1 | 2 |\n| 3 | 4 |\n"
    start = sent.index("| 3")

    assert locate(sent, TABLE + sent[start:], start, len(sent)) == (start, len(sent) - 1)


def test_locate_tells_identical_paragraphs_apart() -> None:
    sent = "same\n\n" * 12

    assert [locate(sent, "same\n\n", at, at + 6) for at in range(0, len(sent), 6)] == [
        (at, at + 4) for at in range(0, len(sent), 6)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TABLE, True),
        ("| a |\n| :---: |\n", True),
        ("a | b\n---|---\n", False),
        ("| a | b |\n", False),
        (TABLE + "| 1 | 2 |\n", False),
        ("| a | b |\n| x | y |\n", False),
        ("", False),
    ],
)
def test_is_table_head_takes_a_row_and_its_dashes_only(text: str, expected: bool) -> None:
    assert is_table_head(text) is expected
