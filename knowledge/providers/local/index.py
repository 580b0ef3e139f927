"""What is written to an index file: contents, the knowledge bases they are in, and the words that find them.

All functions expect a connection in a write transaction (`Store.writing`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass

import apsw

from knowledge.parsing.source_map import SourceMap
from knowledge.providers.local.rows import ContentRows, Row, head_tokens, joined_tokens
from knowledge.providers.local.store import write_meta
from knowledge.providers.local.tokens import TOKENIZER_REV

_ADD_RESOURCE = """
INSERT INTO evidence_resource (
    resource_id, owner_document_id, owner_document_path, source_root_relative_path, provider, parser_revision,
    source_hash, kind, title, language, block_count, updated_at_ms
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING n
"""
_ADD_BLOCK = """
INSERT INTO evidence_block (
    block_id, resource_id, ordinal, section_id, type, text, section_path_json, page_start, page_end, bbox_json,
    char_range_json, line_range_json, locator_json
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ADD_SECTION = """
INSERT INTO evidence_section (
    section_id, resource_id, ordinal, title, level, path_json, line_start, line_end, page_start, page_end,
    parent_section_id
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ADD_EDGE = """
INSERT OR IGNORE INTO evidence_edge (
    edge_id, resource_id, from_id, to_id, edge_type, label, source_block_id, confidence, created_by
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ADD_WORDS = "INSERT INTO evidence_fts (rowid, scope, head, body) VALUES (?, ?, ?, ?)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Where a content was first met; for display only, rights never follow from it."""

    document_id: str | None = None
    document_path: str | None = None
    relative_path: str | None = None


def add_kb(connection: apsw.Connection, provider_kb_id: str) -> int:
    """Make the knowledge base known and return its number."""
    connection.execute("INSERT OR IGNORE INTO evidence_kb (provider_kb_id) VALUES (?)", (provider_kb_id,))
    return int(connection.execute("SELECT n FROM evidence_kb WHERE provider_kb_id = ?", (provider_kb_id,)).get)


def add_content(connection: apsw.Connection, source_map: SourceMap, rows: ContentRows, owner: Owner) -> int:
    """Store a content that no knowledge base holds yet, without its words, and return its number."""
    head = (rows.resource_id, owner.document_id, owner.document_path, owner.relative_path)
    parser = (source_map.provider, source_map.model_version, source_map.source_hash, source_map.kind.value)
    facts = (source_map.title, source_map.language, len(rows.blocks), _now_ms())
    n = int(connection.execute(_ADD_RESOURCE, (*head, *parser, *facts)).get)
    connection.executemany(_ADD_BLOCK, rows.blocks)
    connection.executemany(_ADD_SECTION, rows.sections)
    connection.executemany(_ADD_EDGE, rows.edges)
    return n


def join_kb(connection: apsw.Connection, n: int, kb_n: int, file_name: str, bodies: Iterable[str] | None) -> bool:
    """Put content `n` into a knowledge base under a file name; return whether it was there before.

    `bodies` are the tokens of its blocks where it was stored just now, else None.
    """
    old = connection.execute("SELECT file_name FROM evidence_scope WHERE resource_n = ? AND kb_n = ?", (n, kb_n)).get
    if old == file_name:
        return True
    connection.execute("INSERT OR REPLACE INTO evidence_scope VALUES (?, ?, ?, ?)", (n, kb_n, file_name, _now_ms()))
    write_words(connection, n, bodies)
    return old is not None


def leave_kb(connection: apsw.Connection, n: int, kb_n: int) -> None:
    """Take content `n` out of a knowledge base; the last one takes the content along."""
    connection.execute("DELETE FROM evidence_scope WHERE resource_n = ? AND kb_n = ?", (n, kb_n))
    if not connection.changes():
        return
    if connection.execute("SELECT 1 FROM evidence_scope WHERE resource_n = ?", (n,)).get:
        write_words(connection, n, None)
    else:
        _remove_content(connection, n)


def remove_kb(connection: apsw.Connection, kb_n: int, *, at_most: int) -> bool:
    """Empty a knowledge base by up to `at_most` contents; return True once it is gone."""
    inside: list[Row] = connection.execute(
        "SELECT resource_n FROM evidence_scope WHERE kb_n = ? LIMIT ?", (kb_n, at_most)
    ).fetchall()
    for (n,) in inside:
        leave_kb(connection, n, kb_n)
    if len(inside) == at_most:
        return False
    connection.execute("DELETE FROM evidence_kb WHERE n = ?", (kb_n,))
    return True


def write_words(connection: apsw.Connection, n: int, bodies: Iterable[str] | None) -> None:
    """Make the words of all blocks of content `n`, for the knowledge bases it is in now.

    `bodies` are their tokens where there are no words of it yet, None to make all anew from the stored text.
    """
    resource_id, title = connection.execute("SELECT resource_id, title FROM evidence_resource WHERE n = ?", (n,)).get
    scopes: list[Row] = connection.execute(
        "SELECT kb_n, file_name FROM evidence_scope WHERE resource_n = ? ORDER BY kb_n", (n,)
    ).fetchall()
    scope = " ".join([f"r{n}", *(f"k{kb_n}" for kb_n, _ in scopes)])
    names = [name for _, name in scopes]
    blocks: list[Row] = connection.execute(
        "SELECT n, section_path_json, text FROM evidence_block WHERE resource_id = ? ORDER BY ordinal", (resource_id,)
    ).fetchall()
    if bodies is None:
        bodies = (joined_tokens(text) for _, _, text in blocks)
        connection.executemany("DELETE FROM evidence_fts WHERE rowid = ?", ((row,) for row, _, _ in blocks))
    heads = {path: head_tokens(title, json.loads(path), names) for path in {path for _, path, _ in blocks}}
    rows = ((row, scope, heads[path], body) for (row, path, _), body in zip(blocks, bodies, strict=True))
    connection.executemany(_ADD_WORDS, rows)


def write_all_words(connection: apsw.Connection) -> None:
    """Make the words of every content anew, with the tokenizer of now."""
    connection.execute("INSERT INTO evidence_fts (evidence_fts) VALUES ('delete-all')")
    resources: list[Row] = connection.execute("SELECT n FROM evidence_resource").fetchall()
    for (n,) in resources:
        write_words(connection, n, None)
    write_meta(connection, "tokenizer_rev", TOKENIZER_REV)


def _remove_content(connection: apsw.Connection, n: int) -> None:
    resource_id = connection.execute("SELECT resource_id FROM evidence_resource WHERE n = ?", (n,)).get
    blocks = connection.execute("SELECT n FROM evidence_block WHERE resource_id = ?", (resource_id,)).fetchall()
    connection.executemany("DELETE FROM evidence_fts WHERE rowid = ?", blocks)
    for table in ("evidence_edge", "evidence_section", "evidence_block", "evidence_resource"):
        connection.execute(f"DELETE FROM {table} WHERE resource_id = ?", (resource_id,))  # noqa: S608 names from above


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
