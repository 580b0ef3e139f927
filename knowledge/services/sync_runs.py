"""Runs of a sync that a person has to decide about."""

from __future__ import annotations

from django.utils.translation import gettext as _

from knowledge.models import SyncOutcome, SyncRun
from knowledge.services.sync import CONFIRMABLE
from mnote.exceptions import Conflict
from mnote.models import Job, Role
from mnote.principals import Principal
from mnote.selectors import access
from mnote.services import audit, jobs


def may_confirm(run: SyncRun) -> bool:
    """Say whether a run was held back, nothing newer happened, and a person can decide about it."""
    if run.outcome != SyncOutcome.STOPPED or run.source is None or run.source.frozen_at:
        return False
    latest = run.source.sync_runs.order_by("-started_at", "-id").values_list("id", flat=True).first()
    return run.reason_code in CONFIRMABLE and latest == run.id


def confirm(*, principal: Principal, run: SyncRun) -> Job:
    """Agree to the removals that the safety stop held back: the source is looked at anew and what is still missing is
    taken out. Needs curator. Raises Conflict when there is nothing to agree to (any more)."""
    access.require_role(principal, run.kb.workspace, Role.CURATOR)
    if not may_confirm(run) or run.source is None:
        raise Conflict(_("There is nothing to confirm in this run."))
    audit.record(principal=principal, action="sync.confirm", workspace=run.kb.workspace, kb_id=run.kb_id, target=run.id)
    job = _enqueue(principal, run)
    if not job.payload.get("confirmed"):
        # A look without consent waits already; it must not stand in for this one.
        jobs.cancel(job=job)
        job = _enqueue(principal, run)
    return job


def dismiss(*, principal: Principal, run: SyncRun) -> None:
    """Leave everything as it is and stop asking, until a look finds something else to ask. Needs curator."""
    access.require_role(principal, run.kb.workspace, Role.CURATOR)
    run.counts = {**run.counts, "dismissed": True}
    run.save(update_fields=["counts"])
    audit.record(principal=principal, action="sync.dismiss", workspace=run.kb.workspace, kb_id=run.kb_id, target=run.id)


def _enqueue(principal: Principal, run: SyncRun) -> Job:
    return jobs.enqueue(
        kind="knowledge.sync_source",
        payload={"source_id": run.source_id, "trigger": "confirmed", "confirmed": True},
        dedup_key=str(run.source_id),
        workspace=run.kb.workspace,
        kb_id=run.kb_id,
        requested_by=principal.user,
    )
