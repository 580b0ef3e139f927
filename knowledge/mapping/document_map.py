"""The document map: of every passage that a provider cut of its own reading of a file, where it stands in ours.

Made once for a document as a whole, because a passage alone is often found several times or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from knowledge.citations.lines import LineIndex
from knowledge.citations.locators import MapState
from knowledge.mapping.alignment import NOWHERE, Alignment
from knowledge.mapping.converted import Converted, Piece
from knowledge.mapping.marks import CHANCE, doubted
from knowledge.mapping.reading_orders import best_alignment
from knowledge.mapping.skeleton import Skeleton
from knowledge.parsing.source_map import SourceMap

#: Changes whenever the same texts may give another map.
REVISION = "2"
SCHEMA = "mnote.document_map.v1"

#: Parts of the letters of a passage that have to be found.
_EXACT, _PARTIAL, _PAGE = 0.90, 0.60, 0.40
#: Less of the whole than this, and it is another file or another text.
_SAME_DOCUMENT = 0.60
#: What a passage that is found only in part may show: runs of so many letters.
_SHOWN = 16
_SHORTEST = 3
#: Longer texts would keep a worker for minutes.
_LONGEST = 3_000_000
#: Letters that only we have between two runs of one passage: a footer, the number of a list.
_BETWEEN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """Where a passage stands: `spans` of our derived text in its order there, and a page or slide where only that is
    known."""

    state: MapState
    spans: tuple[tuple[int, int], ...] = ()
    page: int | None = None


NOT_MAPPED = Mapped(state=MapState.NONE)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentMap:
    """`text_of` names the parse whose derived text the spans point into: parser and revision. `contradicted` counts the
    passages without a place because the provider's own marks name another page than the one their words stand on."""

    source_hash: str
    text_of: tuple[str, str]
    passages: dict[str, Mapped] = field(repr=False)
    contradicted: int = 0

    @property
    def state(self) -> MapState:
        """The state of the document: that of its passages where they agree, else PARTIAL."""
        states = {each.state for each in self.passages.values()} - {MapState.NO_TEXT}
        if not states:
            return MapState.NO_TEXT
        return states.pop() if len(states) == 1 else MapState.PARTIAL

    @property
    def counts(self) -> dict[str, int]:
        """How many passages have which state."""
        found = [each.state.value for each in self.passages.values()]
        return {state: found.count(state) for state in sorted(set(found))}

    def to_bytes(self) -> bytes:
        passages = {
            key: [each.state.value, [list(span) for span in each.spans], each.page]
            for key, each in self.passages.items()
        }
        body: dict[str, object] = {"schema": SCHEMA, "sourceHash": self.source_hash, "passages": passages}
        body["textOf"] = list(self.text_of)
        if self.contradicted:
            body["contradicted"] = self.contradicted
        return json.dumps(body, separators=(",", ":"), sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> DocumentMap:
        """Raises ValueError for what is no document map of this version."""
        body = json.loads(data)
        if body.get("schema") != SCHEMA:
            raise ValueError("not a document map of this version")
        passages = {
            key: Mapped(state=MapState(state), spans=tuple((first, last) for first, last in spans), page=page)
            for key, (state, spans, page) in body["passages"].items()
        }
        parser, revision = body["textOf"]
        return cls(
            source_hash=body["sourceHash"],
            text_of=(parser, revision),
            passages=passages,
            contradicted=body.get("contradicted", 0),
        )


def map_document(converted: Converted, source_map: SourceMap | None, *, source_hash: str) -> DocumentMap:
    """Align the whole converted text with ours, and say of each of its pieces where it stands. Without a text of ours
    only the provider's own marks of pages are left, as with texts that are too long."""
    if source_map is None:
        passages = {piece.key: _unplaced(converted, piece) for piece in converted.pieces}
        return DocumentMap(source_hash=source_hash, text_of=("", ""), passages=passages)
    theirs, ours = Skeleton.of(converted.text), Skeleton.of(source_map.text)
    if max(len(theirs.letters), len(ours.letters)) > _LONGEST:
        return map_document(converted, None, source_hash=source_hash)
    echoes = bytearray(len(theirs.letters))
    for start, end in converted.echoes:
        first, last = theirs.range_of(start, end)
        echoes[first:last] = b"\1" * (last - first)
    found = best_alignment(theirs, ours, source_map)
    doubts = doubted(converted.marks, theirs, ours, found, source_map)
    mapper = _Mapper(theirs, ours, found, source_map, echoes, doubts)
    return DocumentMap(
        source_hash=source_hash,
        text_of=(source_map.provider, source_map.model_version),
        passages={piece.key: mapper.locate(piece) for piece in converted.pieces},
        contradicted=sum(mapper.is_contradicted(piece) for piece in converted.pieces),
    )


def _unplaced(converted: Converted, piece: Piece) -> Mapped:
    if piece.is_of_picture:
        return _by_mark(piece)
    has_words = any(each.isalnum() for each in converted.text[piece.start : piece.end])
    return _by_mark(piece) if has_words else Mapped(state=MapState.NO_TEXT, page=piece.page)


def _by_mark(piece: Piece) -> Mapped:
    return NOT_MAPPED if piece.page is None else Mapped(state=MapState.PAGE, page=piece.page)


@dataclass(slots=True)
class _Mapper:
    theirs: Skeleton
    ours: Skeleton
    alignment: Alignment
    source_map: SourceMap
    echoes: bytearray
    doubts: bytearray
    is_same: bool = field(init=False)
    _lines: LineIndex = field(init=False)

    def __post_init__(self) -> None:
        self._lines = LineIndex(self.source_map.text)
        self.is_same = self.alignment.coverage >= _SAME_DOCUMENT

    def locate(self, piece: Piece) -> Mapped:
        if piece.is_of_picture:
            return _by_mark(piece)
        first, last = self.theirs.range_of(piece.start, piece.end)
        if first == last:
            return Mapped(state=MapState.NO_TEXT, page=piece.page)
        places = [place for place in self.alignment.to[first:last] if place != NOWHERE]
        share = len(places) / max(1, last - first - self._echoed(first, last))
        if not places or not self.is_same or share < _PAGE:
            return _by_mark(piece)
        if self.is_contradicted(piece):
            return NOT_MAPPED
        if self._is_ambiguous(first, last):
            return Mapped(state=MapState.AMBIGUOUS)
        runs = list(self._runs(sorted(places)))
        if share >= _EXACT:
            return Mapped(state=MapState.EXACT, spans=self._spans(runs))
        shown = [run for run in runs if run[1] - run[0] + 1 >= _SHOWN]
        if share >= _PARTIAL and shown:
            return Mapped(state=MapState.PARTIAL, spans=self._spans(shown), page=self._page_of(shown))
        page = self._page_of(shown)
        return Mapped(state=MapState.PAGE, page=page) if page is not None else _by_mark(piece)

    def is_contradicted(self, piece: Piece) -> bool:
        """Say whether the provider's own marks name another page than the one the words were found on."""
        if piece.is_of_picture:
            return False
        first, last = self.theirs.range_of(piece.start, piece.end)
        return self.is_same and sum(self.doubts[first:last]) >= CHANCE

    def _echoed(self, first: int, last: int) -> int:
        """Count letters that are not found and need not be, being repeated."""
        to = self.alignment.to
        return sum(1 for at in range(first, last) if self.echoes[at] and to[at] == NOWHERE)

    def _is_ambiguous(self, first: int, last: int) -> bool:
        """Say whether nothing but a doubtful order tells a passage from its copies."""
        if any(self.alignment.sure[first:last]):
            return False
        letters = self.theirs.letters[first:last]
        copies = self.ours.letters.count(letters)
        return copies > 1 and copies != self.theirs.letters.count(letters)

    def _runs(self, places: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Letters of ours that belong together: between them there is nothing, or a little that nobody else has."""
        start = before = places[0]
        for place in places[1:]:
            if place - before - 1 > _BETWEEN or any(self.alignment.used[before + 1 : place]):
                if before - start + 1 >= _SHORTEST:
                    yield start, before
                start = place
            before = place
        if before - start + 1 >= _SHORTEST or start == places[0]:
            yield start, before

    def _spans(self, runs: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        return tuple(self.ours.span_of(*self._without_ends(first, last)) for first, last in runs)

    def _without_ends(self, first: int, last: int) -> tuple[int, int]:
        """Leave out a letter or two of chance that reach into the line before or after."""
        letters = self.ours.origins
        end = self._line_around(letters[first])[1]
        rest = self.ours.range_of(0, end)[1]
        if rest <= last and rest - first < _SHORTEST and not self._is_half(first, rest):
            first = rest
        start = self._line_around(letters[last])[0]
        before = self.ours.range_of(0, start)[1]
        if before > first and last + 1 - before < _SHORTEST and not self._is_half(before, last + 1):
            last = before - 1
        return first, last

    def _line_around(self, offset: int) -> tuple[int, int]:
        line = self._lines.line_at(offset)
        return self._lines.span_of(line, line)

    def _is_half(self, first: int, after: int) -> bool:
        """Say whether letters are half of their line or more."""
        whole = self.ours.range_of(*self._line_around(self.ours.origins[first]))
        return 2 * (after - first) >= whole[1] - whole[0]

    def _page_of(self, runs: Sequence[tuple[int, int]]) -> int | None:
        """Return the one page or slide that holds all runs."""
        pages: set[int | None] = set()
        for start, end in self._spans(runs):
            first, last = self._lines.range_of(start, end)
            places = self.source_map.places[first - 1 : last]
            pages |= {place.page if place.page is not None else place.slide for place in places}
        return pages.pop() if len(pages) == 1 else None
