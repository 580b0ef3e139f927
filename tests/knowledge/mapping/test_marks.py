"""Marks of pages in a provider's text, against the pages on which its words stand in ours."""

from __future__ import annotations

import pytest

from knowledge.citations.locators import MapState
from knowledge.mapping.converted import Converted, Mark, Piece
from knowledge.mapping.document_map import DocumentMap, map_document
from knowledge.mapping.single import find_alone
from knowledge.mapping.skeleton import Skeleton
from knowledge.parsing.source_map import Place, ResourceKind, SourceMap

FIRST, SECOND = "The north gate is opened by the guard.", "Its key hangs behind the kitchen door."
TEXT = f"{FIRST}\n{SECOND}"


def _ours(kind: ResourceKind) -> SourceMap:
    places = [Place(page=at) if kind is ResourceKind.PDF else Place(slide=at) for at in (1, 2)]
    return SourceMap(
        provider="p", model_version="1", kind=kind, source_hash="h", text=TEXT, blocks=(), places=tuple(places)
    )


def _drawn(kind: ResourceKind, *marks: tuple[int, int]) -> DocumentMap:
    pieces = (Piece(key="a", start=0, end=len(FIRST)), Piece(key="b", start=len(FIRST) + 1, end=len(TEXT)))
    converted = Converted(text=TEXT, pieces=pieces, marks=tuple(Mark(at=at, page=page) for at, page in marks))
    return map_document(converted, _ours(kind), source_hash="h")


@pytest.mark.parametrize(
    ("kind", "marks", "states"),
    [
        (ResourceKind.SLIDES, [(0, 1), (len(FIRST), 2)], "exact exact"),
        (ResourceKind.SLIDES, [(0, 1), (len(FIRST), 3)], "exact none"),
        (ResourceKind.SLIDES, [(0, 1)], "exact none"),
        (ResourceKind.PDF, [(len(FIRST), 1)], "exact exact"),
        (ResourceKind.PDF, [(len(FIRST), 2)], "exact exact"),
        (ResourceKind.PDF, [(len(FIRST), 3)], "exact none"),
        (ResourceKind.PDF, [(0, 2)], "none exact"),
        (ResourceKind.PDF, [(len(TEXT), 1)], "exact none"),
        (ResourceKind.PDF, [], "exact exact"),
    ],
)
def test_passage_on_another_page_than_a_mark_allows_has_no_place(
    kind: ResourceKind, marks: list[tuple[int, int]], states: str
) -> None:
    """A picture of page 2 stands before no word of page 1, and one of page 1 after no word of page 2."""
    found = _drawn(kind, *marks)

    assert " ".join(each.state for each in found.passages.values()) == states
    assert found.contradicted == states.split().count("none")
    assert DocumentMap.from_bytes(found.to_bytes()) == found


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ("Its key hangs behind the kitchen door", MapState.PARTIAL),
        ("its KEY hangs **behind** the\nkitchen-door", MapState.PARTIAL),
        ("Its key hangs behind the kitchen wall", MapState.NONE),
        ("the kitchen", MapState.NONE),
        ("", MapState.NONE),
    ],
)
def test_words_alone_have_a_place_where_all_of_them_stand(words: str, state: MapState) -> None:
    found = find_alone(words, Skeleton.of(TEXT))

    assert found.state is state
    shown = [TEXT[slice(*span)] for span in found.spans]
    assert shown == (["Its key hangs behind the kitchen door"] if state is MapState.PARTIAL else [])


def test_words_that_stand_twice_have_no_place_alone() -> None:
    assert find_alone(SECOND, Skeleton.of(f"{TEXT}\n{SECOND}")).state is MapState.NONE
