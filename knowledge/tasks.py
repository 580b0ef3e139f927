"""Work in the background: each handler loads by id, checks that it is still wanted, and calls one service."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from django.utils import timezone

from knowledge.models import Document, KnowledgeBase, ProviderKind, ProviderOutage, Source
from knowledge.services import (
    batches,
    claims,
    drain,
    index_refresh,
    profile_checks,
    provider_outages,
    reconcile,
    registry,
    removal,
    rereading,
    sources,
    stopping,
    sync,
    web_import,
)
from mnote.jobs import JobContext, Postpone, job
from mnote.models import Root, Workspace
from mnote.principals import Principal
from mnote.services import jobs

#: A first look at a million files on a slow share takes hours.
_LONG = 6 * 3600
#: How soon a refresh of an index looks whether what it queued is back.
_LOOK_AGAIN_SECONDS = 3.0
_UNWANTED = {"skipped": "no longer wanted"}


@job("knowledge.sync_source", max_attempts=3, deadline_seconds=_LONG)
def sync_source(context: JobContext) -> dict[str, Any]:
    source = (
        Source.objects.select_related("kb__workspace", "root")
        .filter(id=context.payload["source_id"], frozen_at__isnull=True, kb__archived_at__isnull=True)
        .first()
    )
    if source is None or source.kb.paused_at:
        return dict(_UNWANTED)
    order = sync.Order(
        trigger=context.payload.get("trigger", "manual"),
        job_id=context.job.id,
        full=bool(context.payload.get("full")),
        confirmed=bool(context.payload.get("confirmed")),
    )
    run = sync.sync_source(source=source, order=order, beat=context.beat)
    return {"runId": run.id, "outcome": run.outcome, **run.counts}


@job("resource_parse", queue="bulk", max_attempts=5)
def resource_parse(context: JobContext) -> dict[str, Any]:
    kb = _kb_of(context)
    if kb is None or kb.paused_at:
        return dict(_UNWANTED)
    place = context.payload.get("slot", 0)  # one key, one running job: see the dedup key of `registry.request_work`
    worker = f"slot {place}{claims.PLACE}{context.job.id}.{context.job.attempt}"
    drained = drain.drain(kb=kb, worker=worker, beat=context.beat)
    if kb.provider == ProviderKind.LOCAL:
        index_refresh.request_if_needed(kb.workspace)
    if drained.more:
        registry.request_work(kb)
    elif drained.again_at:
        registry.request_work(kb, at=drained.again_at)
    return {"indexed": drained.indexed, "failed": drained.failed, "more": drained.more}


@job("knowledge.remove_documents", queue="bulk", max_attempts=10)
def remove_documents(context: JobContext) -> dict[str, Any]:
    chosen = Document.objects.filter(id__in=context.payload["document_ids"]).select_related("kb", "source")
    removed = removal.remove(documents_to_remove=chosen, code=context.payload["code"], beat=context.beat)
    return {"removed": removed}


@job("knowledge.cancel_documents", queue="bulk", max_attempts=10)
def cancel_documents(context: JobContext) -> dict[str, Any]:
    kb = _kb_of(context)
    ids = context.payload["provider_document_ids"]
    return {"cancelled": stopping.cancel_at_provider(kb=kb, provider_document_ids=ids) if kb else 0}


@job("knowledge.purge_kb", queue="bulk", max_attempts=10)
def purge_kb(context: JobContext) -> dict[str, Any]:
    kb = KnowledgeBase.objects.filter(id=context.payload["kb_id"], archived_at__isnull=False).first()
    return {"removed": removal.purge_kb(kb=kb, beat=context.beat) if kb else 0}


@job("knowledge.reread_kb", queue="bulk", max_attempts=5)
def reread_kb(context: JobContext) -> dict[str, Any]:
    kb = _kb_of(context)
    if kb is None:
        return dict(_UNWANTED)
    return {"requeued": rereading.reread(kb=kb, only=context.payload.get("only", ""), beat=context.beat)}


@job("knowledge.reread_outdated", queue="bulk", max_attempts=5)
def reread_outdated(context: JobContext) -> dict[str, Any]:
    kb = _kb_of(context)
    return {"requeued": rereading.reread_outdated(kb=kb, beat=context.beat)} if kb else dict(_UNWANTED)


@job("knowledge.batch", queue="bulk", max_attempts=3)
def batch(context: JobContext) -> dict[str, Any]:
    kb = _kb_of(context)
    if kb is None or context.job.requested_by is None:
        return dict(_UNWANTED)
    done = batches.run(
        principal=Principal(user=context.job.requested_by),
        kb=kb,
        selection=batches.Selection.from_json(context.payload["selection"]),
        action=batches.Action(context.payload["action"]),
    )
    return {"done": done.count, "passedOver": done.passed_over}


@job("evidence_index_refresh", queue="bulk", max_attempts=5)
def evidence_index_refresh(context: JobContext) -> dict[str, Any]:
    workspace = Workspace.objects.filter(pk=context.payload["workspace_id"]).first()
    if workspace is None:
        return dict(_UNWANTED)
    if index_refresh.refresh(workspace=workspace, beat=context.beat):
        raise Postpone(_LOOK_AGAIN_SECONDS)
    return {}


@job("workspace_sanity_check", queue="bulk", max_attempts=3)
def workspace_sanity_check(context: JobContext) -> dict[str, Any]:
    kb = _kb_of(context)
    return reconcile.reconcile(kb=kb, repair=True).as_json() if kb else dict(_UNWANTED)


@job("knowledge.import_address", max_attempts=3)
def import_address(context: JobContext) -> dict[str, Any]:
    user, payload = context.job.requested_by, context.payload
    kb = _kb_of(context)
    root = Root.objects.select_related("workspace").filter(pk=payload["root_id"]).first()
    if user is None or kb is None or root is None:
        return dict(_UNWANTED)
    uploaded = web_import.import_address(
        principal=Principal(user=user), kb=kb, root=root, folder=payload["folder"], url=payload["url"],
        name=payload["name"],
    )  # fmt: skip
    return {"path": uploaded.path, "sourceId": uploaded.attached.document.id if uploaded.attached else ""}


@job("knowledge.ask_providers", queue="bulk", max_attempts=1)
def ask_providers(context: JobContext) -> dict[str, Any]:
    context.beat()
    return {"answering": provider_outages.look_again()}


@job("knowledge.look_at_profiles", queue="bulk", max_attempts=1)
def look_at_profiles(context: JobContext) -> dict[str, Any]:
    return {"failing": profile_checks.look(context.beat)}


@job("knowledge.housekeeping", queue="bulk", max_attempts=2)
def housekeeping(context: JobContext) -> dict[str, Any]:
    context.beat()
    return {"removed": removal.remove_overdue(), "forgotten": removal.forget_old_rows()}


@shared_task(name="knowledge.schedule_syncs", ignore_result=True)
def schedule_syncs() -> None:
    """Ask for every look that is due, and pick up documents whose worker died."""
    due = Source.objects.filter(
        next_sync_at__lte=timezone.now(),
        frozen_at__isnull=True,
        kb__archived_at__isnull=True,
        kb__paused_at__isnull=True,
    )
    for source in due.select_related("kb__workspace")[:500]:
        sources.request_sync(source=source, trigger="schedule")
    claims.release_lost()
    drain.restart_waiting()
    index_refresh.request_where_needed()
    for kb in rereading.read_by_others().select_related("workspace"):
        _enqueue(kb, "knowledge.reread_outdated")
    for kb in reconcile.unchecked():
        _enqueue(kb, "workspace_sanity_check")
    if ProviderOutage.objects.exists():
        jobs.enqueue(kind="knowledge.ask_providers", dedup_key="all", queue="bulk")
    if profile_checks.unseen().exists():
        jobs.enqueue(kind="knowledge.look_at_profiles", dedup_key="all", queue="bulk")
    if removal.is_due():
        jobs.enqueue(kind="knowledge.housekeeping", dedup_key="all", queue="bulk")


def _kb_of(context: JobContext) -> KnowledgeBase | None:
    """Return the knowledge base that a job is about, unless it is archived."""
    live = KnowledgeBase.objects.select_related("workspace").filter(archived_at=None)
    return live.filter(id=context.payload["kb_id"]).first()


def _enqueue(kb: KnowledgeBase, kind: str) -> None:
    """Ask for a job about a whole knowledge base, one at a time."""
    jobs.enqueue(
        kind=kind, payload={"kb_id": kb.id}, dedup_key=kb.id, workspace=kb.workspace, kb_id=kb.id, queue="bulk"
    )
