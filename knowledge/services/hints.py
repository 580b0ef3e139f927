"""From whatever a caller knows of a passage or document to the place in the file, as it is now.

A hint that fits several files is refused with the candidates, never guessed. What the caller may not see does not exist
here: not as a result, not as a candidate, not as a difference between two errors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.db.models import Q, QuerySet

from knowledge.citations.lines import LineIndex
from knowledge.citations.locators import Locator
from knowledge.citations.owners import path_of
from knowledge.citations.quotes import QuoteAnchor, QuoteFinder
from knowledge.citations.truth import Citation, section_keys
from knowledge.exceptions import AmbiguousReference, LocatorStale
from knowledge.models import Document, IndexStatus, ProviderKind
from knowledge.providers.base import Chunk, KBRef, KnowledgeProvider, ProviderDocumentId, ProviderError
from knowledge.providers.local.reads import chunk_of
from knowledge.providers.registry import local_provider
from knowledge.querysets import readable_documents, visible_kbs
from knowledge.services import opening, parsing, references
from knowledge.services.ingest import kb_ref
from knowledge.services.opening import OpenedPlace
from knowledge.services.placing import Placers
from knowledge.services.providers import provider_of
from knowledge.services.references import CitationToken
from mnote.exceptions import NotFound
from mnote.ids import text_key
from mnote.models import Root, Workspace
from mnote.principals import Principal
from mnote.selectors import access

_MAX_CANDIDATES = 50
_CHUNK_PAGE = 200
_EVIDENCE_PREFIX = "ev_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """What a caller knows. Empty fields say nothing. `name` is a base name or path as displayed; `lines` are derived
    lines, 1-based; `chars` derived characters; `quote` and `source_hash` what was cited."""

    token: str = ""
    chunk_id: str = ""
    chunk_index: int | None = None
    provider_document_id: str = ""
    kb_id: str = ""
    document_id: str = ""
    path: str = ""
    resource_id: str = ""
    name: str = ""
    lines: tuple[int, int] | None = None
    chars: tuple[int, int] | None = None
    quote: str = ""
    source_hash: str = ""
    section_path: tuple[str, ...] = ()

    @property
    def names_a_file(self) -> bool:
        known = (self.document_id, self.provider_document_id, self.path, self.resource_id, self.name)
        return any(known) or self.chunk_id.startswith(_EVIDENCE_PREFIX)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedReference:
    """An opened place with its registry row, if there is one. `also_at`: readable paths with the same content."""

    place: OpenedPlace
    document: Document | None
    chunk_id: str = ""
    also_at: tuple[str, ...] = ()


def open_reference(
    *, principal: Principal, workspace: Workspace | None, root: Root | None, hint: Hint, first_of_twins: bool = False
) -> OpenedReference:
    """Open what a hint names. `first_of_twins` takes the first path where several hold the very same content.

    Raises NotFound (absent or invisible), LocatorStale (it was there), AmbiguousReference (with candidates),
    LocatorInvalid (a broken token), ProviderError where only a provider knows a passage and cannot be asked.
    """
    if hint.token:
        place = _by_token(principal, workspace, root, hint.token)
        return _finished(principal, place, chunk_id=hint.chunk_id)
    if workspace is None or not (hint.names_a_file or hint.chunk_id):
        raise NotFound
    if not hint.names_a_file:
        hint = _with_document(principal, workspace, hint)
    document = _only(_rows(principal, workspace, root, hint), first_of_twins=first_of_twins)
    if document is None:
        return _finished(principal, _unregistered(principal, workspace, root, hint))
    return _finished(principal, _place(principal, document, hint), document=document, chunk_id=hint.chunk_id)


def _by_token(principal: Principal, workspace: Workspace | None, root: Root | None, text: str) -> OpenedPlace:
    token = references.read_token(text)
    is_elsewhere = (workspace is not None and workspace.id != token.workspace_id) or (
        root is not None and root.key != token.root_key
    )
    if is_elsewhere:
        raise NotFound
    return opening.open_citation(principal=principal, token=token)


def _rows(principal: Principal, workspace: Workspace, root: Root | None, hint: Hint) -> list[Document]:
    """Return the readable registry rows that fit everything the hint says; live rows first, in path order."""
    rows = readable_documents(principal, workspace).exclude(index_status=IndexStatus.SKIPPED)
    rows = rows.filter(_identified(hint))
    if root is not None:
        rows = rows.filter(root=root)
    if hint.chunk_id.startswith(_EVIDENCE_PREFIX):
        rows = _holding_block(rows, workspace, hint)
    rows = rows.select_related("root", "kb__workspace", "kb__profile").order_by("sort_path", "id")
    found = list(_named(rows, hint.name) if hint.name else rows[:_MAX_CANDIDATES])
    return sorted(found, key=lambda row: row.index_status == IndexStatus.DELETED)


def _with_document(principal: Principal, workspace: Workspace, hint: Hint) -> Hint:
    """Ask the providers of the workspace whose passage it is. Raises NotFound, or why one could not be asked."""
    failure: ProviderError | None = None
    kbs = visible_kbs(principal, workspace).exclude(provider=ProviderKind.LOCAL).select_related("profile")
    for kb in kbs.order_by("id"):
        try:
            found = provider_of(kb).chunk(kb_ref(kb), hint.chunk_id)
        except ProviderError as error:
            failure = error
            continue
        if found is not None:
            return replace(hint, kb_id=kb.pk, provider_document_id=found[0])
    raise failure or NotFound


def _identified(hint: Hint) -> Q:
    wanted = Q()
    if hint.document_id:
        wanted &= Q(id=hint.document_id)
    if hint.kb_id:
        wanted &= Q(kb_id=hint.kb_id)
    if hint.provider_document_id:
        wanted &= Q(provider_knowledge_id=hint.provider_document_id)
    if hint.path:
        wanted &= Q(path_key=text_key(hint.path))
    if hint.resource_id:
        wanted &= Q(resource_id=hint.resource_id) | Q(path_key=text_key(_path_in(hint.resource_id)))
    return wanted


def _path_in(resource_id: str) -> str:
    try:
        return path_of(resource_id)
    except ValueError:
        return ""


def _holding_block(rows: QuerySet[Document], workspace: Workspace, hint: Hint) -> QuerySet[Document]:
    """Keep the rows whose content holds the block. A block that is gone keeps nothing, unless the file is named."""
    block = local_provider().get_block(workspace.id, hint.chunk_id)
    if block is not None:
        hashes = local_provider().source_hashes(workspace.id, [block.resource_id])
        return rows.filter(Q(provider_knowledge_id=block.resource_id) | Q(indexed_hash__in=list(hashes.values())))
    is_named = hint.document_id or hint.path or hint.provider_document_id or hint.name or hint.resource_id
    return rows if is_named else rows.none()


def _named(rows: QuerySet[Document], name: str) -> list[Document]:
    """Return the rows of a whole path, else those whose path ends in the name, component-wise and case-exact."""
    exact = list(rows.filter(path_key=text_key(name.strip("/")))[:_MAX_CANDIDATES])
    if exact:
        return exact
    ending = "/" + name.strip("/")
    found = rows.filter(Q(source_path=ending[1:]) | Q(source_path__endswith=ending))[: _MAX_CANDIDATES * 2]
    return [row for row in found if f"/{row.source_path}".endswith(ending)][:_MAX_CANDIDATES]


def _only(rows: list[Document], *, first_of_twins: bool) -> Document | None:
    files = {(row.root_id, row.path_key): row for row in reversed(rows)}
    if len(files) <= 1:
        return rows[0] if rows else None
    contents = {row.indexed_hash or row.id for row in files.values()}
    if first_of_twins and len(contents) == 1:
        return rows[0]
    raise AmbiguousReference(candidates=[_candidate(row) for row in files.values()][::-1])


def _candidate(row: Document) -> dict[str, str]:
    return {
        "sourceId": row.id,
        "sourcePath": row.source_path,
        "rootUri": row.root.root_uri,
        "knowledgeBaseId": row.kb_id,
        "knowledgeBaseName": row.kb.name,
        "title": row.title or row.name,
    }


def _unregistered(principal: Principal, workspace: Workspace, root: Root | None, hint: Hint) -> OpenedPlace:
    """A file that is no document of any knowledge base opens by its path alone. Nobody knows whether one that is not
    there ever was, so it is not found rather than gone."""
    if not hint.path or root is None or hint.document_id or hint.kb_id or hint.provider_document_id:
        raise NotFound
    try:
        if hint.quote:
            citation = _citation(workspace.id, hint, hint.path, hint.source_hash)
            return opening.open_citation(principal=principal, token=_token(root, hint.path, "", citation))
        return opening.open_path(principal=principal, root=root, path=hint.path, lines=hint.lines)
    except LocatorStale:
        raise NotFound from None


def _place(principal: Principal, document: Document, hint: Hint) -> OpenedPlace:
    if hint.quote:
        source_hash = hint.source_hash or document.indexed_hash
        citation = _citation(document.workspace_id, hint, document.source_path, source_hash)
        token = _token(document.root, document.source_path, document.id, citation)
        return opening.open_citation(principal=principal, token=token)
    locator = _chunk_place(document, hint) if hint.chunk_id or hint.chunk_index is not None else None
    if locator is None:
        return _open_path(principal, document.root, document.source_path, hint.lines)
    citation = references.citation_of(locator)
    token = _token(document.root, document.source_path, document.id, citation)
    return opening.open_citation(principal=principal, token=token)


def _open_path(principal: Principal, root: Root, path: str, lines: tuple[int, int] | None) -> OpenedPlace:
    try:
        return opening.open_path(principal=principal, root=root, path=path, lines=lines)
    except NotFound:
        raise (LocatorStale if access.access_map(principal, root).may_read(path) else NotFound) from None


def _citation(workspace_id: str, hint: Hint, path: str, source_hash: str) -> Citation:
    """Return what is known of a quoted passage. Where the characters are not given, they are looked up in the text
    that was cited, so that a passage which has not moved is not called moved."""
    anchor = QuoteAnchor.of(hint.quote)
    line = hint.lines[0] if hint.lines else 1
    start = hint.chars[0] if hint.chars else None
    cited = parsing.known(workspace_id=workspace_id, source_hash=source_hash, name=path.rpartition("/")[2])
    if start is None and cited is not None:
        spans = QuoteFinder(cited.text).find(anchor)
        index = LineIndex(cited.text)
        start = min((span.start for span in spans), key=lambda at: abs(index.line_at(at) - line), default=None)
    return Citation(
        source_hash=source_hash,
        char_start=start or 0,
        line_start=line,
        anchor=anchor,
        section_keys=section_keys(hint.section_path),
    )


def _token(root: Root, path: str, document_id: str, citation: Citation) -> CitationToken:
    return CitationToken(
        workspace_id=root.workspace_id, root_key=root.key, path=path, document_id=document_id, citation=citation
    )


def _chunk_place(document: Document, hint: Hint) -> Locator | None:
    """Find the place of the index's passage; None when the index has no such passage of the document (any more).

    Raises ProviderError where that cannot be asked now.
    """
    is_ours = hint.chunk_id.startswith(_EVIDENCE_PREFIX)
    provider = local_provider() if is_ours else provider_of(document.kb)
    chunk = _evidence_chunk(document, hint) if is_ours else _provider_chunk(provider, document, hint)
    if chunk is None:
        return None
    placer = Placers().of(document, provider)
    return placer.cite(chunk) or placer.nowhere


def _evidence_chunk(document: Document, hint: Hint) -> Chunk | None:
    block = local_provider().get_block(document.workspace_id, hint.chunk_id)
    return None if block is None else chunk_of(block)


def _provider_chunk(provider: KnowledgeProvider, document: Document, hint: Hint) -> Chunk | None:
    kb, wanted = kb_ref(document.kb), ProviderDocumentId(document.provider_knowledge_id)
    if not wanted:
        return None
    if hint.chunk_id:
        found = provider.chunk(kb, hint.chunk_id)
        return found[1] if found and found[0] == wanted else None
    assert hint.chunk_index is not None  # noqa: S101 the caller has checked
    return _numbered(provider, kb, wanted, hint.chunk_index)


def _numbered(provider: KnowledgeProvider, kb: KBRef, document: ProviderDocumentId, index: int) -> Chunk | None:
    """Find a passage by its number. Numbers may have gaps, so it stands as far on as its number says, or before."""
    offset = max(0, index - _CHUNK_PAGE + 1)
    while True:
        page = provider.chunks(kb, document, offset=offset, limit=_CHUNK_PAGE)
        for chunk in page.chunks:
            if chunk.index == index:
                return chunk
        if offset == 0 or (page.chunks and page.chunks[0].index < index):
            return None
        offset = max(0, min(offset, page.total) - _CHUNK_PAGE)


def _finished(
    principal: Principal, place: OpenedPlace, *, document: Document | None = None, chunk_id: str = ""
) -> OpenedReference:
    """Attach the registry row of the file that was opened; a token limited to knowledge bases needs one there."""
    here = readable_documents(principal, place.root.workspace).filter(root=place.root, path_key=text_key(place.path))
    rows = list(here.exclude(index_status=IndexStatus.SKIPPED).select_related("root", "kb").order_by("id")[:20])
    if principal.kb_ids and not rows:
        raise NotFound
    row = next((row for row in rows if document and row.id == document.id), rows[0] if rows else None)
    return OpenedReference(place=place, document=row, chunk_id=chunk_id, also_at=_also_at(principal, place))


def _also_at(principal: Principal, place: OpenedPlace) -> tuple[str, ...]:
    if not place.locator.source_hash:
        return ()
    twins = readable_documents(principal, place.root.workspace).filter(
        root=place.root, source_hash=place.locator.source_hash
    )
    live = twins.exclude(index_status__in=[IndexStatus.DELETED, IndexStatus.SKIPPED]).order_by("sort_path", "id")
    paths = dict.fromkeys(live.values_list("source_path", flat=True)[:20])
    return tuple(path for path in paths if path != place.path)
