"""Search: ask the providers, map every hit through the registry, keep what the caller may read."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.conf import settings
from django.db.models import Q

from knowledge.models import Document, DocumentTag, KnowledgeBase
from knowledge.providers.base import ProviderDocumentId, ProviderError, SearchRequest
from knowledge.querysets import SEARCHABLE, is_found, kbs_in, readable_documents, reads_of
from knowledge.selectors.named_documents import documents_named
from knowledge.services import asking_ahead, known_places, references
from knowledge.services.asking import Asking, Found, Part, Silent
from knowledge.services.placing import Placers
from knowledge.services.references import Reference
from mnote.exceptions import Invalid, NotFound
from mnote.models import Root, Workspace
from mnote.principals import Principal
from mnote.selectors import access

MAX_TOP_K = 50
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

    @property
    def has_filters(self) -> bool:
        """Whether the documents are narrowed otherwise than by root."""
        return bool(self.document_ids or self.paths or self.tags or self.source_types)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """References, best first, and what was left out until there were enough: hits of no registry row, hits whose
    passage does not stand in our text, and hits the caller may not read.

    `silent` tells which knowledge bases could not be searched; the others' results still stand. `failure` is set when
    none could.
    """

    references: tuple[Reference, ...]
    kbs: tuple[KnowledgeBase, ...]
    dropped_unmapped: int = 0
    dropped_unplaced: int = 0
    dropped_forbidden: int = 0
    candidates: int = 0
    milliseconds: int = 0
    mode: str = "hybrid"
    silent: tuple[Silent, ...] = ()
    failure: ProviderError | None = None
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Mapped:
    references: list[Reference] = field(default_factory=list)
    unmapped: int = 0
    unplaced: int = 0
    forbidden: int = 0


def search(*, principal: Principal, scope: Scope, query: str, top_k: int = 10, mode: str = "hybrid") -> SearchResult:
    """Find passages. Raises Invalid for an empty query, NotFound when a named KB is not visible, ProviderError when no
    provider answers."""
    result = look(principal=principal, scope=scope, query=query, top_k=top_k, mode=mode)
    if result.failure is not None:
        raise result.failure
    return result


def look(
    *,
    principal: Principal,
    scope: Scope,
    query: str,
    top_k: int = 10,
    mode: str = "hybrid",
    failed: dict[str, ProviderError] | None = None,
) -> SearchResult:
    """Do the same, but return a `failure` when no provider answers. `failed` holds providers that did not answer just
    before, by the key of their link: they are not waited for again, and those of this search join them."""
    if not query.strip():
        raise Invalid(errors={"query": [{"message": "This field may not be blank.", "code": "blank"}]})
    started = time.monotonic()
    top_k = max(1, min(top_k, MAX_TOP_K))
    request = SearchRequest(workspace_id=scope.workspace.id, kbs=(), query=query, limit=top_k * 2, mode=mode)
    asking, kbs, request = _started(principal, scope, request, failed if failed is not None else {})
    # The rights are looked up while the services think; nothing of what they find is told before.
    allowed = _allowed(principal, scope, request.document_ids)
    if allowed is None:
        return _nothing_visible(scope, mode)
    mapped = _ask(asking, request, allowed, top_k)
    return SearchResult(
        references=tuple(mapped.references[:top_k]),
        kbs=tuple(kbs),
        dropped_unmapped=mapped.unmapped,
        dropped_unplaced=mapped.unplaced,
        dropped_forbidden=mapped.forbidden,
        candidates=sum(len(outcome.hits) for outcome in asking.outcomes),
        milliseconds=int((time.monotonic() - started) * 1000),
        mode=mode,
        silent=tuple(asking.silent),
        failure=asking.failure,
        notes=tuple(dict.fromkeys(note for outcome in asking.outcomes for note in outcome.notes)),
    )


def _started(
    principal: Principal, scope: Scope, request: SearchRequest, failed: dict[str, ProviderError]
) -> tuple[Asking, Sequence[KnowledgeBase], SearchRequest]:
    """Start to ask; return the knowledge bases and what is asked as well."""
    seconds, key = settings.MNOTE_SEARCH_SECONDS, (scope.workspace.pk, scope.kb_ids, principal.kb_ids)
    ahead = None if scope.has_filters else asking_ahead.begin(key, request, seconds=seconds, failed=failed)
    kbs = _kbs(principal, scope)
    if ahead is not None:
        if asking_ahead.is_right(ahead, kbs):
            return ahead, kbs, request
        ahead.abandon()
    asking = Asking.of(kbs, seconds=seconds, failed=failed)
    request = replace(request, document_ids=_ids(principal, scope, kbs))
    asking.start(request)
    asking_ahead.remember(key, asking)
    return asking, kbs, request


def _kbs(principal: Principal, scope: Scope) -> list[KnowledgeBase]:
    """Return the knowledge bases of the scope that a token, if the principal is one, may use."""
    kbs = kbs_in(principal, [scope.workspace.pk]).select_related("profile")
    chosen = sorted(kbs.filter(id__in=scope.kb_ids) if scope.kb_ids else kbs, key=lambda kb: kb.pk)
    if scope.kb_ids and len(chosen) != len(set(scope.kb_ids)):
        raise NotFound
    for kb in chosen:
        kb.workspace = scope.workspace
    return chosen


def _nothing_visible(scope: Scope, mode: str) -> SearchResult:
    if scope.kb_ids:
        raise NotFound
    return SearchResult(references=(), kbs=(), mode=mode)


@dataclass(frozen=True, slots=True)
class _Allowed:
    """Which registry rows may answer: those of `root_id`, if given, that the caller may read and the filters want.
    `ids` narrows the provider's search where there are filters. `roots` are those of the workspace."""

    may_read: Callable[[Document], bool]
    roots: Mapping[int, Root]
    root_id: int | None
    wanted: Q
    ids: tuple[ProviderDocumentId, ...]

    def of(self, rows: Sequence[Document]) -> set[str]:
        """Return the ids of those rows that may answer."""
        mine = {row.pk for row in rows if self.may_read(row) and self.root_id in (None, row.root_id)}
        if not self.ids or not mine:
            return mine
        return set(Document.objects.filter(self.wanted, pk__in=mine).values_list("pk", flat=True))


def _ids(principal: Principal, scope: Scope, kbs: Sequence[KnowledgeBase]) -> tuple[ProviderDocumentId, ...]:
    """Return the provider documents that filters leave; none where nothing filters, one that nobody has where nothing
    is left."""
    if not scope.has_filters:
        return ()
    readable = readable_documents(principal, scope.workspace)
    if scope.root is not None:
        readable = readable.filter(root=scope.root)
    rows = readable.filter(_wanted(scope), SEARCHABLE, kb__in=kbs).exclude(provider_knowledge_id="")
    found = rows.values_list("provider_knowledge_id", flat=True).distinct()
    return tuple(ProviderDocumentId(each) for each in found) or (ProviderDocumentId(""),)


def _allowed(principal: Principal, scope: Scope, ids: tuple[ProviderDocumentId, ...]) -> _Allowed | None:
    """Return None when the workspace is not visible."""
    roots = {root.pk: root for root in Root.objects.filter(workspace=scope.workspace)}
    maps = access.access_maps(principal, roots.values())
    if not any(granted.opens_anything for granted in maps.values()) and not access.is_visible(
        principal, scope.workspace
    ):  # a member sees a workspace without roots as well
        return None
    return _Allowed(
        may_read=reads_of(principal, roots.values(), maps),
        roots=roots,
        root_id=scope.root.pk if scope.root is not None else None,
        wanted=_wanted(scope),
        ids=ids,
    )


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


def _ask(asking: Asking, request: SearchRequest, allowed: _Allowed, top_k: int) -> _Mapped:
    """Take what every provider answers; ask again for more while filters left fewer than `top_k` and there is more to
    have."""
    for round_number in range(_ROUNDS):
        asking.finish()
        mapped = _map(asking, allowed, top_k)
        if len(mapped.references) >= top_k or not asking.has_more:
            break
        request = replace(request, limit=request.limit * _GROWTH ** (round_number + 1))
        asking.start(request)
    return mapped


def _map(asking: Asking, allowed: _Allowed, top_k: int) -> _Mapped:
    """Make references of the best hits, some at a time, until there are enough."""
    found, mapped, placers = asking.found(), _Mapped(), Placers()
    for at in range(0, len(found), top_k):
        if len(mapped.references) >= top_k:
            break
        candidates = _candidates(found[at : at + top_k], allowed, mapped)
        for reference in _references(candidates, placers):
            if reference is None:
                mapped.unplaced += 1
            else:
                mapped.references.append(reference)
    return mapped


def _references(candidates: Sequence[tuple[Found, list[Document]]], placers: Placers) -> list[Reference | None]:
    """Return a reference for each hit, None where its passage does not stand in our text."""
    known = [known_places.recall(rows[0], each.hit, _also_at(rows)) for each, rows in candidates]
    placers.prepare(rows[0] for (_, rows), found in zip(candidates, known, strict=True) if found is None)
    return [found or _reference(each, rows, placers) for (each, rows), found in zip(candidates, known, strict=True)]


def _candidates(found: Sequence[Found], allowed: _Allowed, mapped: _Mapped) -> list[tuple[Found, list[Document]]]:
    """Return the hits of registry rows that may answer, with these rows in path order; count the others."""
    rows = _rows(found, allowed.roots)
    readable = allowed.of([row for group in rows.values() for row in group])
    candidates: list[tuple[Found, list[Document]]] = []
    for each in found:
        theirs = rows.get(_key(each.part, each.hit.provider_document_id), [])
        mine = [row for row in theirs if row.pk in readable]
        mapped.unmapped += not theirs
        mapped.forbidden += bool(theirs) and not mine
        if mine:
            candidates.append((each, mine))
    return candidates


def _key(part: Part, provider_document_id: str) -> tuple[str, str]:
    return part.link.key, provider_document_id


def _rows(found: Sequence[Found], roots: Mapping[int, Root]) -> dict[tuple[str, str], list[Document]]:
    """Return the live registry rows behind hits, in path order. A provider's word counts only about the knowledge bases
    it serves."""
    parts = {each.part.link.key: each.part for each in found}
    places = {kb.pk: (part, kb) for part in parts.values() for kb in part.kbs}
    named = {key: {each.hit.provider_document_id for each in found if each.part is part} for key, part in parts.items()}
    live = [
        row
        for key, part in parts.items()
        for row in documents_named(kb_ids=[kb.pk for kb in part.kbs], provider_ids=named[key])
        if is_found(row)
    ]
    rows: dict[tuple[str, str], list[Document]] = defaultdict(list)
    # Ordered here: asked to, the database goes through the whole knowledge base in that order.
    for document in sorted(live, key=lambda row: (row.sort_path, row.id)):
        part, document.kb = places[document.kb_id]
        if document.root_id in roots:
            document.root = roots[document.root_id]
        rows[_key(part, document.provider_knowledge_id)].append(document)
    return rows


def _reference(found: Found, rows: Sequence[Document], placers: Placers) -> Reference | None:
    """Return the reference of a hit; None for another's passage that does not stand in our text."""
    assert found.part.provider is not None  # noqa: S101 it has answered
    placer = placers.of(rows[0], found.part.provider)
    locator = placer.cite(found.hit)
    if locator is None and placer.is_told_by_text:
        return None
    reference = references.at(
        document=rows[0], hit=found.hit, placer=placer, locator=locator or placer.nowhere, also_at=_also_at(rows)
    )
    known_places.keep(reference)
    return reference


def _also_at(rows: Sequence[Document]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.source_path for row in rows[1:] if row.source_path != rows[0].source_path))
