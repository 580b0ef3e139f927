"""Searching knowledge bases at the server, one by one, and fusing what they give by rank."""

from __future__ import annotations

import time
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from knowledge.providers.base import (
    KBRef,
    ProviderDocumentId,
    ProviderError,
    ProviderKBId,
    SearchHit,
    SearchOutcome,
    SearchRequest,
)
from knowledge.providers.han import FOLD
from knowledge.providers.weknora.client import Query
from knowledge.providers.weknora.connection import Connection
from knowledge.providers.weknora.conversion import says_something
from knowledge.providers.weknora.errors import NotThere
from knowledge.providers.weknora.passages import hinted
from knowledge.providers.weknora.prepare import has_words
from knowledge.providers.weknora.rows import OVERRIDES, HitRow

#: Keyword search takes time with the square of the query, and everybody waits meanwhile.
MAX_QUERY = 2_000
#: More ids than this break the server's database.
MAX_DOCUMENTS = 10_000
#: The server never returns more.
MAX_COUNT = 500
_OVER_FETCH = 2
_WIDER = 5
_RRF_K = 60


@dataclass(frozen=True, slots=True)
class _Asking:
    """What stays the same for all knowledge bases of a search. `ends` is in monotonic seconds."""

    connection: Connection
    request: SearchRequest
    text: str
    ends: float

    def query(self, count: int, ids: Sequence[str]) -> Query:
        return Query(
            text=self.text,
            count=count,
            document_ids=ids,
            vector_threshold=self.connection.config.vector_threshold,
            without_vectors=self.request.mode == "text",
            ends=self.ends,
        )


@dataclass(frozen=True, slots=True)
class _Found:
    """Passages of one KB, best first; `is_all` says that asking for more gives no more."""

    rows: tuple[HitRow, ...]
    dropped: int
    is_all: bool


def find(connection: Connection, request: SearchRequest) -> SearchOutcome:
    """Raises the first error when no knowledge base could be searched; with some left out the answer is degraded."""
    query, notes = _query_text(request.query)
    if not has_words(query):
        return SearchOutcome(hits=(), notes=(*notes, "no-words"))
    asking = _Asking(connection, request, query, ends=time.monotonic() + request.seconds)
    found: list[_Found] = []
    failed: list[tuple[ProviderKBId, ProviderError]] = []
    for kb in request.kbs:
        try:
            found.append(_search_kb(asking, kb))
        except NotThere:
            notes.append("knowledge-base-missing")
        except ProviderError as error:
            failed.append((kb.provider_kb_id, error))
    if failed and not found:
        raise failed[0][1]
    ranked = _by_rank(found)
    return SearchOutcome(
        hits=tuple(_hit(row, score) for row, score in ranked[: request.limit]),
        more=len(ranked) > request.limit or not all(each.is_all for each in found),
        degraded=bool(failed),
        notes=tuple(dict.fromkeys(notes)),
        dropped=sum(each.dropped for each in found),
        unanswered=tuple((kb_id, error.code) for kb_id, error in failed),
    )


def _query_text(query: str) -> tuple[str, list[str]]:
    """Return what is asked, and notes. Words in another writing follow in the common one: the server takes characters
    as they are, any of the words may match, and most texts are in simplified characters and half-width letters."""
    plain = query.replace("\x00", " ").strip()
    common = unicodedata.normalize("NFKC", plain).translate(FOLD)
    others = [word for word in common.split() if word not in plain]
    text = " ".join([plain[:MAX_QUERY], *others])
    return text[:MAX_QUERY], ["query-cut"] if len(plain) > MAX_QUERY else []


def _search_kb(asking: _Asking, kb: KBRef) -> _Found:
    """Search one KB. Summaries and leftovers of deleted passages take places, so a short answer is asked for again."""
    limit = asking.request.limit
    count = min(limit * _OVER_FETCH, MAX_COUNT)
    found = _ask(asking, kb, count)
    if len(found.rows) >= limit or count == MAX_COUNT:
        return found
    wider = _ask(asking, kb, min(count * _WIDER, MAX_COUNT))
    if len(wider.rows) > len(found.rows):
        return wider
    return _Found(found.rows, found.dropped, is_all=True)


def _ask(asking: _Asking, kb: KBRef, count: int) -> _Found:
    ids = asking.request.document_ids
    wanted = [each for each in dict.fromkeys(ids) if each]
    if ids and not wanted:
        return _Found((), 0, is_all=True)
    slices = [wanted[at : at + MAX_DOCUMENTS] for at in range(0, len(wanted), MAX_DOCUMENTS)] or [[]]
    answers = [asking.connection.client.search(kb.provider_kb_id, asking.query(count, part)) for part in slices]
    allowed = frozenset(wanted)
    rows = _fused([_in_order(answer) for answer in answers])
    kept = [row for row in rows if _is_passage(row) and (not allowed or row.chunk.document_id in allowed)]
    is_all = all(len(answer) < count for answer in answers) or count == MAX_COUNT
    return _Found(tuple(kept), len(rows) - len(kept), is_all=is_all)


def _is_passage(row: HitRow) -> bool:
    return (row.chunk.type == "text" or row.chunk.is_of_picture) and says_something(row.chunk.content)


def _in_order(rows: Iterable[HitRow]) -> list[HitRow]:
    """Equal scores come in another order each time."""
    return sorted(rows, key=lambda row: (-row.score, row.metadata.get("path", ""), row.chunk.index, row.chunk.id))


def _fused(lists: Sequence[Sequence[HitRow]]) -> list[HitRow]:
    """Merge lists by rank: scores of two searches mean nothing beside each other."""
    return [row for row, _ in _ranked(lists)] if len(lists) != 1 else list(lists[0])


def _ranked(lists: Sequence[Sequence[HitRow]]) -> list[tuple[HitRow, float]]:
    scores: defaultdict[str, float] = defaultdict(float)
    first: dict[str, HitRow] = {}
    for rows in lists:
        for rank, row in enumerate(rows):
            scores[row.chunk.id] += 1 / (_RRF_K + rank)
            first.setdefault(row.chunk.id, row)
    # Equal sums stay in the order of the lists, best rank first.
    return sorted(((first[each], score) for each, score in scores.items()), key=lambda item: -item[1])


def _by_rank(found: Sequence[_Found]) -> list[tuple[HitRow, float]]:
    """Return the rows of all knowledge bases with what they are ordered by."""
    if len(found) == 1:
        return [(row, row.score) for row in found[0].rows]
    return _ranked([each.rows for each in found])


def _hit(row: HitRow, score: float) -> SearchHit:
    start, end = hinted(row.chunk, row.metadata)
    known = {name: value for name, value in row.metadata.items() if name != OVERRIDES}
    return SearchHit(
        provider_document_id=ProviderDocumentId(row.chunk.document_id),
        provider_kb_id=ProviderKBId(row.kb_id),
        chunk_id=row.chunk.id,
        chunk_index=row.chunk.index,
        score=score,
        match_type=row.match_type,
        char_start=start,
        char_end=end,
        content=row.chunk.content,
        metadata={**row.facts, "metadata": known},
        provider_start=row.chunk.start,
        provider_end=row.chunk.end,
    )
