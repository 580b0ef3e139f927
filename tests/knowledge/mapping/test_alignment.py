from __future__ import annotations

import random

import pytest

from knowledge.citations.locators import MapState
from knowledge.mapping import document_map
from knowledge.mapping.alignment import NOWHERE, align
from knowledge.mapping.converted import Converted, Piece
from knowledge.mapping.document_map import map_document
from knowledge.mapping.skeleton import Skeleton
from knowledge.mapping.subsequence import common_pairs
from knowledge.parsing.base import ParseInput
from knowledge.parsing.registry import parse_bytes
from knowledge.parsing.source_map import SourceMap


def _parsed(text: str) -> SourceMap:
    return parse_bytes(ParseInput(name="note.md", data=text.encode(), source_hash="sha256:0"))


def _whole(text: str) -> Converted:
    return Converted(text=text, pieces=(Piece(key="all", start=0, end=len(text)),))


@pytest.mark.parametrize("seed", range(20))
def test_common_pairs_are_a_longest_common_subsequence(seed: int) -> None:
    dice = random.Random(seed)
    left, right = ("".join(dice.choices("abcd", k=dice.randrange(30))) for _ in range(2))

    pairs = common_pairs(left, right)

    assert all(left[here] == right[there] for here, there in pairs)
    assert pairs == sorted(set(pairs))
    assert len({there for _here, there in pairs}) == len(pairs)
    assert len(pairs) == _length(left, right)


def _length(left: str, right: str) -> int:
    row = [0] * (len(right) + 1)
    for character in left:
        before = row[:]
        for at, other in enumerate(right):
            row[at + 1] = before[at] + 1 if character == other else max(row[at], before[at + 1])
    return row[-1]


def test_skeleton_leaves_letters_and_digits_and_knows_where_they_stand() -> None:
    text = "Éa-b\u0301 \ufb01x ２"

    skeleton = Skeleton.of(text)

    assert skeleton.letters == "eabfix2"
    assert skeleton.span_of(0, 1) == (0, 2)
    assert skeleton.range_of(0, 4) == (0, 3)


def test_block_that_moved_is_found_and_copies_keep_their_order() -> None:
    first, second = (
        "the pumps of the harbour are looked after by the night shift",
        "a ladder leans on the old boat shed",
    )
    twice = "always close the gate"
    theirs, ours = Skeleton.of(f"{second} {twice} {first} {twice}"), Skeleton.of(f"{first} {twice} {second} {twice}")

    found = align(theirs.letters, ours.letters)

    at = theirs.letters.index("thepumps")
    assert list(found.to[at : at + 5]) == list(range(5))
    assert found.coverage > 0.9


def test_letters_that_stand_nowhere_have_no_place() -> None:
    found = align("quitesomethingelseentirely", "0123456789" * 5)

    assert set(found.to) == {NOWHERE}


def test_passage_with_a_foreign_part_is_partial_and_shows_what_it_shares() -> None:
    shared = "The ladder behind the shed is painted red every spring. "
    ours = _parsed(shared + "Nothing else is written in this note, which is short and plain.\n")

    mapped = map_document(_whole(shared + "Zxqv jkwp 7351 mnrt."), ours, source_hash="sha256:0").passages["all"]

    assert mapped.state is MapState.PARTIAL
    assert [ours.text[start:end] for start, end in mapped.spans] == [shared.rstrip(". ")]


def test_other_text_maps_to_nothing() -> None:
    ours = _parsed("# Boats\n\nThe ferry leaves at nine and comes back at noon.\n")

    drawn = map_document(_whole("Completely different words about mountains."), ours, source_hash="sha256:0")

    assert drawn.state is MapState.NONE
    assert drawn.counts == {"none": 1}


def test_text_beyond_the_limit_is_not_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_map, "_LONGEST", 10)
    text = "The ferry leaves at nine and comes back at noon.\n"

    assert map_document(_whole(text), _parsed(text), source_hash="sha256:0").state is MapState.NONE


def test_document_without_words_says_so() -> None:
    assert map_document(_whole(" \n *** \n"), _parsed("A note.\n"), source_hash="sha256:0").state is MapState.NO_TEXT
