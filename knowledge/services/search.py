"""Search: ask the providers, map every hit through the registry, keep what the caller may read."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Q

from knowledge.models import Document, DocumentTag, KnowledgeBase
from knowledge.parsing.source_map import SourceMap
from knowledge.providers.base import ProviderDocumentId, ProviderError, SearchHit, SearchOutcome, SearchRequest
from knowledge.querysets import SEARCHABLE, readable_documents, reads_of, visible_kbs
from knowledge.services import parsing, references
from knowledge.services.ingest import kb_ref
from knowledge.services.providers import Link, grouped
from knowledge.services.references import Reference
from mnote.exceptions import Invalid, NotFound
from mnote.models import Root, Workspace
from mnote.principals import Principal
from mnote.selectors import access

MAX_TOP_K = 50
_RRF_K = 60
#: How often a search that lost hits to filters is asked again with a larger limit.
_ROUNDS = 3
_GROWTH = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where to search: KBs of one workspace, narrowed by root, documents, paths, tags. Empty tuples narrow nothing."""

    workspace: Workspace
    root: Root | None = None
    kb_ids: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    source_types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """References, best first, and what was left out: hits of no registry row, and hits the caller may not read.

    `unreachable` lists the kinds of providers that did not answer; the others' results still stand.
    """

    references: tuple[Reference, ...]
    kbs: tuple[KnowledgeBase, ...]
    dropped_unmapped: int = 0
    dropped_forbidden: int = 0
    candidates: int = 0
    milliseconds: int = 0
    mode: str = "hybrid"
    unreachable: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Mapped:
    references: list[Reference] = field(default_factory=list)
    unmapped: int = 0
    forbidden: int = 0


def search(*, principal: Principal, scope: Scope, query: str, top_k: int = 10, mode: str = "hybrid") -> SearchResult:
    """Find passages. Raises Invalid for an empty query, NotFound when a named KB is not visible."""
    if not query.strip():
        raise Invalid(errors={"query": [{"message": "This field may not be blank.", "code": "blank"}]})
    started = time.monotonic()
    top_k = max(1, min(top_k, MAX_TOP_K))
    kbs = _kbs(principal, scope)
    allowed = _allowed(principal, scope, kbs)
    mapped, outcomes, unreachable = _ask(scope, kbs, allowed, query, top_k, mode)
    return SearchResult(
        references=tuple(mapped.references[:top_k]),
        kbs=tuple(kbs),
        dropped_unmapped=mapped.unmapped,
        dropped_forbidden=mapped.forbidden,
        candidates=sum(len(outcome.hits) for outcome in outcomes),
        milliseconds=int((time.monotonic() - started) * 1000),
        mode=mode,
        unreachable=unreachable,
        notes=tuple(dict.fromkeys(note for outcome in outcomes for note in outcome.notes)),
    )


def _kbs(principal: Principal, scope: Scope) -> list[KnowledgeBase]:
    visible = visible_kbs(principal, scope.workspace).select_related("workspace", "profile")
    if not scope.kb_ids:
        return list(visible.order_by("id"))
    chosen = list(visible.filter(id__in=scope.kb_ids).order_by("id"))
    if len(chosen) != len(set(scope.kb_ids)):
        raise NotFound
    return chosen


@dataclass(frozen=True, slots=True)
class _Allowed:
    """Which registry rows may answer: those of `root_id`, if given, that the caller may read and the filters want.
    `ids` narrows the provider's search where there are filters."""

    may_read: Callable[[Document], bool]
    root_id: int | None
    wanted: Q
    ids: tuple[ProviderDocumentId, ...]

    def of(self, rows: Sequence[Document]) -> set[str]:
        """Return the ids of those rows that may answer."""
        mine = {row.pk for row in rows if self.may_read(row) and self.root_id in (None, row.root_id)}
        if not self.ids or not mine:
            return mine
        return set(Document.objects.filter(self.wanted, pk__in=mine).values_list("pk", flat=True))


def _allowed(principal: Principal, scope: Scope, kbs: Sequence[KnowledgeBase]) -> _Allowed:
    wanted = _wanted(scope)
    narrow = bool(scope.document_ids or scope.paths or scope.tags or scope.source_types)
    ids: tuple[ProviderDocumentId, ...] = ()
    if narrow:
        readable = readable_documents(principal, scope.workspace)
        if scope.root is not None:
            readable = readable.filter(root=scope.root)
        rows = readable.filter(wanted, SEARCHABLE, kb__in=kbs).exclude(provider_knowledge_id="")
        found = rows.values_list("provider_knowledge_id", flat=True).distinct()
        ids = tuple(ProviderDocumentId(each) for each in found) or (ProviderDocumentId(""),)
    root_id = scope.root.pk if scope.root is not None else None
    return _Allowed(may_read=reads_of(principal, scope.workspace), root_id=root_id, wanted=wanted, ids=ids)


def _wanted(scope: Scope) -> Q:
    wanted = Q()
    if scope.document_ids:
        wanted &= Q(id__in=scope.document_ids)
    if scope.source_types:
        wanted &= Q(source_type__in=scope.source_types)
    if scope.paths:
        wanted &= _any(_below(path) for path in scope.paths)
    if scope.tags:
        wanted &= Q(pk__in=DocumentTag.objects.filter(name__in=scope.tags).values("document_id"))
    return wanted


def _any(parts: Iterable[Q]) -> Q:
    whole = Q(pk__in=[])
    for part in parts:
        whole |= part
    return whole


def _below(path: str) -> Q:
    return access.covered_by(path)


def _ask(
    scope: Scope, kbs: Sequence[KnowledgeBase], allowed: _Allowed, query: str, top_k: int, mode: str
) -> tuple[_Mapped, list[SearchOutcome], tuple[str, ...]]:
    """Ask every provider; ask again for more while filters left fewer than `top_k` and there is more to have."""
    by_link = grouped(kbs)
    limit = top_k * 2
    for round_number in range(_ROUNDS):
        outcomes, unreachable = _ask_once(scope, by_link, allowed, query, limit, mode)
        mapped = _map(_fused([outcome.hits for outcome in outcomes]), kbs, allowed, top_k)
        if len(mapped.references) >= top_k or not any(outcome.more for outcome in outcomes):
            break
        limit *= _GROWTH ** (round_number + 1)
    return mapped, outcomes, unreachable


def _ask_once(
    scope: Scope, by_link: Mapping[Link, list[KnowledgeBase]], allowed: _Allowed, query: str, limit: int, mode: str
) -> tuple[list[SearchOutcome], tuple[str, ...]]:
    outcomes: list[SearchOutcome] = []
    unreachable: list[str] = []
    for link, kbs in by_link.items():
        request = SearchRequest(
            workspace_id=scope.workspace.id,
            kbs=tuple(kb_ref(kb) for kb in kbs),
            query=query,
            limit=limit,
            document_ids=allowed.ids,
            mode=mode,
        )
        try:
            outcomes.append(link.provider().search(request))
        except ProviderError:
            if len(by_link) == 1:
                raise
            unreachable.append(link.kind)
    return outcomes, tuple(dict.fromkeys(unreachable))


def _fused(lists: Sequence[Sequence[SearchHit]]) -> list[SearchHit]:
    """Merge several providers' answers by rank: their scores mean nothing beside each other."""
    if len(lists) == 1:
        return list(lists[0])
    ranked = [(1 / (_RRF_K + rank), -place, hit) for place, hits in enumerate(lists) for rank, hit in enumerate(hits)]
    return [hit for _, _, hit in sorted(ranked, key=lambda item: item[:2], reverse=True)]


def _map(hits: Sequence[SearchHit], kbs: Sequence[KnowledgeBase], allowed: _Allowed, top_k: int) -> _Mapped:
    rows = _rows(hits, kbs)
    readable = allowed.of([row for found in rows.values() for row in found])
    mapped = _Mapped()
    maps: dict[str, SourceMap | None] = {}
    for hit in hits:
        found = rows.get(hit.provider_document_id, [])
        theirs = [row for row in found if row.pk in readable]
        if not found:
            mapped.unmapped += 1
        elif not theirs:
            mapped.forbidden += 1
        elif len(mapped.references) < top_k:
            mapped.references.append(_reference(hit, theirs, maps))
    return mapped


def _rows(hits: Sequence[SearchHit], kbs: Sequence[KnowledgeBase]) -> dict[str, list[Document]]:
    """Return the live registry rows behind the hits, by provider document, in path order."""
    ids = {hit.provider_document_id for hit in hits}
    documents = Document.objects.filter(SEARCHABLE, kb__in=kbs, provider_knowledge_id__in=ids)
    rows: dict[str, list[Document]] = defaultdict(list)
    # Ordered here: asked to, the database goes through the whole knowledge base in that order.
    for document in sorted(documents.select_related("root", "kb"), key=lambda row: (row.sort_path, row.id)):
        rows[document.provider_knowledge_id].append(document)
    return rows


def _reference(hit: SearchHit, rows: Sequence[Document], maps: dict[str, SourceMap | None]) -> Reference:
    document, others = rows[0], rows[1:]
    key = f"{document.indexed_hash} {document.name}"
    if key not in maps:
        maps[key] = parsing.known(
            workspace_id=document.workspace_id, source_hash=document.indexed_hash, name=document.name
        )
    also_at = tuple(dict.fromkeys(row.source_path for row in others if row.source_path != document.source_path))
    return references.build(document=document, hit=hit, source_map=maps[key], also_at=also_at)
