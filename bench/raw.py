"""What the machine does without us on the same data: the limits that our numbers stand beside."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import apsw
from django.conf import settings

from bench.measure import p50, timed, times
from knowledge.models import KnowledgeBase
from knowledge.providers.local.store import Store
from knowledge.providers.local.tokens import query_terms

_ROUNDS = 3


def hash_seconds(folder: Path) -> float:
    """Seconds to read and hash all files below `folder`, after a first time that does not count."""
    _hash_all(folder)
    return p50([timed(lambda: _hash_all(folder)) for _ in range(_ROUNDS)])


def insert_rate(place: Path, kb: KnowledgeBase) -> float:
    """Blocks a second of the knowledge base's own texts into a plain FTS5 table, in one transaction."""
    texts = _texts(kb)
    return len(texts) / p50([timed(lambda number=number: _insert(place, number, texts)) for number in range(_ROUNDS)])


def query_times(kb: KnowledgeBase, queries: Sequence[str]) -> list[float]:
    """Milliseconds of each query as a bare FTS5 query on the same index."""
    with _store().reading(kb.workspace_id) as connection:

        def ask(number: int) -> None:
            match = " OR ".join(f'"{term.text}"' for term in query_terms(queries[number]))
            sql = "SELECT rowid FROM evidence_fts WHERE evidence_fts MATCH ? ORDER BY rank LIMIT 20"
            list(connection.execute(sql, (f"body : ({match})",)))

        return times(ask, len(queries))


def _hash_all(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            hashlib.sha256(path.read_bytes()).hexdigest()


def _insert(place: Path, number: int, texts: Sequence[str]) -> None:
    database = apsw.Connection(str(place / f"raw-{number}.sqlite"))
    database.execute("CREATE VIRTUAL TABLE raw USING fts5(body)")
    with database:
        database.executemany("INSERT INTO raw(body) VALUES (?)", [(text,) for text in texts])
    database.close()


def _texts(kb: KnowledgeBase) -> list[str]:
    with _store().reading(kb.workspace_id) as connection:
        return [text for (text,) in connection.execute("SELECT text FROM evidence_block")]


def _store() -> Store:
    return Store(Path(settings.MNOTE_INDEX_DIR))
