"""Words of a query to blocks. All functions expect a connection in a read transaction (`Store.reading`)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import apsw

from knowledge.providers.base import ProviderDocumentId, ProviderKBId, SearchHit, SearchOutcome, SearchRequest
from knowledge.providers.local.rank import Candidate, Ranked, ranked, without_repeats
from knowledge.providers.local.store import read_meta
from knowledge.providers.local.tokens import TOKENIZER_REV, Term, query_terms

#: Longer queries are cut; more terms cost time and find nothing more.
MAX_QUERY_CHARS = 2_000
MAX_TERMS = 128

#: At least so many blocks are looked at, once for any of the terms and once for all, before they are put in order.
CANDIDATES = 50

#: One FTS5 expression names at most this many documents.
_SLICE = 500

_MATCH = "SELECT rowid, -rank FROM evidence_fts WHERE evidence_fts MATCH ? ORDER BY rank LIMIT ?"
_BLOCKS = """
SELECT block.n, block.block_id, resource.n, resource.resource_id, block.ordinal, block.type, block.text,
       block.char_range_json, resource.title, block.section_path_json
FROM json_each(?) AS wanted
JOIN evidence_block AS block ON block.n = wanted.value
JOIN evidence_resource AS resource ON resource.resource_id = block.resource_id
"""
_SCOPES = """
SELECT scope.resource_n, kb.provider_kb_id
FROM json_each(?) AS wanted
JOIN evidence_scope AS scope ON scope.resource_n = wanted.value
JOIN evidence_kb AS kb ON kb.n = scope.kb_n
ORDER BY scope.kb_n
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """What to search: FTS5 conditions on the scope column, one per slice, and the KBs that count (empty: all)."""

    conditions: tuple[str, ...]
    kb_ids: frozenset[str]


def find(connection: apsw.Connection, request: SearchRequest) -> SearchOutcome:
    """Return the best blocks for the query."""
    query = request.query[:MAX_QUERY_CHARS]
    terms = query_terms(query)[:MAX_TERMS]
    notes = _index_notes(connection)
    degraded = bool(notes)
    if len(request.query) > MAX_QUERY_CHARS:
        notes.append("query-cut")
    if not terms:
        return SearchOutcome(hits=(), degraded=degraded, notes=(*notes, "no-words"))
    scope = _scope(connection, request)
    depth = max(CANDIDATES, 2 * request.limit)
    scores, complete = _matches(connection, scope, terms, depth)
    found = without_repeats(ranked(_load(connection, scores, complete), query))
    more = len(found) > request.limit or len(scores) >= depth
    hits = _hits(connection, scope, found[: request.limit])
    return SearchOutcome(hits=hits, more=more, degraded=degraded, notes=tuple(notes))


def _index_notes(connection: apsw.Connection) -> list[str]:
    """Say what keeps this index from finding all that it should."""
    meta = read_meta(connection)
    outdated = ["index-outdated"] if meta["tokenizer_rev"] != TOKENIZER_REV else []
    return outdated + (["index-rebuilding"] if "rebuild" in meta else [])


def _scope(connection: apsw.Connection, request: SearchRequest) -> _Scope:
    kb_ids = frozenset(str(kb.provider_kb_id) for kb in request.kbs)
    conditions = [""]
    if kb_ids:
        numbers = _numbers(connection, "SELECT n FROM evidence_kb, json_each(?) WHERE provider_kb_id = value", kb_ids)
        conditions = [_any_of("k", numbers)] if numbers else []
    if request.document_ids:
        sql = "SELECT n FROM evidence_resource, json_each(?) WHERE resource_id = value"
        numbers = _numbers(connection, sql, request.document_ids)
        slices = [numbers[start : start + _SLICE] for start in range(0, len(numbers), _SLICE)]
        conditions = [condition + _any_of("r", part) for condition in conditions for part in slices]
    return _Scope(conditions=tuple(conditions), kb_ids=kb_ids)


def _numbers(connection: apsw.Connection, sql: str, values: Iterable[str]) -> list[int]:
    return [n for (n,) in connection.execute(sql, (json.dumps(list(values)),))]


def _any_of(letter: str, numbers: Iterable[int]) -> str:
    return f"scope : ({' OR '.join(f'{letter}{n}' for n in numbers)}) AND "


def _matches(
    connection: apsw.Connection, scope: _Scope, terms: Sequence[Term], depth: int
) -> tuple[dict[int, float], set[int]]:
    """Return word scores of the best blocks by number, and the numbers of the best that have every term."""
    some: dict[int, float] = {}
    every: dict[int, float] = {}
    for condition in scope.conditions:
        some.update(_scores(connection, condition + _words(terms, "OR"), depth))
        every.update(_scores(connection, condition + _words(terms, "AND"), depth) if len(terms) > 1 else some)
    some, every = _best(some, depth), _best(every, depth)
    return some | every, set(every)


def _scores(connection: apsw.Connection, expression: str, depth: int) -> dict[int, float]:
    return dict(connection.execute(_MATCH, (expression, depth)))


def _best(scores: dict[int, float], depth: int) -> dict[int, float]:
    return {n: scores[n] for n in sorted(scores, key=lambda n: -scores[n])[:depth]}


def _words(terms: Iterable[Term], operator: str) -> str:
    return (
        "{head body} : (" + f" {operator} ".join(f'"{term.text}"{" *" if term.prefix else ""}' for term in terms) + ")"
    )


def _load(connection: apsw.Connection, scores: dict[int, float], complete: set[int]) -> list[Candidate]:
    return [
        Candidate(
            n=n,
            block_id=block_id,
            resource_n=resource_n,
            resource_id=resource_id,
            ordinal=ordinal,
            type=kind,
            text=text,
            char_range=chars,
            head=(title or "", *json.loads(path)) if n in complete else (),
            word_score=scores[n],
            has_all=n in complete,
        )
        for n, block_id, resource_n, resource_id, ordinal, kind, text, chars, title, path in connection.execute(
            _BLOCKS, (json.dumps(list(scores)),)
        )
    ]


def _hits(connection: apsw.Connection, scope: _Scope, found: Sequence[Ranked]) -> tuple[SearchHit, ...]:
    kbs: dict[int, list[str]] = defaultdict(list)
    wanted = json.dumps(sorted({one.candidate.resource_n for one in found}))
    for resource_n, provider_kb_id in connection.execute(_SCOPES, (wanted,)):
        if not scope.kb_ids or provider_kb_id in scope.kb_ids:
            kbs[resource_n].append(provider_kb_id)
    return tuple(_hit(one, kbs[one.candidate.resource_n]) for one in found)


def _hit(one: Ranked, kb_ids: Sequence[str]) -> SearchHit:
    """Return one hit for a block, though several of the searched KBs may hold it: `metadata` names them all."""
    block = one.candidate
    char_start, char_end = json.loads(block.char_range)
    return SearchHit(
        provider_document_id=ProviderDocumentId(block.resource_id),
        provider_kb_id=ProviderKBId(kb_ids[0]),
        chunk_id=block.block_id,
        chunk_index=block.ordinal,
        score=one.score,
        match_type="words",
        char_start=char_start,
        char_end=char_end,
        content=block.text,
        metadata={"kb_ids": list(kb_ids), "block_type": block.type},
    )
