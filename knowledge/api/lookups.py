"""Finding what an address names, as far as the caller may see it."""

from __future__ import annotations

from knowledge.models import Document, KnowledgeBase, Source, SyncRun
from knowledge.querysets import readable_documents, visible_kbs
from knowledge.selectors.kb_lists import KBCard, cards_for
from knowledge.services import knowledge_bases
from mnote.exceptions import NotFound
from mnote.models import Role, Root
from mnote.principals import Principal
from mnote.selectors import access
from mnote.selectors.access import AccessMap


def kb_named(principal: Principal, kb_id: str, role: Role = Role.VIEWER) -> KnowledgeBase:
    """Return a visible knowledge base. Raises NotFound, Forbidden."""
    return knowledge_bases.get_kb(principal=principal, kb_id=kb_id, role=role)


def card_of(principal: Principal, kb: KnowledgeBase) -> KBCard:
    """Return a knowledge base with its counts and what it is to the caller."""
    return cards_for(principal, [kb])[0]


def source_named(principal: Principal, document_id: str, role: Role = Role.VIEWER) -> Document:
    """Return a readable source of a visible knowledge base. Raises NotFound, Forbidden."""
    row = Document.objects.filter(id=document_id, kb__in=visible_kbs(principal)).select_related("workspace").first()
    if row is None:
        raise NotFound
    rows = readable_documents(principal, row.workspace).filter(id=row.id)
    found = rows.select_related("kb__workspace", "root__workspace", "source").first()
    if found is None:
        raise NotFound
    access.require_role(principal, found.kb.workspace, role)
    return found


def source_set_named(principal: Principal, source_id: str, role: Role = Role.VIEWER) -> Source:
    """Return a source set whose folder the caller may enter. Raises NotFound, Forbidden."""
    rows = Source.objects.filter(id=source_id, kb__in=visible_kbs(principal)).select_related("kb__workspace", "root")
    found = rows.first()
    if found is None or not access.access_map(principal, found.root).may_enter(found.path):
        raise NotFound
    access.require_role(principal, found.kb.workspace, role)
    return found


def sync_run_named(principal: Principal, run_id: str) -> SyncRun:
    """Return a sync run of a visible knowledge base whose folder the caller may enter. Raises NotFound."""
    rows = SyncRun.objects.filter(id=run_id, kb__in=visible_kbs(principal))
    found = rows.select_related("kb__workspace", "source__root", "kb__root").first()
    if found is None or not _may_see(principal, found):
        raise NotFound
    return found


def rights_in(principal: Principal, kb: KnowledgeBase) -> dict[int, AccessMap]:
    """Return what the caller may read, by root of the workspace."""
    roots = Root.objects.filter(workspace_id=kb.workspace_id)
    return {root.pk: access.access_map(principal, root) for root in roots}


def _may_see(principal: Principal, run: SyncRun) -> bool:
    return run.source is None or access.access_map(principal, run.source.root).may_enter(run.source.path)
