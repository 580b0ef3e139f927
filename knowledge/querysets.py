"""Filters over knowledge rows that say what a principal may see."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from django.db.models import Q, QuerySet

from knowledge.models import Document, IndexStatus, KnowledgeBase
from mnote.models import Root, Workspace
from mnote.principals import Principal
from mnote.selectors import access
from mnote.selectors.access import AccessMap


def visible_kbs(principal: Principal, workspace: Workspace | None = None) -> QuerySet[KnowledgeBase]:
    """Select the knowledge bases of workspaces the principal can see; a token may be limited to some of them."""
    kbs = kbs_in(principal, access.workspaces_for(principal))
    return kbs if workspace is None else kbs.filter(workspace=workspace)


def kbs_in(principal: Principal, workspaces: Iterable[str] | QuerySet[Workspace]) -> QuerySet[KnowledgeBase]:
    """Select the same, given workspaces (or their ids) that were looked up as visible."""
    kbs = KnowledgeBase.objects.filter(archived_at__isnull=True, workspace__in=workspaces)
    return kbs.filter(id__in=principal.kb_ids) if principal.kb_ids else kbs


def readable_documents(principal: Principal, workspace: Workspace) -> QuerySet[Document]:
    """Select the documents of a workspace whose files the principal may read, in knowledge bases it may use."""
    by_root = Q(pk__in=[])
    for root_id, granted in access.access_maps(principal, Root.objects.filter(workspace=workspace)).items():
        by_root |= Q(root=root_id) & granted.filter_q("source_path")
    documents = Document.objects.filter(by_root, workspace=workspace, kb__archived_at__isnull=True)
    if principal.kb_ids:
        documents = documents.filter(kb_id__in=principal.kb_ids)
    if principal.source_ids:
        documents = documents.filter(id__in=principal.source_ids)
    return documents


def reads_of(principal: Principal, roots: Iterable[Root], maps: Mapping[int, AccessMap]) -> Callable[[Document], bool]:
    """Return what says of a loaded row whether `readable_documents` holds it, its base being live; `roots` are those of
    one workspace, `maps` what the principal may do below each.

    For a few known rows: asked in SQL, the database goes through all rows of the root to find them.
    """
    workspaces = {root.pk: root.workspace_id for root in roots}

    def may_read(document: Document) -> bool:
        granted = maps.get(document.root_id)
        return (
            document.workspace_id == workspaces.get(document.root_id)
            and granted is not None
            and granted.may_read(document.source_path)
            and (not principal.kb_ids or document.kb_id in principal.kb_ids)
            and (not principal.source_ids or document.pk in principal.source_ids)
        )

    return may_read


def readable_in_kb(principal: Principal, kb: KnowledgeBase) -> QuerySet[Document]:
    """Select the documents of one knowledge base whose files the principal may read."""
    maps = access.access_maps(principal, Root.objects.filter(workspace=kb.workspace_id))
    return readable_with(maps, principal, kb)


def readable_with(maps: Mapping[int, AccessMap], principal: Principal, kb: KnowledgeBase) -> QuerySet[Document]:
    """Select the same, given what may be done below each root of the workspace. A reader of everything gets no
    condition on roots or paths: the indexes of the list stay usable."""
    if kb.archived_at is not None or not principal.may_use_kb(kb.pk):
        return Document.objects.none()
    documents = Document.objects.filter(kb=kb)
    if not all(granted.reads_everything for granted in maps.values()):
        by_root = Q(pk__in=[])
        for root_id, granted in maps.items():
            by_root |= Q(root=root_id) & granted.filter_q("source_path")
        documents = documents.filter(by_root)
    if principal.source_ids:
        documents = documents.filter(id__in=principal.source_ids)
    return documents


def standing_for(provider_document_ids: Collection[str]) -> Q:
    """Select the rows whose indexed version, or the one in the making, is one of these provider documents."""
    return Q(provider_knowledge_id__in=provider_document_ids) | Q(pending_knowledge_id__in=provider_document_ids)


_OUT = (IndexStatus.DELETED, IndexStatus.SKIPPED)
SEARCHABLE = Q(is_searchable=True, missing_since__isnull=True) & ~Q(index_status__in=_OUT)


def is_found(document: Document) -> bool:
    """Say of a loaded row whether SEARCHABLE holds it."""
    return document.is_searchable and document.missing_since is None and document.index_status not in _OUT
