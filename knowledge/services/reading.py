"""What the document pane opens: a file as it is now, the place asked for, and the truth about that place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from knowledge.citations.lines import LineIndex
from knowledge.citations.locators import Locator, LocatorState, Resource, locate
from knowledge.citations.quotes import QuoteAnchor, QuoteFinder, Span
from knowledge.exceptions import LocatorInvalid
from knowledge.parsing.source_map import LINE_KINDS, BBox, SourceMap
from knowledge.rendering.documents import Request
from knowledge.rendering.marks import Mark, MarkKind
from knowledge.rendering.tables import Range, lines_in
from knowledge.services import opening, references
from knowledge.services.opening import OpenedPlace
from knowledge.services.references import CitationToken
from mnote.exceptions import NotFound
from mnote.models import Root
from mnote.principals import Principal

#: Of equal passages, so many before and after the one that is shown are pointed out.
_MAX_ALSO = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """A place as an address names it; everything may be absent. `start` and `end` begin or end the window shown,
    `nth` chooses among equal passages. `as_of` is the beginning of the SHA-256 of the file in which the place was
    named: in another version nobody knows where it is."""

    cite: str = ""
    lines: tuple[int, int] | None = None
    page: int | None = None
    box: BBox | None = None
    sheet: str = ""
    cells: Range | None = None
    slide: int | None = None
    block: str = ""
    nth: int | None = None
    as_of: str = ""
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A file opened at a place.

    `token` is the citation that led here; then `place.state` is what became of it. `is_unknown` means that the citation
    in the address cannot be read. `request` says what to render. Where the words stand several times in the file,
    `total` counts them and the place shown is the `number`-th. `is_as_named` says whether the file is still the one in
    which a place without a citation was named; None where the address does not tell.
    """

    place: OpenedPlace
    request: Request
    token: CitationToken | None = None
    is_unknown: bool = False
    number: int = 0
    total: int = 0
    is_as_named: bool | None = None

    @property
    def is_cited(self) -> bool:
        return self.token is not None

    @property
    def is_quoted(self) -> bool:
        """Whether words were cited, and not the file as a whole."""
        return self.token is not None and self.token.citation.anchor.length > 0

    @property
    def is_renamed(self) -> bool:
        return self.token is not None and self.token.path != self.place.path


def read(*, principal: Principal, root: Root, path: str, pointer: Pointer) -> Reading:
    """Open the file at `path`, or the one that the pointer's citation leads to.

    Raises:
        NotFound: not there, or not for the principal.
        LocatorStale: the cited file is gone.
    """
    if pointer.cite:
        try:
            token = references.read_token(pointer.cite)
        except LocatorInvalid:
            return replace(_pointed(principal, root, path, pointer), is_unknown=True)
        if (token.workspace_id, token.root_key) != (root.workspace_id, root.key):
            raise NotFound
        place = opening.open_citation(principal=principal, token=token)
        return _cited(place, token, pointer)
    return _pointed(principal, root, path, pointer)


def _cited(place: OpenedPlace, token: CitationToken, pointer: Pointer) -> Reading:
    request = Request(start=pointer.start, end=pointer.end)
    if place.source_map is None or place.locator.degraded:
        return Reading(place=place, request=request, token=token)
    if place.state is LocatorState.CHANGED:
        near = (_mark(place.locator, MarkKind.NEAR),)
        return Reading(place=place, request=replace(request, marks=near), token=token)
    if place.occurrences <= 1:
        return Reading(place=place, request=replace(request, marks=(_mark(place.locator),)), token=token)
    return _one_of_several(Reading(place=place, request=request, token=token), place.source_map, pointer.nth)


def _one_of_several(reading: Reading, source_map: SourceMap, nth: int | None) -> Reading:
    """Choose among the places with the cited words the cited one, or the one asked for; point out the others too."""
    place = reading.place
    own = Span(place.locator.char_start, place.locator.char_end)
    spans = QuoteFinder(source_map.text).find(QuoteAnchor.of(place.locator.quote))
    if own not in spans:
        return replace(reading, request=replace(reading.request, marks=(_mark(place.locator),)))
    shown = nth if nth is not None and 1 <= nth <= len(spans) else spans.index(own) + 1
    located = _locate(place, source_map, spans[shown - 1]).with_state(place.state)
    index = LineIndex(source_map.text)
    nearby = list(enumerate(spans, start=1))[max(0, shown - _MAX_ALSO) : shown + _MAX_ALSO]
    also = [_mark_of(span, index, number) for number, span in nearby if number != shown]
    marks = (_mark(located, number=shown), *also)
    return replace(
        reading,
        place=replace(place, locator=located),
        request=replace(reading.request, marks=marks),
        number=shown,
        total=len(spans),
    )


def _mark_of(span: Span, index: LineIndex, number: int) -> Mark:
    first, last = index.range_of(span.start, span.end)
    return Mark(start=span.start, end=span.end, first=first, last=last, number=number, kind=MarkKind.ALSO)


def _locate(place: OpenedPlace, source_map: SourceMap, span: Span) -> Locator:
    lines = LineIndex(source_map.text).range_of(span.start, span.end)
    resource = Resource(
        root_uri=place.locator.root_uri,
        path=place.path,
        source_map_path=place.locator.source_map_path,
        owners=place.locator.owners,
    )
    return locate(source_map, resource, lines=lines, chars=(span.start, span.end))


def _mark(locator: Locator, kind: MarkKind = MarkKind.CITED, *, number: int = 1) -> Mark:
    return Mark(
        start=locator.char_start,
        end=locator.char_end,
        first=locator.line_start,
        last=locator.line_end,
        number=number,
        kind=kind,
    )


def _pointed(principal: Principal, root: Root, path: str, pointer: Pointer) -> Reading:
    place = opening.open_path(principal=principal, root=root, path=path)
    if not pointer.as_of:
        return _at(place, pointer)
    is_same = place.locator.source_hash.removeprefix("sha256:").startswith(pointer.as_of)
    named = pointer if is_same else Pointer(start=pointer.start, end=pointer.end)
    return replace(_at(place, named), is_as_named=is_same)


def _at(place: OpenedPlace, pointer: Pointer) -> Reading:
    request = Request(
        start=pointer.start,
        end=pointer.end,
        page=pointer.page,
        slide=pointer.slide,
        box=pointer.box,
        cells=(pointer.sheet, pointer.cells) if pointer.sheet and pointer.cells else None,
    )
    if place.source_map is None:
        return Reading(place=place, request=request)
    span = _span(place.source_map, pointer)
    if span is None:
        return Reading(place=place, request=replace(request, line=_sheet_line(place.source_map, pointer)))
    located = replace(place, locator=_locate(place, place.source_map, span))
    return Reading(place=located, request=replace(request, marks=(_mark(located.locator),)))


def _span(source_map: SourceMap, pointer: Pointer) -> Span | None:
    """Return the characters that a pointer without a citation means."""
    if pointer.lines is not None:
        return _span_of(source_map, list(_derived_lines(source_map, pointer.lines)))
    if pointer.sheet and pointer.cells is not None:
        return _span_of(source_map, list(lines_in(source_map, pointer.sheet, pointer.cells)))
    if pointer.block:
        block = next((each for each in source_map.blocks if each.id == pointer.block), None)
        return Span(block.char_start, block.char_end) if block is not None else None
    return None


def _derived_lines(source_map: SourceMap, lines: tuple[int, int]) -> Iterator[int]:
    """Yield the derived lines that come from these lines of the original."""
    first, last = lines
    if source_map.kind in LINE_KINDS:
        yield from range(max(1, first), min(last, source_map.line_count) + 1)
        return
    for number, place in enumerate(source_map.places, start=1):
        if place.line is not None and first <= place.line <= last:
            yield number


def _span_of(source_map: SourceMap, lines: list[int]) -> Span | None:
    if not lines:
        return None
    return Span(*LineIndex(source_map.text).span_of(lines[0], lines[-1]))


def _sheet_line(source_map: SourceMap, pointer: Pointer) -> int | None:
    """Return the derived line at which a sheet begins."""
    if not pointer.sheet:
        return None
    places = enumerate(source_map.places, start=1)
    return next((number for number, place in places if place.sheet == pointer.sheet and place.row is not None), None)
