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

#: Up to so many KBs or documents are named by their scope tokens, which is fastest; more are joined by id, because
#: each token of an expression costs a look-up for each block that matches.
_FEW = 4

#: The engine scores lower for better. A section's words are in the head of each of its blocks, and the shortest block
#: would win by them; so what the text alone scores counts again, for half.
_MATCH = """
SELECT rowid, -(rank + 0.5 * bm25(evidence_fts, 0.0, 0.0, 1.0))
FROM evidence_fts WHERE evidence_fts MATCH ? ORDER BY rank LIMIT ?
"""
_MATCH_WITHIN = """
SELECT evidence_fts.rowid, -(rank + 0.5 * bm25(evidence_fts, 0.0, 0.0, 1.0))
FROM evidence_fts
CROSS JOIN evidence_block AS block ON block.n = evidence_fts.rowid
WHERE evidence_fts MATCH ? AND block.resource_id IN (SELECT value FROM json_each(?))
ORDER BY rank LIMIT ?
"""
_KB_RESOURCES = """
SELECT DISTINCT resource.resource_id
FROM json_each(?) AS wanted
JOIN evidence_scope AS scope ON scope.kb_n = wanted.value
JOIN evidence_resource AS resource ON resource.n = scope.resource_n
"""
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
    """What to search: a condition on scope tokens, and resource ids where those are too many for tokens."""

    tokens: str = ""
    within: frozenset[str] | None = None


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
    kb_ids = frozenset(str(kb.provider_kb_id) for kb in request.kbs)
    scope = _both(_kb_scope(connection, kb_ids), _document_scope(connection, request.document_ids))
    depth = max(CANDIDATES, 2 * request.limit)
    scores, complete = _matches(connection, scope, terms, depth)
    found = without_repeats(ranked(_load(connection, scores, complete), query))
    more = len(found) > request.limit or len(scores) >= depth
    hits = _hits(connection, kb_ids, found[: request.limit])
    return SearchOutcome(hits=hits, more=more, degraded=degraded, notes=tuple(notes))


def _index_notes(connection: apsw.Connection) -> list[str]:
    """Say what keeps this index from finding all that it should."""
    meta = read_meta(connection)
    outdated = ["index-outdated"] if meta["tokenizer_rev"] != TOKENIZER_REV else []
    return outdated + (["index-rebuilding"] if "rebuild" in meta else [])


def _kb_scope(connection: apsw.Connection, kb_ids: frozenset[str]) -> _Scope:
    numbers = _numbers(connection, "SELECT n FROM evidence_kb, json_each(?) WHERE provider_kb_id = value", kb_ids)
    everything = connection.execute("SELECT count(*) FROM evidence_kb").get
    if not kb_ids or len(numbers) == everything:
        return _Scope()
    if 0 < len(numbers) <= _FEW:
        return _Scope(tokens=_any_of("k", numbers))
    return _Scope(within=frozenset(one for (one,) in connection.execute(_KB_RESOURCES, (json.dumps(numbers),))))


def _document_scope(connection: apsw.Connection, ids: Sequence[str]) -> _Scope:
    if len(ids) > _FEW:
        return _Scope(within=frozenset(ids))
    numbers = _numbers(connection, "SELECT n FROM evidence_resource, json_each(?) WHERE resource_id = value", ids)
    if ids and not numbers:
        return _Scope(within=frozenset())
    return _Scope(tokens=_any_of("r", numbers) if ids else "")


def _both(one: _Scope, other: _Scope) -> _Scope:
    lists = [scope.within for scope in (one, other) if scope.within is not None]
    return _Scope(tokens=one.tokens + other.tokens, within=frozenset.intersection(*lists) if lists else None)


def _numbers(connection: apsw.Connection, sql: str, values: Iterable[str]) -> list[int]:
    return [n for (n,) in connection.execute(sql, (json.dumps(list(values)),))]


def _any_of(letter: str, numbers: Iterable[int]) -> str:
    return f"scope : ({' OR '.join(f'{letter}{n}' for n in numbers)}) AND "


def _matches(
    connection: apsw.Connection, scope: _Scope, terms: Sequence[Term], depth: int
) -> tuple[dict[int, float], set[int]]:
    """Return word scores of the best blocks by number, and the numbers of the best that have every term."""
    some = _scores(connection, scope, _words(terms, "OR"), depth)
    every = _scores(connection, scope, _words(terms, "AND"), depth) if len(terms) > 1 else some
    return some | every, set(every)


def _scores(connection: apsw.Connection, scope: _Scope, words: str, depth: int) -> dict[int, float]:
    expression = scope.tokens + words
    if scope.within is None:
        return dict(connection.execute(_MATCH, (expression, depth)))
    return dict(connection.execute(_MATCH_WITHIN, (expression, json.dumps(list(scope.within)), depth)))


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


def _hits(connection: apsw.Connection, kb_ids: frozenset[str], found: Sequence[Ranked]) -> tuple[SearchHit, ...]:
    kbs: dict[int, list[str]] = defaultdict(list)
    wanted = json.dumps(sorted({one.candidate.resource_n for one in found}))
    for resource_n, provider_kb_id in connection.execute(_SCOPES, (wanted,)):
        if not kb_ids or provider_kb_id in kb_ids:
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
