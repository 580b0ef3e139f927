"""What is marked in a passage is what the search matched, nothing is cut inside a mark, and nothing is unescaped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.providers.local.tokens import placed_tokens, tokens
from knowledge.rendering.matched_words import excerpt_of, marked, matches, missing_words


def marks(text: str, query: str) -> list[str]:
    return [text[match.start : match.end] for match in matches(text, query)]


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("Either party may TERMINATE it.", "terminating", ["TERMINATE"]),
        ("Le café est fermé.", "CAFE ferme", ["café", "fermé"]),
        ("Le cafe\u0301 est la\u0300.", "café", ["cafe\u0301"]),
        ("双方可书面通知对方终止本合同。", "提前终止合同", ["终止", "合同"]),
        ("臺灣的資料庫備份", "数据库 资料库", ["資料庫"]),
        ("税率与税额", "税", ["税", "税"]),
        ("call getUserName() or get_user", "user", ["User", "user"]),
        ("ＡＢＣ部门", "abc", ["ＡＢＣ"]),
        ("the way it is", "what is the way", ["way"]),
        ("nothing here", "ownership", []),
    ],
    ids=["case and ending", "accents", "combining accent", "pairs", "variants", "one character", "parts", "width",
         "words that say nothing", "none"],
)  # fmt: skip
def test_marks_are_what_the_search_matched(text: str, query: str, expected: list[str]) -> None:
    assert marks(text, query) == expected


@given(st.text(max_size=60))
def test_placed_tokens_are_the_tokens_and_lie_in_the_text(text: str) -> None:
    placed = list(placed_tokens(text))

    assert [token for token, _, _ in placed] == tokens(text)
    assert all(0 <= start < end <= len(text) for _, start, end in placed)


def test_marked_text_is_escaped_piece_by_piece() -> None:
    text = '<img src=x onerror="alert(1)"> & <mark>water</mark>'

    html = marked(text, matches(text, "img water"))

    assert html == (
        "&lt;<mark>img</mark> src=x onerror=&quot;alert(1)&quot;&gt; &amp; &lt;mark&gt;<mark>water</mark>&lt;/mark&gt;"
    )


def test_excerpt_is_the_part_with_most_of_the_query() -> None:
    text = "water once. " + "filler words " * 60 + "water and sun in July. " + "more filler " * 60

    part = excerpt_of(text, matches(text, "sun water july"), chars=200)

    assert "water and sun in July." in text[part.start : part.end]
    assert part.is_cut_before
    assert part.is_cut_after
    assert part.end - part.start <= 200
    assert text[part.start - 1].isspace()


def test_excerpt_of_a_short_passage_is_all_of_it() -> None:
    part = excerpt_of("short", [], chars=200)

    assert (part.start, part.end, part.is_cut) == (0, 5, False)


def test_excerpt_at_the_end_uses_its_room() -> None:
    text = "filler words " * 60 + "water"

    part = excerpt_of(text, matches(text, "water"), chars=200)

    assert part.end == len(text)
    assert part.end - part.start > 130


def test_excerpt_has_no_more_than_so_many_lines_with_text() -> None:
    text = "\n\n".join(f"line {number}" for number in range(30))

    part = excerpt_of(text, [], chars=1_000, lines=8)

    assert text[part.start : part.end].split() == [each for n in range(8) for each in ("line", str(n))]
    assert part.is_cut_after


def test_excerpt_without_matches_is_the_beginning() -> None:
    part = excerpt_of("filler words " * 60, [], chars=100)

    assert part.start == 0
    assert part.is_cut_after


def test_marks_outside_of_an_excerpt_are_left_out() -> None:
    text = "water " + "filler words " * 60 + "sun and july"

    part = excerpt_of(text, matches(text, "sun july water"), chars=100)

    assert marked(text, matches(text, "sun july water"), part).count("<mark>") == 2


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("Water is here", "watering and Sunlight", ["Sunlight"]),
        ("终止合同", "提前终止合同", ["提前"]),
        ("user", "get_user", ["get_"]),
        ("all of it: water, sun", "sun water", []),
    ],
)
def test_missing_words_are_written_as_in_the_query(text: str, query: str, expected: list[str]) -> None:
    assert missing_words(query, matches(text, query)) == expected
