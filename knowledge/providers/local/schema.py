"""The tables of one workspace's index file (spec 10.3) and the revisions that say whether a file can be used.

An `n` column is the engine's row number: FTS5 knows rows by number, and scope tokens are made of them (`k3`, `r17`).
"""

from __future__ import annotations

from knowledge.providers.local.tokens import WORD_PUNCTUATION

SCHEMA_REV = "1"

#: Words in the title, headings and file names count this much against words in the text.
HEAD_WEIGHT = 2.0
BODY_WEIGHT = 1.0

TABLES = f"""
CREATE TABLE evidence_meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE evidence_kb (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    provider_kb_id TEXT NOT NULL UNIQUE
);

CREATE TABLE evidence_resource (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    resource_id TEXT NOT NULL UNIQUE,
    owner_document_id TEXT,
    owner_document_path TEXT,
    source_root_relative_path TEXT,
    provider TEXT NOT NULL,
    parser_revision TEXT NOT NULL,
    source_hash TEXT NOT NULL,
    artifact_id TEXT,
    source_map_artifact_id TEXT,
    kind TEXT NOT NULL,
    title TEXT,
    language TEXT,
    block_count INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL
);

CREATE TABLE evidence_scope (
    resource_n INTEGER NOT NULL REFERENCES evidence_resource (n),
    kb_n INTEGER NOT NULL REFERENCES evidence_kb (n),
    file_name TEXT NOT NULL,
    added_at_ms INTEGER NOT NULL,
    PRIMARY KEY (resource_n, kb_n)
) WITHOUT ROWID;
CREATE INDEX evidence_scope_kb ON evidence_scope (kb_n);

CREATE TABLE evidence_section (
    section_id TEXT PRIMARY KEY,
    resource_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    title TEXT NOT NULL,
    level INTEGER NOT NULL,
    path_json TEXT NOT NULL,
    summary TEXT NOT NULL DEFAULT '',
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    page_start INTEGER,
    page_end INTEGER,
    parent_section_id TEXT
) WITHOUT ROWID;
CREATE INDEX evidence_section_resource ON evidence_section (resource_id, ordinal);

CREATE TABLE evidence_block (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    block_id TEXT NOT NULL UNIQUE,
    resource_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    section_id TEXT,
    type TEXT NOT NULL,
    text TEXT NOT NULL,
    section_path_json TEXT NOT NULL,
    page_start INTEGER,
    page_end INTEGER,
    bbox_json TEXT,
    char_range_json TEXT NOT NULL,
    line_range_json TEXT NOT NULL,
    locator_json TEXT NOT NULL
);
CREATE UNIQUE INDEX evidence_block_resource ON evidence_block (resource_id, ordinal);
CREATE INDEX evidence_block_section ON evidence_block (section_id) WHERE section_id IS NOT NULL;

CREATE TABLE evidence_edge (
    edge_id TEXT PRIMARY KEY,
    resource_id TEXT NOT NULL,
    from_id TEXT NOT NULL,
    to_id TEXT NOT NULL,
    edge_type TEXT NOT NULL,
    label TEXT NOT NULL DEFAULT '',
    source_block_id TEXT NOT NULL,
    confidence REAL NOT NULL,
    created_by TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX evidence_edge_resource ON evidence_edge (resource_id);
CREATE INDEX evidence_edge_to ON evidence_edge (to_id);

CREATE VIRTUAL TABLE evidence_fts USING fts5(
    scope, head, body,
    content='', contentless_delete=1,
    tokenize="ascii tokenchars '{WORD_PUNCTUATION}'"
);
INSERT INTO evidence_fts (evidence_fts, rank) VALUES ('rank', 'bm25(0.0, {HEAD_WEIGHT}, {BODY_WEIGHT})');
"""  # noqa: S608 constants of ours
