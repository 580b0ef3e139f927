"""The public shape of a place in a file (spec 5.1): one form in search, read, open, citations and tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from knowledge.citations.owners import owner_document_id
from knowledge.parsing.source_map import LINE_KINDS, BBox, Place, ResourceKind, SourceMap

SCHEMA = "mnote.evidence_locator.v1"


class LocatorKind(StrEnum):
    MARKDOWN_RANGE = "markdown-range"
    PDF_REGION = "pdf-region"
    IMAGE_REGION = "image-region"
    WORD_RANGE = "word-range"
    SHEET_RANGE = "sheet-range"
    SLIDE = "slide"
    HTML_RANGE = "html-range"
    CSV_ROWS = "csv-rows"
    MAIL_PART = "mail-part"


class MapState(StrEnum):
    """How a place was found. Anything but EXACT is shown as degraded."""

    EXACT = "exact"
    PARTIAL = "partial"
    PAGE = "page"
    AMBIGUOUS = "ambiguous"
    NONE = "none"
    NO_TEXT = "no_text"


class LocatorState(StrEnum):
    """What was true when the file was read again (spec 5.2). UNVERIFIED: it has not been read again yet."""

    EXACT = "exact"
    MOVED = "moved"
    CHANGED = "changed"
    GONE = "gone"
    UNVERIFIED = "unverified"


_KINDS = {
    ResourceKind.PDF: LocatorKind.PDF_REGION,
    ResourceKind.IMAGE: LocatorKind.IMAGE_REGION,
    ResourceKind.WORD: LocatorKind.WORD_RANGE,
    ResourceKind.SHEET: LocatorKind.SHEET_RANGE,
    ResourceKind.SLIDES: LocatorKind.SLIDE,
    ResourceKind.HTML: LocatorKind.HTML_RANGE,
    ResourceKind.CSV: LocatorKind.CSV_ROWS,
    ResourceKind.MAIL: LocatorKind.MAIL_PART,
}


#: Kinds whose places can be a list.
_LISTED = frozenset({ResourceKind.PDF, ResourceKind.IMAGE, ResourceKind.SHEET, ResourceKind.SLIDES})


@dataclass(frozen=True, slots=True, kw_only=True)
class Locator:
    """A place in one file of one root. `parts` holds the fields of its kind, already in their public names.

    `line_start`/`line_end` are lines of the derived text, which for text formats are the file's own lines. A degraded
    one may still name the page or slide.
    """

    kind: LocatorKind
    resource_kind: ResourceKind
    root_uri: str
    resource_path: str
    source_hash: str
    line_start: int
    line_end: int
    char_start: int
    char_end: int
    quote: str
    section_path: tuple[str, ...] = ()
    block_id: str = ""
    source_map_path: str = ""
    map_state: MapState = MapState.EXACT
    state: LocatorState = LocatorState.UNVERIFIED
    owners: tuple[str, ...] = ()
    parts: dict[str, Any] = field(default_factory=dict)

    @property
    def degraded(self) -> bool:
        return self.map_state is not MapState.EXACT

    def with_state(self, state: LocatorState) -> Locator:
        return replace(self, state=state)

    def to_json(self, *, url: str) -> dict[str, Any]:
        """Return the public form; `url` is the document pane's address of this place."""
        owner = self.owners[0] if self.owners else self.resource_path
        body: dict[str, Any] = {
            "schema": SCHEMA,
            "rootUri": self.root_uri,
            "ownerDocumentId": owner_document_id(owner),
            "ownerDocumentPath": owner,
            "resourcePath": self.resource_path,
            "resourceKind": self.resource_kind.value,
            "kind": self.kind.value,
            "sourceHash": self.source_hash,
            "mapState": self.map_state.value,
            "locatorState": self.state.value,
            "locatorDegraded": self.degraded,
            "quote": self.quote,
        }
        if self.owners:
            body["owners"] = list(self.owners)
        if self.block_id:
            body["blockId"] = self.block_id
        if self.section_path:
            body |= {"sectionPath": list(self.section_path), "heading": self.section_path[-1]}
        if self.source_map_path:
            body["sourceMapPath"] = self.source_map_path
        if not self.degraded:
            body["charRange"] = [self.char_start, self.char_end]
        body |= self.parts
        params = self.open_params()
        body["openAction"] = {"type": "mnote.open_resource_locator", "url": url, "params": params}
        return body

    def open_params(self) -> dict[str, Any]:
        """Return what the pane needs to scroll to the place: page, bbox, block, lines, sheet, range, slide."""
        params: dict[str, Any] = {}
        if self.block_id and not self.degraded:
            params["block"] = self.block_id
        for name in ("page", "bbox"):
            if name in self.parts:
                params[name] = self.parts[name]
        if "lineRange" in self.parts:
            params["lines"] = self.parts["lineRange"]
        if ranges := self.parts.get("ranges"):
            params |= {"sheet": ranges[0]["sheet"], "range": ranges[0]["a1"]}
        if slides := self.parts.get("slides"):
            params["slide"] = slides[0]["n"]
        return params


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Which file a locator points into."""

    root_uri: str
    path: str
    source_map_path: str = ""
    owners: tuple[str, ...] = ()


def locate(source_map: SourceMap, resource: Resource, *, lines: tuple[int, int], chars: tuple[int, int]) -> Locator:
    """Return the place of derived lines `lines`, characters `chars` (both within the text), cut as its own quote."""
    first, last = lines
    places = [] if source_map.kind in LINE_KINDS else source_map.places_of(first, last)
    section = source_map.section_of(first)
    block = source_map.block_at(chars[0])
    return Locator(
        kind=_KINDS.get(source_map.kind, LocatorKind.MARKDOWN_RANGE),
        resource_kind=source_map.kind,
        root_uri=resource.root_uri,
        resource_path=resource.path,
        source_hash=source_map.source_hash,
        line_start=first,
        line_end=last,
        char_start=chars[0],
        char_end=chars[1],
        quote=source_map.text[chars[0] : chars[1]],
        section_path=section.path if section else (),
        block_id=block.id if block else "",
        source_map_path=resource.source_map_path,
        owners=resource.owners,
        parts=_parts(source_map.kind, places, lines),
    )


def locate_several(
    source_map: SourceMap,
    resource: Resource,
    *,
    lines: Sequence[tuple[int, int]],
    chars: Sequence[tuple[int, int]],
) -> Locator:
    """Return the place of a passage that stands in several pieces of the derived text: the quote is cut from the
    longest, pages, cells and slides are those of all."""
    main = max(range(len(chars)), key=lambda at: chars[at][1] - chars[at][0])
    locator = locate(source_map, resource, lines=lines[main], chars=chars[main])
    if len(chars) == 1 or source_map.kind not in _LISTED:
        return locator
    places = [source_map.place_of(line) for first, last in lines for line in range(first, last + 1)]
    return replace(locator, parts=_parts(source_map.kind, places, lines[main]))


def degraded(locator: Locator, map_state: MapState, *, page: int | None) -> Locator:
    """Return a locator that claims no exact place: of where it is only the page or slide is left, if one is known."""
    parts: dict[str, Any] = {}
    if page is not None and locator.resource_kind in (ResourceKind.PDF, ResourceKind.IMAGE):
        parts = {"page": page}
    elif page is not None and locator.resource_kind is ResourceKind.SLIDES:
        parts = {"slides": [{"n": page, "shapes": [], "notes": False}]}
    return replace(locator, map_state=map_state, parts=parts)


def whole_resource(kind: ResourceKind, resource: Resource, *, source_hash: str, map_state: MapState) -> Locator:
    """Return a degraded locator: the document opens, without a place."""
    return Locator(
        kind=_KINDS.get(kind, LocatorKind.MARKDOWN_RANGE),
        resource_kind=kind,
        root_uri=resource.root_uri,
        resource_path=resource.path,
        source_hash=source_hash,
        line_start=1,
        line_end=1,
        char_start=0,
        char_end=0,
        quote="",
        source_map_path=resource.source_map_path,
        owners=resource.owners,
        map_state=map_state,
    )


def _parts(kind: ResourceKind, places: list[Place], lines: tuple[int, int]) -> dict[str, Any]:
    if kind in LINE_KINDS:
        return _line_parts(lines[0], lines[1])
    makers = {
        ResourceKind.PDF: _page_parts,
        ResourceKind.IMAGE: _page_parts,
        ResourceKind.WORD: _word_parts,
        ResourceKind.SHEET: _sheet_parts,
        ResourceKind.SLIDES: _slide_parts,
        ResourceKind.HTML: _html_parts,
        ResourceKind.CSV: _row_parts,
        ResourceKind.MAIL: _mail_parts,
    }
    return makers[kind](places)


def _line_parts(first: int, last: int) -> dict[str, Any]:
    return {"lineRange": [first, last], "lineStart": first, "lineEnd": last}


def _page_parts(places: list[Place]) -> dict[str, Any]:
    boxes: dict[int, list[BBox]] = {}
    for place in places:
        if place.page is not None:
            boxes.setdefault(place.page, []).extend([place.bbox] if place.bbox else [])
    if not boxes:
        return {}
    pages = [{"page": page, "bboxes": [list(box) for box in found]} for page, found in sorted(boxes.items())]
    first = pages[0]
    parts: dict[str, Any] = {"page": first["page"], "pages": pages}
    if first["bboxes"]:
        parts["bbox"] = _union(boxes[min(boxes)])
    return parts


def _union(boxes: list[BBox]) -> list[float]:
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return [min(x0), min(y0), max(x1), max(y1)]


def _word_parts(places: list[Place]) -> dict[str, Any]:
    paragraphs = [place.paragraph for place in places if place.paragraph is not None]
    rows: dict[int, list[int]] = {}
    for place in places:
        if place.table is not None and place.row is not None:
            rows.setdefault(place.table, []).append(place.row)
    parts: dict[str, Any] = {"paragraphRange": [min(paragraphs), max(paragraphs)]} if paragraphs else {}
    if rows:
        parts["tables"] = [{"n": n, "rows": [min(found), max(found)]} for n, found in sorted(rows.items())]
    return parts


def _sheet_parts(places: list[Place]) -> dict[str, Any]:
    ranges: list[dict[str, str]] = []
    for sheet in dict.fromkeys(place.sheet for place in places if place.sheet is not None):
        cells = [place.a1 for place in places if place.sheet == sheet and place.a1]
        ranges.append({"sheet": sheet, "a1": join_ranges(cells)} if cells else {"sheet": sheet, "a1": ""})
    return {"ranges": ranges} if ranges else {}


def join_ranges(ranges: list[str]) -> str:
    """Return the smallest A1 range that holds all of `ranges`, e.g. ["A2:C2", "B3:D3"] -> "A2:D3"."""
    cells = [_cell(cell) for item in ranges for cell in item.split(":")]
    columns, rows = zip(*cells, strict=True)
    first, last = f"{_letters(min(columns))}{min(rows)}", f"{_letters(max(columns))}{max(rows)}"
    return first if first == last else f"{first}:{last}"


def _cell(text: str) -> tuple[int, int]:
    letters = text.rstrip("0123456789")
    column = 0
    for letter in letters:
        column = column * 26 + ord(letter) - 64
    return column, int(text[len(letters) :])


def _letters(column: int) -> str:
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def _slide_parts(places: list[Place]) -> dict[str, Any]:
    slides: dict[int, dict[str, Any]] = {}
    for place in places:
        if place.slide is None:
            continue
        slide = slides.setdefault(place.slide, {"n": place.slide, "shapes": [], "notes": False})
        slide["notes"] = slide["notes"] or bool(place.notes)
        if place.shape and place.shape not in slide["shapes"]:
            slide["shapes"].append(place.shape)
    return {"slides": list(slides.values())} if slides else {}


def _html_parts(places: list[Place]) -> dict[str, Any]:
    lines = [place.line for place in places if place.line is not None]
    parts = _line_parts(min(lines), max(lines)) if lines else {}
    for name in ("part", "href"):
        values = list(dict.fromkeys(v for place in places if (v := getattr(place, name))))
        if values:
            parts[name] = values[0]
    return parts


def _row_parts(places: list[Place]) -> dict[str, Any]:
    rows = [place.row for place in places if place.row is not None]
    return {"rowRange": [min(rows), max(rows)]} if rows else {}


def _mail_parts(places: list[Place]) -> dict[str, Any]:
    parts = list(dict.fromkeys(place.part for place in places if place.part))
    lines = [place.line for place in places if place.line is not None and place.part == (parts[0] if parts else None)]
    body: dict[str, Any] = {"part": parts[0]} if parts else {}
    return body | (_line_parts(min(lines), max(lines)) if lines else {})
