"""What an index file holds, as values. All functions expect a connection in a read transaction (`Store.reading`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from knowledge.providers.base import Chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBlock:
    """One evidence block. `text` is the derived text from `char_start` to `char_end`; lines are 1-based, inclusive.

    `locator` is {"kind", "start", "end"}: the kind of the resource and the places of the first and the last line.
    `boxes` are (page, (x0, y0, x1, y1)) in points, one per page touched.
    """

    block_id: str
    resource_id: str
    ordinal: int
    type: str
    text: str
    section_id: str | None
    section_path: tuple[str, ...]
    char_start: int
    char_end: int
    line_start: int
    line_end: int
    page_start: int | None
    page_end: int | None
    boxes: tuple[tuple[int, tuple[float, float, float, float]], ...]
    locator: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEdge:
    """A link that stands in block `source_block_id` of resource `from_id`; `to_id` is its target as written."""

    edge_id: str
    from_id: str
    to_id: str
    edge_type: str
    label: str
    source_block_id: str
    confidence: float
    created_by: str


_BLOCK = """
SELECT block_id, resource_id, ordinal, type, text, section_id, section_path_json, char_range_json, line_range_json,
       page_start, page_end, bbox_json, locator_json
FROM evidence_block
"""
_EDGE = """
SELECT edge_id, from_id, to_id, edge_type, label, source_block_id, confidence, created_by
FROM evidence_edge, json_each(?) WHERE resource_id = value ORDER BY edge_id
"""
_EDGE_COLUMNS = "edge_id, from_id, to_id, edge_type, label, source_block_id, confidence, created_by"
#: Two plain index look-ups per target; "$" is the character after "#".
_EDGES_TO = f"""
SELECT {_EDGE_COLUMNS} FROM json_each(?1) AS wanted CROSS JOIN evidence_edge ON to_id = wanted.value
UNION
SELECT {_EDGE_COLUMNS} FROM json_each(?1) AS wanted CROSS JOIN evidence_edge
ON to_id >= wanted.value || '#' AND to_id < wanted.value || '$'
ORDER BY edge_id
"""  # noqa: S608 constants of ours
_HASHES = "SELECT resource_id, source_hash FROM evidence_resource, json_each(?) WHERE resource_id = value"
_COUNTS = """
SELECT resource.resource_id, resource.block_count
FROM evidence_kb AS kb
JOIN evidence_scope AS scope ON scope.kb_n = kb.n
JOIN evidence_resource AS resource ON resource.n = scope.resource_n
WHERE kb.provider_kb_id = ?
"""
_COUNTS_OF = _COUNTS + "AND resource.resource_id IN (SELECT value FROM json_each(?))"  # noqa: S608 constants of ours


def resource_number(connection: apsw.Connection, resource_id: str) -> int | None:
    number: int | None = connection.execute("SELECT n FROM evidence_resource WHERE resource_id = ?", (resource_id,)).get
    return number


def kb_number(connection: apsw.Connection, provider_kb_id: str) -> int | None:
    number: int | None = connection.execute("SELECT n FROM evidence_kb WHERE provider_kb_id = ?", (provider_kb_id,)).get
    return number


def stored_blocks(connection: apsw.Connection, resource_id: str) -> int:
    """Count the blocks that are really there."""
    return int(connection.execute("SELECT count(*) FROM evidence_block WHERE resource_id = ?", (resource_id,)).get)


def block_counts(connection: apsw.Connection, provider_kb_id: str, ids: Sequence[str] | None = None) -> dict[str, int]:
    """Return the block count of each resource of a knowledge base, of `ids` alone where given."""
    if ids is None:
        return dict(connection.execute(f"{_COUNTS} ORDER BY resource.n", (provider_kb_id,)))
    return dict(connection.execute(_COUNTS_OF, (provider_kb_id, json.dumps(list(ids)))))


def chunks(connection: apsw.Connection, resource_id: str, *, offset: int, limit: int) -> tuple[Chunk, ...]:
    blocks = connection.execute(
        f"{_BLOCK} WHERE resource_id = ? AND ordinal >= ? ORDER BY ordinal LIMIT ?", (resource_id, offset, limit)
    )
    return tuple(chunk_of(_block(row)) for row in blocks)


def block(connection: apsw.Connection, block_id: str) -> StoredBlock | None:
    row = connection.execute(f"{_BLOCK} WHERE block_id = ?", (block_id,)).fetchone()
    return _block(row) if row else None


def neighbours(connection: apsw.Connection, anchor: StoredBlock, *, before: int, after: int) -> tuple[StoredBlock, ...]:
    """Return up to `before` blocks, the anchor, and up to `after` blocks, in document order."""
    rows = connection.execute(
        f"{_BLOCK} WHERE resource_id = ? AND ordinal BETWEEN ? AND ? ORDER BY ordinal",
        (anchor.resource_id, anchor.ordinal - before, anchor.ordinal + after),
    )
    return tuple(_block(row) for row in rows)


def section_blocks(connection: apsw.Connection, section_id: str) -> tuple[StoredBlock, ...]:
    """Return the blocks that stand directly in a section, in document order."""
    rows = connection.execute(f"{_BLOCK} WHERE section_id = ? ORDER BY ordinal", (section_id,))
    return tuple(_block(row) for row in rows)


def edges(connection: apsw.Connection, resource_ids: Sequence[str]) -> tuple[StoredEdge, ...]:
    return tuple(_edge(row) for row in connection.execute(_EDGE, (json.dumps(list(resource_ids)),)))


def edges_to(connection: apsw.Connection, targets: Sequence[str]) -> tuple[StoredEdge, ...]:
    """Return the links written exactly as one of `targets`, with or without a #fragment behind."""
    return tuple(_edge(row) for row in connection.execute(_EDGES_TO, (json.dumps(list(targets)),)))


def source_hashes(connection: apsw.Connection, resource_ids: Sequence[str]) -> dict[str, str]:
    """Return the hash of the original bytes of each known resource."""
    return dict(connection.execute(_HASHES, (json.dumps(list(resource_ids)),)))


def parsers(connection: apsw.Connection) -> set[tuple[str, str]]:
    """Return the parsers of all resources, as (provider, revision)."""
    return set(connection.execute("SELECT DISTINCT provider, parser_revision FROM evidence_resource"))


def chunk_of(stored: StoredBlock) -> Chunk:
    """Return a block as a passage."""
    return Chunk(
        chunk_id=stored.block_id,
        index=stored.ordinal,
        content=stored.text,
        char_start=stored.char_start,
        char_end=stored.char_end,
        section_path=stored.section_path,
    )


def _block(row: Sequence[Any]) -> StoredBlock:
    block_id, resource_id, ordinal, kind, text, section_id, path, chars, lines, page_start, page_end, boxes, locator = (
        row
    )
    char_start, char_end = json.loads(chars)
    line_start, line_end = json.loads(lines)
    return StoredBlock(
        block_id=block_id,
        resource_id=resource_id,
        ordinal=ordinal,
        type=kind,
        text=text,
        section_id=section_id,
        section_path=tuple(json.loads(path)),
        char_start=char_start,
        char_end=char_end,
        line_start=line_start,
        line_end=line_end,
        page_start=page_start,
        page_end=page_end,
        boxes=tuple((page, tuple(box)) for page, box in json.loads(boxes or "[]")),
        locator=json.loads(locator),
    )


def _edge(row: Sequence[Any]) -> StoredEdge:
    edge_id, from_id, to_id, edge_type, label, source_block_id, confidence, created_by = row
    return StoredEdge(
        edge_id=edge_id,
        from_id=from_id,
        to_id=to_id,
        edge_type=edge_type,
        label=label,
        source_block_id=source_block_id,
        confidence=confidence,
        created_by=created_by,
    )
