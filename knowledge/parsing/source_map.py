"""What a parsed file is: derived text, blocks over it, and the way back from every line to the original.

Pure values. A source map depends on the bytes, the parser and its options alone: the same three always give the same
map, byte for byte (spec 10.1). Paths and owners are added only where a map is published.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, TypeVar

SCHEMA = "mnote.resource_source_map.v1"

T = TypeVar("T")

BBox = tuple[float, float, float, float]


class ResourceKind(StrEnum):
    """What a file is read as. It decides the kind of locator that its places become."""

    MARKDOWN = "markdown"
    TEXT = "text"
    CODE = "code"
    PDF = "pdf"
    WORD = "word"
    SHEET = "sheet"
    SLIDES = "slides"
    HTML = "html"
    CSV = "csv"
    MAIL = "mail"
    IMAGE = "image"


#: Kinds whose derived line n *is* line n of the original.
LINE_KINDS = frozenset({ResourceKind.MARKDOWN, ResourceKind.TEXT, ResourceKind.CODE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one derived line stands in the original. Only the fields of its kind are set; all numbers are 1-based.

    `bbox` is x0, y0, x1, y1 in page points, origin top-left, as the page is shown (after rotation).
    """

    line: int | None = None
    page: int | None = None
    bbox: BBox | None = None
    paragraph: int | None = None
    table: int | None = None
    row: int | None = None
    sheet: str | None = None
    a1: str | None = None
    slide: int | None = None
    shape: str | None = None
    notes: bool | None = None
    part: str | None = None
    href: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A passage: whole derived lines `line_start`..`line_end` (1-based, inclusive) of one section.

    `text` equals the derived text between `char_start` and `char_end` (characters, end exclusive).
    `type` is heading, paragraph, list, table, code, quote, front_matter, notes or caption.
    """

    id: str
    type: str
    text: str
    line_start: int
    line_end: int
    char_start: int
    char_end: int
    section_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading and what stands under it. `path` holds the titles from the top down, its own last."""

    id: str
    title: str
    level: int
    path: tuple[str, ...]
    line_start: int
    line_end: int
    parent_id: str | None = None
    page_start: int | None = None
    page_end: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextItem:
    """One run of text on a page with its box; `char_start`/`char_end` point into the derived text."""

    id: str
    text: str
    bbox: BBox
    char_start: int
    char_end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a paged original: size in points as shown, its printed label, its text items."""

    page: int
    width: float
    height: float
    label: str | None = None
    text_items: tuple[TextItem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link found in the text: `target` as written (Markdown, wiki or HTML), on derived line `line`."""

    target: str
    text: str
    line: int
    kind: str = "markdown"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMap:
    """A parsed file.

    `text` is the derived text: LF line ends, no BOM. `places` has one entry per derived line for every kind but
    LINE_KINDS, where it is empty because line n is line n. `source_hash` is "sha256:<hex>" of the original bytes.
    `meta` holds small facts worth showing (encoding, confidence, front-matter title); JSON values only.
    """

    provider: str
    model_version: str
    kind: ResourceKind
    source_hash: str
    text: str
    blocks: tuple[Block, ...]
    sections: tuple[Section, ...] = ()
    places: tuple[Place, ...] = ()
    pages: tuple[Page, ...] = ()
    links: tuple[Link, ...] = ()
    title: str | None = None
    language: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def line_count(self) -> int:
        return self.text.count("\n") + 1

    def place_of(self, line: int) -> Place:
        """Return the place of derived line `line` (1-based). Raises IndexError outside the text."""
        [place] = self.places_of(line, line)
        return place

    def places_of(self, first: int, last: int) -> list[Place]:
        """Return the places of derived lines `first` to `last`. Raises IndexError outside the text."""
        is_by_line = self.kind in LINE_KINDS
        if not 1 <= first <= last <= (self.line_count if is_by_line else len(self.places)):
            raise IndexError(last)
        return [Place(line=line) for line in range(first, last + 1)] if is_by_line else [*self.places[first - 1 : last]]

    def block_at(self, at: int) -> Block | None:
        """Return the block that holds character `at`."""
        number = bisect_right(self.blocks, at, key=lambda block: block.char_start) - 1
        return self.blocks[number] if number >= 0 and at < self.blocks[number].char_end else None

    def section_of(self, line: int) -> Section | None:
        """Return the innermost section that holds derived line `line`."""
        holding = [section for section in self.sections if section.line_start <= line <= section.line_end]
        return max(holding, key=lambda section: section.level, default=None)

    def to_bytes(self) -> bytes:
        """Serialise without the derived text (kept beside it as its own artifact). Equal maps give equal bytes."""
        body = {name: getattr(self, name) for name in ("provider", "model_version", "source_hash", "title", "language")}
        body |= {"schema": SCHEMA, "kind": self.kind.value, "meta": self.meta}
        for name in ("blocks", "sections", "places", "pages", "links"):
            body[name] = [_compact(value) for value in getattr(self, name)]
        for block in body["blocks"]:
            del block["text"]  # it is a slice of the derived text
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, data: bytes, text: str) -> SourceMap:
        """Rebuild a map from `to_bytes` and its derived text. Raises ValueError when the two do not belong together."""
        body = json.loads(data)
        if body.pop("schema", None) != SCHEMA:
            raise ValueError("not a source map of this version")
        body["kind"] = ResourceKind(body["kind"])
        body["blocks"] = tuple(
            Block(text=text[block["char_start"] : block["char_end"]], **block) for block in body["blocks"]
        )
        body["sections"] = tuple(_build(Section, value) for value in body["sections"])
        body["places"] = tuple(_build(Place, value) for value in body["places"])
        body["pages"] = tuple(_page(value) for value in body["pages"])
        body["links"] = tuple(_build(Link, value) for value in body["links"])
        return cls(text=text, **body)


_NAMES: dict[type[Any], tuple[str, ...]] = {
    kind: tuple(value.name for value in fields(kind)) for kind in (Block, Section, Place, TextItem, Page, Link)
}


def _compact(value: Any) -> dict[str, Any]:
    items = ((name, getattr(value, name)) for name in _NAMES[type(value)])
    body = {name: item for name, item in items if item is not None}
    if "text_items" in body:
        body["text_items"] = [_compact(item) for item in body["text_items"]]
    return body


def _build(kind: type[T], value: dict[str, Any]) -> T:
    known = _NAMES[kind]
    return kind(**{key: tuple(item) if isinstance(item, list) else item for key, item in value.items() if key in known})


def _page(value: dict[str, Any]) -> Page:
    items = tuple(_build(TextItem, item) for item in value.pop("text_items", []))
    return Page(text_items=items, **value)
