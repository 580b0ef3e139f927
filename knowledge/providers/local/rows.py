"""A source map as rows: pure values, made before the write transaction opens so that others wait little."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any

from knowledge.parsing.source_map import LINE_KINDS, BBox, Block, Link, Place, Section, SourceMap
from knowledge.providers.local.tokens import tokens

#: Link kinds that show or hold a file and do not only point at one.
_RESOURCE_LINKS = frozenset({"image", "embed", "attachment", "resource"})

_PLACE_FIELDS = tuple(field.name for field in fields(Place))

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentRows:
    """One content ready to be stored. `bodies` holds the joined tokens of each block, in order."""

    resource_id: str
    blocks: tuple[Row, ...]
    sections: tuple[Row, ...]
    edges: tuple[Row, ...]
    bodies: tuple[str, ...]


def resource_id_of(source_map: SourceMap) -> str:
    """Return the id of a content: the same bytes read by the same parser are one resource, wherever they lie."""
    return resource_id(source_map.source_hash, source_map.provider, source_map.model_version)


def resource_id(source_hash: str, provider: str, revision: str) -> str:
    """Return the id of the content with this hash as read by this parser."""
    return "res_" + _digest(source_hash, provider, revision, length=24)


def content_rows(source_map: SourceMap) -> ContentRows:
    """Return all rows of a content, block ids and section ids made unique across the workspace."""
    content_id = resource_id_of(source_map)
    paths = {section.id: section.path for section in source_map.sections}
    return ContentRows(
        resource_id=content_id,
        blocks=tuple(
            _block_row(content_id, ordinal, block, paths.get(block.section_id or "", ()), source_map)
            for ordinal, block in enumerate(source_map.blocks)
        ),
        sections=tuple(_section_row(content_id, n, section) for n, section in enumerate(source_map.sections)),
        edges=tuple(_edge_rows(content_id, source_map)),
        bodies=tuple(joined_tokens(block.text) for block in source_map.blocks),
    )


def joined_tokens(*texts: str) -> str:
    return " ".join([token for text in texts for token in tokens(text)])


def head_tokens(title: str | None, section_path: Sequence[str], file_names: Iterable[str]) -> str:
    """Return the tokens of a block's head. A title that is also the first heading counts once."""
    return joined_tokens(*dict.fromkeys([title or "", *section_path, *file_names]))


def block_id_of(resource_id: str, parser_block_id: str) -> str:
    return "ev_" + _digest(resource_id, parser_block_id, length=20)


def _section_id_of(resource_id: str, parser_section_id: str | None) -> str | None:
    return parser_section_id and "sec_" + _digest(resource_id, parser_section_id, length=20)


def _digest(*parts: str, length: int) -> str:
    return sha256("\n".join(parts).encode()).hexdigest()[:length]


def _block_row(resource_id: str, ordinal: int, block: Block, path: Sequence[str], source_map: SourceMap) -> Row:
    places = _places(block, source_map)
    pages = [place.page for place in places if place.page is not None]
    boxes = _boxes(places)
    return (
        block_id_of(resource_id, block.id),
        resource_id,
        ordinal,
        _section_id_of(resource_id, block.section_id),
        block.type,
        block.text,
        _json(path),
        min(pages, default=None),
        max(pages, default=None),
        _json(boxes) if boxes else None,
        _json((block.char_start, block.char_end)),
        _json((block.line_start, block.line_end)),
        _json({"kind": source_map.kind.value, "start": _compact(places[0]), "end": _compact(places[-1])}),
    )


def _section_row(resource_id: str, ordinal: int, section: Section) -> Row:
    return (
        _section_id_of(resource_id, section.id),
        resource_id,
        ordinal,
        section.title,
        section.level,
        _json(section.path),
        section.line_start,
        section.line_end,
        section.page_start,
        section.page_end,
        _section_id_of(resource_id, section.parent_id),
    )


def _edge_rows(resource_id: str, source_map: SourceMap) -> Iterable[Row]:
    """Yield one edge per link that stands in a block; a link without a place is no evidence and is left out."""
    by_line = {line: block.id for block in source_map.blocks for line in range(block.line_start, block.line_end + 1)}
    for link in source_map.links:
        if link.line in by_line:
            yield _edge_row(resource_id, link, block_id_of(resource_id, by_line[link.line]))


def _edge_row(resource_id: str, link: Link, block_id: str) -> Row:
    edge_type = "resource_refers_to" if link.kind in _RESOURCE_LINKS else "markdown_links_to"
    edge_id = "edge_" + _digest(block_id, edge_type, link.target, length=20)
    return edge_id, resource_id, resource_id, link.target, edge_type, link.text, block_id, 1.0, "deterministic"


def _places(block: Block, source_map: SourceMap) -> Sequence[Place]:
    """Return the places of the block's lines, of its first and last where line n is line n."""
    if source_map.kind in LINE_KINDS:
        return Place(line=block.line_start), Place(line=block.line_end)
    return source_map.places[block.line_start - 1 : block.line_end]


def _boxes(places: Iterable[Place]) -> list[tuple[int, BBox]]:
    """Return the box around the block on each page it touches, as (page, box)."""
    around: dict[int, BBox] = {}
    for place in places:
        if place.page is None or place.bbox is None:
            continue
        old, new = around.get(place.page, place.bbox), place.bbox
        around[place.page] = (min(old[0], new[0]), min(old[1], new[1]), max(old[2], new[2]), max(old[3], new[3]))
    return sorted(around.items())


def _compact(place: Place) -> dict[str, Any]:
    values = ((name, getattr(place, name)) for name in _PLACE_FIELDS)
    return {name: value for name, value in values if value is not None}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
