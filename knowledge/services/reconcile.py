"""Reconcile: compare what the registry believes with what the provider holds, report, repair."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from knowledge.models import Document, IndexStatus, KnowledgeBase
from knowledge.providers.base import DocumentPhase, ProviderDocumentId
from knowledge.services import documents, registry
from knowledge.services.ingest import kb_ref
from knowledge.services.providers import provider_of
from mnote.models import Job

_EVERY = timedelta(days=1)
_AT_ONCE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """`ghosts`: held by the provider, wanted by no row. `lost`: believed indexed, not held. `short`: fewer passages
    held than counted. With repair, ghosts were deleted and the others queued again."""

    held: int
    ghosts: tuple[str, ...]
    lost: tuple[str, ...]
    short: tuple[str, ...]
    repaired: bool

    def as_json(self) -> dict[str, Any]:
        body = asdict(self)
        return body | {name: len(body[name]) for name in ("ghosts", "lost", "short")}


def reconcile(*, kb: KnowledgeBase, repair: bool) -> Report:
    """Compare one knowledge base with its provider. Running it twice changes nothing the second time."""
    provider = provider_of(kb)
    held = {
        state.provider_document_id: state
        for state in provider.list_documents(kb_ref(kb))
        if state.phase not in (DocumentPhase.GONE, DocumentPhase.DELETING)
    }
    rows = list(kb.documents.exclude(index_status__in=[IndexStatus.DELETED, IndexStatus.SKIPPED]))
    missing_rows = kb.documents.filter(missing_since__isnull=False, deleted_at__isnull=True)
    wanted = {row.provider_knowledge_id for row in [*rows, *missing_rows]}
    indexed = [row for row in rows if row.index_status == IndexStatus.INDEXED]
    ghosts = [each for each in held if each not in wanted]
    lost = [row for row in indexed if row.provider_knowledge_id not in held]
    short = [row for row in indexed if _is_short(row, held)]
    if repair:
        _repair(kb, ghosts, lost + short)
    return Report(
        held=len(held),
        ghosts=tuple(ghosts),
        lost=tuple(row.source_path for row in lost),
        short=tuple(row.source_path for row in short),
        repaired=repair,
    )


def unchecked() -> list[KnowledgeBase]:
    """Return the knowledge bases that were not compared with their provider for a day, a few at a time."""
    checked = Job.objects.filter(kind="workspace_sanity_check", created_at__gte=timezone.now() - _EVERY)
    live = KnowledgeBase.objects.filter(archived_at__isnull=True, paused_at__isnull=True)
    return list(
        live.exclude(id__in=checked.values("kb_id")).select_related("workspace", "profile").order_by("id")[:_AT_ONCE]
    )


def _is_short(row: Document, held: dict[ProviderDocumentId, Any]) -> bool:
    state = held.get(ProviderDocumentId(row.provider_knowledge_id))
    return state is not None and state.chunk_count is not None and state.chunk_count < row.chunk_count


def _repair(kb: KnowledgeBase, ghosts: list[ProviderDocumentId], broken: list[Document]) -> None:
    provider = provider_of(kb)
    for ghost in ghosts:
        if not kb.documents.filter(provider_knowledge_id=ghost).exclude(index_status=IndexStatus.DELETED).exists():
            provider.delete_document(kb_ref(kb), ghost)
    if broken:
        documents.requeue(documents=broken)
        registry.request_work(kb)
