"""Making the embedded index whole again: deleted, damaged, of an older version, or read by an older parser.

The registry and the artifacts hold all that is needed, so no evidence id or locator changes by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from django.db.models import QuerySet

from knowledge.models import Document, IndexStatus, KnowledgeBase, ProviderKind
from knowledge.providers.registry import local_provider
from knowledge.services import documents, parsing, registry
from knowledge.services.ingest import kb_ref
from mnote.models import Workspace
from mnote.services import jobs

LOST, OLD_READER = "index_lost", "reader_changed"
_BATCH = 500


def request_where_needed() -> int:
    """Ask for a refresh of each workspace whose index is not whole; returns how many there are."""
    used = KnowledgeBase.objects.filter(provider=ProviderKind.LOCAL).values("workspace_id")
    return sum(request_if_needed(workspace) for workspace in Workspace.objects.filter(pk__in=used))


def request_if_needed(workspace: Workspace) -> bool:
    """Ask for a refresh of a workspace's index unless it is known to be whole. Costs one small read."""
    if not _needs(workspace.pk):
        return False
    jobs.enqueue(
        kind="evidence_index_refresh",
        payload={"workspace_id": workspace.pk},
        dedup_key=workspace.pk,
        workspace=workspace,
        queue="bulk",
    )
    return True


def refresh(*, workspace: Workspace, beat: Callable[..., None] = lambda **_: None) -> int:
    """Queue what the index lost or what an older parser read, and note in the index when all of it is back.

    Returns how many documents still wait; call it again until there are none. Doing it twice changes nothing.
    """
    waiting = waiting_in(workspace.pk)
    if count := waiting.count():
        return count
    provider = local_provider()
    mark, reason = provider.unconfirmed(workspace.pk), provider.rebuild_reason(workspace.pk)
    if reason == "tokenizer":
        provider.rebuild_words(workspace.pk)
    for kb in _kbs(workspace):
        beat(kb=kb.id)
        if _queue(kb, _lost(kb), LOST) and not reason:
            provider.begin_rebuild(workspace.pk, "missing")
        _queue(kb, _read_by_others(kb), OLD_READER)
    count = waiting.count()
    if not count and provider.is_there(workspace.pk):
        provider.finish_rebuild(workspace.pk, unconfirmed=mark)
    return count


def waiting_in(workspace_id: str) -> QuerySet[Document]:
    """Select the documents that a refresh queued and that are not back yet, without those of paused bases."""
    return Document.objects.filter(
        kb__in=KnowledgeBase.objects.filter(workspace_id=workspace_id, archived_at=None, paused_at=None),
        index_status__in=[IndexStatus.QUEUED, IndexStatus.PARSING],
        reason_code__in=[LOST, OLD_READER],
    )


def _needs(workspace_id: str) -> bool:
    provider = local_provider()
    if not provider.is_there(workspace_id):
        return Document.objects.filter(
            workspace_id=workspace_id, provider=ProviderKind.LOCAL, index_status=IndexStatus.INDEXED
        ).exists()
    is_whole = provider.rebuild_reason(workspace_id) is None and provider.unconfirmed(workspace_id) is None
    return not is_whole or not _is_read_by_todays(workspace_id)


def _is_read_by_todays(workspace_id: str) -> bool:
    return local_provider().parsers(workspace_id) <= _current()


@cache
def _current() -> frozenset[tuple[str, str]]:
    return parsing.current_revisions()


def _kbs(workspace: Workspace) -> QuerySet[KnowledgeBase]:
    live = KnowledgeBase.objects.filter(workspace=workspace, provider=ProviderKind.LOCAL, archived_at=None)
    return live.select_related("workspace").order_by("id")


def _lost(kb: KnowledgeBase) -> Iterator[Document]:
    """Yield rows whose entry the index does not hold."""
    held = {state.provider_document_id for state in local_provider().list_documents(kb_ref(kb))}
    believed = Document.objects.filter(kb=kb).exclude(provider_knowledge_id="")
    for row in believed.only("id", "workspace_id", "provider_knowledge_id", "index_status").iterator():
        if row.provider_knowledge_id not in held:
            yield row


def _read_by_others(kb: KnowledgeBase) -> Iterator[Document]:
    """Yield indexed rows that the parser of today would read into another entry."""
    if _is_read_by_todays(kb.workspace_id):
        return
    indexed = Document.objects.filter(kb=kb, index_status=IndexStatus.INDEXED)
    columns = ("id", "workspace_id", "provider_knowledge_id", "source_path", "indexed_hash", "index_status")
    for row in indexed.only(*columns).iterator():
        parser = parsing.revision_of(row.name)
        if parser and row.provider_knowledge_id != local_provider().document_id_of(row.indexed_hash, *parser):
            yield row


def _queue(kb: KnowledgeBase, rows: Iterator[Document], reason_code: str) -> int:
    count = 0
    for batch in registry.batches(rows, _BATCH):
        indexed = [row for row in batch if row.index_status == IndexStatus.INDEXED]
        count += documents.requeue(documents=indexed, reason_code=reason_code)
        # A missing file that comes back must not be taken for indexed.
        gone = [row.id for row in batch if row.index_status == IndexStatus.DELETED]
        documents.write_all(Document.objects.filter(id__in=gone), provider_knowledge_id="", indexed_hash="")
    if count:
        registry.request_work(kb)
    return count
