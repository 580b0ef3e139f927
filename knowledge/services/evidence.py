"""Evidence: passages of any readable document of a root, found in the embedded index, read and opened by locator.

Every knowledge base is parsed by us, so evidence asks the embedded index whatever provider a base has. It never stands
in for another provider's search (spec 10.4).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import Q, QuerySet

from knowledge.citations.owners import path_of
from knowledge.exceptions import EvidenceNotFound, IndexBuilding, LocatorInvalid, RootNotFound
from knowledge.models import Document, IndexStatus, ProviderKind
from knowledge.parsing.source_map import SourceMap
from knowledge.providers.base import ProviderDocumentId, ProviderKBId, SearchHit, SearchRequest
from knowledge.providers.local.rows import resource_id_of
from knowledge.providers.registry import local_provider
from knowledge.querysets import SEARCHABLE, readable_documents, visible_kbs
from knowledge.services import hints, owners, parsing, passages, references
from knowledge.services.hints import Hint, OpenedReference
from knowledge.services.passages import Passage, Surroundings, Window
from knowledge.services.placing import Placers
from knowledge.services.query import QueryResult
from knowledge.services.references import Reference
from knowledge.services.search import SearchResult
from mnote.exceptions import Invalid, NotFound
from mnote.ids import text_key
from mnote.models import Root, Workspace
from mnote.principals import Principal
from mnote.selectors import access

#: Parsers whose text was recognised from pictures.
OCR_PARSERS = frozenset({"mineru", "ocr_local"})
_ROUNDS = 3
_GROWTH = 5
_MAX_WORKSPACES = 200
_MAX_MENTIONS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Where evidence may come from. `document_id` names one page or file ("local-md:…"); without resources only pages
    themselves are searched, without OCR only text that stands in the files."""

    workspace: Workspace
    root: Root | None
    document_id: str = ""
    kb_ids: tuple[str, ...] = ()
    include_resources: bool = True
    include_ocr: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """References, best first. `degraded`: the index was not whole, so something may be missing."""

    references: tuple[Reference, ...]
    mode: str
    degraded: bool
    dropped_forbidden: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An opened place with what stands around it, and the pages that speak of it."""

    opened: OpenedReference
    surroundings: Surroundings
    mentions: tuple[Passage, ...] = ()


@dataclass(slots=True)
class _Mapped:
    references: list[Reference]
    forbidden: int = 0


def search(*, principal: Principal, scope: Scope, query: str, top_k: int = 8, mode: str = "hybrid") -> Found:
    """Find passages. Raises Invalid for an empty query, NotFound for a KB or document that is not visible,
    IndexBuilding while the index is being rebuilt and holds nothing for the query yet."""
    if not query.strip():
        raise Invalid(errors={"query": [{"message": "This field may not be blank.", "code": "blank"}]})
    allowed = _documents(principal, scope)
    ids = _narrowed_ids(scope, allowed)
    limit = top_k * 2
    for _round in range(_ROUNDS):
        request = SearchRequest(
            workspace_id=scope.workspace.id, kbs=(), query=query, limit=limit, document_ids=ids, mode=mode
        )
        outcome = local_provider().search(request)
        mapped = _map(principal, scope, allowed, outcome.hits, top_k)
        if len(mapped.references) >= top_k or not outcome.more:
            break
        limit *= _GROWTH
    if outcome.degraded and not mapped.references:
        _refuse_unfinished(scope, allowed)
    return Found(
        references=tuple(with_owners(principal, mapped.references)),
        mode=mode,
        degraded=outcome.degraded,
        dropped_forbidden=mapped.forbidden,
        notes=outcome.notes,
    )


def open_evidence(
    *, principal: Principal, workspace: Workspace | None, root_uri: str | None, hint: Hint
) -> OpenedReference:
    """Open a locator or evidence id. Without a workspace it is looked for in all that the caller sees.

    Raises LocatorInvalid, RootNotFound, EvidenceNotFound, LocatorStale.
    """
    if not hint.path and not hint.chunk_id and not hint.token:
        raise LocatorInvalid
    for place, root in _places(principal, workspace, root_uri):
        try:
            opened = hints.open_reference(
                principal=principal, workspace=place, root=root, hint=hint, first_of_twins=True
            )
        except NotFound:
            continue
        return owned(principal, opened)
    raise EvidenceNotFound


def read(
    *,
    principal: Principal,
    workspace: Workspace | None,
    root_uri: str | None,
    hint: Hint,
    window: Window,
    with_mentions: bool = True,
) -> Reading:
    """Open a locator or evidence id and gather what stands around it. Raises what `open_evidence` raises."""
    opened = open_evidence(principal=principal, workspace=workspace, root_uri=root_uri, hint=hint)
    surroundings = passages.around(opened.place, window=window, chunk_id=opened.chunk_id)
    mentions = _mentions(principal, opened) if with_mentions else ()
    return Reading(opened=opened, surroundings=surroundings, mentions=mentions)


def with_owners(principal: Principal, found: Sequence[Reference]) -> list[Reference]:
    """Name in each reference the readable pages that refer to its file."""
    by_root: defaultdict[Root, set[str]] = defaultdict(set)
    for reference in found:
        if owners.is_resource(reference.locator.resource_kind):
            by_root[reference.document.root].add(reference.locator.resource_path)
    known = {
        (root.pk, path): pages
        for root, paths in by_root.items()
        for path, pages in owners.owners_of(principal=principal, root=root, paths=paths).items()
    }
    return [
        replace(each, locator=replace(each.locator, owners=known[key])) if key in known else each
        for each in found
        for key in [(each.document.root_id, each.locator.resource_path)]
    ]


def with_owners_in(principal: Principal, result: SearchResult) -> SearchResult:
    """Name the owner pages in the references of a search."""
    return replace(result, references=tuple(with_owners(principal, result.references)))


def with_owners_in_answer(principal: Principal, result: QueryResult) -> QueryResult:
    """Name the owner pages in the references of an answer."""
    return replace(
        result,
        found=with_owners_in(principal, result.found),
        citations=tuple(with_owners(principal, result.citations)),
    )


def owned(principal: Principal, opened: OpenedReference) -> OpenedReference:
    """Name in an opened place the readable pages that refer to its file."""
    place = opened.place
    if not owners.is_resource(place.locator.resource_kind):
        return opened
    pages = owners.owners_of(principal=principal, root=place.root, paths=[place.path]).get(place.path, ())
    return replace(opened, place=replace(place, locator=replace(place.locator, owners=pages)))


def _documents(principal: Principal, scope: Scope) -> QuerySet[Document]:
    rows = readable_documents(principal, scope.workspace).filter(SEARCHABLE)
    if scope.root is not None:
        rows = rows.filter(root=scope.root)
    if scope.kb_ids:
        visible = visible_kbs(principal, scope.workspace).filter(id__in=scope.kb_ids)
        if visible.count() != len(set(scope.kb_ids)):
            raise NotFound
        rows = rows.filter(kb_id__in=scope.kb_ids)
    if not scope.include_resources and not scope.document_id:
        rows = rows.filter(source_type="markdown")
    return rows


def _narrowed_ids(scope: Scope, allowed: QuerySet[Document]) -> tuple[ProviderDocumentId, ...]:
    """Return the contents to search where the scope names a document; nothing found there is a document not seen."""
    if not scope.document_id:
        return ()
    paths = _target_paths(scope, allowed)
    keys = [text_key(path) for path in paths]
    rows = allowed.filter(path_key__in=keys).values_list("indexed_hash", "source_path").distinct()
    found = tuple(
        ProviderDocumentId(resource_id_of(source_map))
        for source_hash, path in rows
        if (source_map := _source_map(scope.workspace.id, source_hash, path)) is not None
    )
    if not rows:
        raise NotFound
    return found or (ProviderDocumentId(""),)


def _target_paths(scope: Scope, allowed: QuerySet[Document]) -> list[str]:
    """Return the path of the named document, and of the files it refers to when resources are wanted."""
    try:
        page = path_of(scope.document_id)
    except ValueError:
        raise NotFound from None
    if not scope.include_resources:
        return [page]
    row = allowed.filter(path_key=text_key(page)).select_related("root").first()
    return [page, *(owners.linked_paths(row) if row else [])]


def _source_map(workspace_id: str, source_hash: str, path: str) -> SourceMap | None:
    return parsing.known(workspace_id=workspace_id, source_hash=source_hash, name=path.rpartition("/")[2])


def _map(
    principal: Principal, scope: Scope, allowed: QuerySet[Document], hits: Sequence[SearchHit], top_k: int
) -> _Mapped:
    rows = _rows_by_content(scope, hits, allowed)
    known = _rows_by_content(scope, hits, _registered(scope)) if principal.is_administrator else {}
    mapped, placers = _Mapped(references=[]), Placers()
    for hit in hits:
        documents = rows.get(hit.provider_document_id, [])
        if not documents and hit.provider_document_id in known:
            mapped.forbidden += 1
        if documents and len(mapped.references) < top_k:
            mapped.references.extend(_reference(hit, documents, scope, placers))
    return mapped


def _registered(scope: Scope) -> QuerySet[Document]:
    rows = Document.objects.filter(SEARCHABLE, workspace=scope.workspace, kb__archived_at__isnull=True)
    return rows.filter(root=scope.root) if scope.root is not None else rows


def _rows_by_content(
    scope: Scope, hits: Sequence[SearchHit], rows: QuerySet[Document]
) -> dict[ProviderDocumentId, list[Document]]:
    """Return the rows that hold the content of each hit, in path order: by the content's hash, and read as it was."""
    ids = sorted({hit.provider_document_id for hit in hits})
    hashes = local_provider().source_hashes(scope.workspace.id, ids)
    wanted = Q(indexed_hash__in=sorted(set(hashes.values()))) | Q(provider_knowledge_id__in=ids)
    documents = list(rows.filter(wanted).select_related("root", "kb").order_by("sort_path", "id"))
    found: dict[ProviderDocumentId, list[Document]] = {}
    for resource_id in ids:
        source_hash = hashes.get(resource_id)
        found[resource_id] = [
            each
            for each in documents
            if each.provider_knowledge_id == resource_id
            or (each.indexed_hash == source_hash and each.provider != ProviderKind.LOCAL)
        ]
    return found


def _reference(hit: SearchHit, documents: Sequence[Document], scope: Scope, placers: Placers) -> list[Reference]:
    first = documents[0]
    placer = placers.of(first, local_provider())
    is_recognised = placer.source_map is not None and placer.source_map.provider in OCR_PARSERS
    if is_recognised and not scope.include_ocr:
        return []
    also_at = tuple(dict.fromkeys(row.source_path for row in documents if row.source_path != first.source_path))
    return [references.build(document=first, hit=hit, placer=placer, also_at=also_at)]


def _refuse_unfinished(scope: Scope, allowed: QuerySet[Document]) -> None:
    if local_provider().rebuild_reason(scope.workspace.id) not in ("damaged", "outdated"):
        return
    total = allowed.count()
    done = allowed.filter(index_status=IndexStatus.INDEXED).count()
    raise IndexBuilding(progress={"done": done, "total": total}, retry_after=10)


def _places(
    principal: Principal, workspace: Workspace | None, root_uri: str | None
) -> list[tuple[Workspace, Root | None]]:
    """Return where to look: the named workspace, or every visible one, with the root of that URI where one is given."""
    candidates = [workspace] if workspace else list(access.workspaces_for(principal)[:_MAX_WORKSPACES])
    if not root_uri:
        return [(each, None) for each in candidates]
    visible = access.visible_roots(principal, candidates)
    found = [(each, root) for each in candidates for root in visible.get(each.id, []) if root.root_uri == root_uri]
    if not found:
        raise RootNotFound
    return list(found)


def _mentions(principal: Principal, opened: OpenedReference) -> tuple[Passage, ...]:
    """Return the passages of readable pages that link to the file, as indexed."""
    place = opened.place
    found = owners.mentions_of(principal=principal, root=place.root, paths=[place.path]).get(place.path, ())
    return tuple(passage for mention in found[:_MAX_MENTIONS] if (passage := _mention(mention)) is not None)


def _mention(mention: owners.Mention) -> Passage | None:
    document = mention.document
    block = local_provider().get_block(document.workspace_id, mention.block_id)
    placer = Placers().of(document, local_provider())
    if block is None or placer.source_map is None:
        return None
    hit = SearchHit(
        provider_document_id=ProviderDocumentId(block.resource_id),
        provider_kb_id=ProviderKBId(""),
        chunk_id=block.block_id,
        chunk_index=block.ordinal,
        score=0.0,
        match_type="link",
        char_start=block.char_start,
        char_end=block.char_end,
        content=block.text,
    )
    reference = references.build(document=document, hit=hit, placer=placer)
    return Passage(quote=reference.locator.quote, locator=reference.locator)
