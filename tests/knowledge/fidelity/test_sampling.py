from __future__ import annotations

import pytest

from knowledge.fidelity.sampling import holds


@pytest.mark.parametrize(
    ("there", "sentence"),
    [
        ("a  line\nbroken", "a line broken"),
        ("“so it is”", '"so it is"'),
        ("\ufef2\ufe92\ufbff\ufe92", "\u064a\u0628\u064a\u0628"),  # the shapes of a word, medial yeh as its twin
        ("\u06a9\u062a\u0627\u0628", "\u0643\u062a\u0627\u0628"),
    ],
)
def test_text_that_is_only_drawn_or_broken_differently_is_the_same(there: str, sentence: str) -> None:
    assert holds(there, sentence)


@pytest.mark.parametrize(
    ("there", "sentence"),
    [
        ("a line", "another line"),
        ("\u0643\u062a\u0627\u0628", "\u0643\u0627\u062a\u0628"),  # the same letters, another word
        ("", "a line"),
    ],
)
def test_other_text_is_not(there: str, sentence: str) -> None:
    assert not holds(there, sentence)


def test_letters_in_another_order_hold_only_loosely() -> None:
    assert holds("habibi \u064a\u0628\u064a\u0628\u062d", "\u062d\u0628\u064a\u0628\u064a habibi", loosely=True)
    assert not holds("habibi \u064a\u0628\u064a\u0628\u062d", "\u062d\u0628\u064a\u0628\u064a habibi")
