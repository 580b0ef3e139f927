from __future__ import annotations

import json
import time
from typing import Any

import pytest

from pageai.results import MAX_BYTES, count_of, fitted, size_of, told

CITATION = "[a.md / line 1](/w/ws/open/a.md?cite=" + "c" * 300 + ")"


def reference(quote: str, **more: Any) -> dict[str, Any]:
    return {
        "quote": quote,
        "matchedText": quote,
        "citationMarkdown": CITATION,
        "openReference": "t" * 300,
        "openUrl": "/w/ws/open/a.md",
        "locatorDegraded": False,
        "locatorState": "unverified",
        "locator": {"quote": quote, "openAction": {"url": "/w"}, "lineStart": 1},
        **more,
    }


def test_told_says_once_what_stands_twice() -> None:
    [row] = told({"results": [reference("words")]})["results"]

    assert row["quote"] == "words"
    assert "matchedText" not in row
    assert row["locator"] == {"lineStart": 1}
    assert "openUrl" not in row
    assert row["citationMarkdown"] == CITATION


def test_told_keeps_how_an_opened_place_is_opened() -> None:
    opened = reference("words") | {"openAction": {"type": "mnote.open_resource_locator"}}

    assert told(opened)["openAction"] == {"type": "mnote.open_resource_locator"}


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"locatorDegraded": True}, "not exact"),
        ({"locatorState": "moved"}, "another place"),
        ({"locatorState": "changed"}, "no longer in the file"),
    ],
)
def test_told_says_in_words_what_is_not_exact(facts: dict[str, Any], words: str) -> None:
    [row] = told({"results": [reference("x", **facts)]})["results"]

    assert words in row["placeNote"]


def test_told_has_nothing_to_say_about_an_exact_place() -> None:
    assert "placeNote" not in told({"results": [reference("x", locatorState="exact")]})["results"][0]


def test_a_small_answer_stays_as_it_is() -> None:
    body = {"results": [reference("x")]}

    assert fitted(body) == body


@pytest.mark.parametrize(
    "body",
    [
        {"results": [reference("x" * 10_000_000)]},
        {"results": [reference("x" * 10_000) for _ in range(1_000)]},
        {"results": [], "section": {"blocks": [{"quote": "x" * 100} for _ in range(100_000)]}},
        {"results": [{"title": "题" * 3_400_000}]},
        {f"member{number}": "x" * 500 for number in range(20_000)},
    ],
    ids=["one long quote", "many results", "many blocks", "wide characters", "no list"],
)
def test_ten_megabytes_are_cut_and_it_is_said(body: dict[str, Any]) -> None:
    assert size_of(body) >= 10_000_000
    began = time.monotonic()

    cut = fitted(body)

    assert size_of(cut) <= MAX_BYTES
    assert cut["isCut"] is True
    assert "Ask for less" in cut["cutNote"]
    assert time.monotonic() - began < 10


def test_cutting_leaves_citations_whole_and_keeps_what_fits() -> None:
    cut = fitted({"results": [reference("x" * 10_000, number=number) for number in range(1_000)]})

    assert [row["number"] for row in cut["results"]] == list(range(len(cut["results"])))
    assert len(cut["results"]) > 10
    assert all(row["citationMarkdown"] == CITATION and len(row["openReference"]) == 300 for row in cut["results"])


def test_cutting_does_not_change_what_it_was_given() -> None:
    body = {"results": [reference("x" * 10_000) for _ in range(100)]}
    before = json.dumps(body)

    fitted(body)

    assert json.dumps(body) == before


@pytest.mark.parametrize(
    ("body", "count"),
    [({"results": [1, 2]}, 2), ({"results": []}, 0), ({"knowledgeBases": [1]}, 1), ({"quote": "x"}, 1)],
)
def test_count_of_counts_what_an_answer_holds(body: dict[str, Any], count: int) -> None:
    assert count_of(body) == count
