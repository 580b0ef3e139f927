"""Asking for work: write the job row, ring for a worker, cancel, try again. The row is the queue.

Every change is a conditional UPDATE or a guarded INSERT, so that any number of processes may do it at once, on SQLite
and PostgreSQL alike.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from mnote import job_kinds
from mnote.exceptions import Conflict
from mnote.ids import text_key
from mnote.models import Job, JobStatus, User, Workspace
from mnote.services import doorbell

_KEY_LENGTH = 200
_ROUNDS = 3


class JobState(StrEnum):
    """The public words for where a job stands."""

    QUEUED = "queued"
    RUNNING = "running"
    RETRYING = "retrying"
    FAILED = "failed"
    DONE = "done"
    STALE = "stale"


def public_state(job: Job) -> JobState:
    """Translate the row's status. A result with `stale: true` is one made from an older version of its source."""
    if job.status == JobStatus.QUEUED:
        return JobState.RETRYING if job.attempt else JobState.QUEUED
    if job.status == JobStatus.RUNNING:
        return JobState.RUNNING
    if job.status == JobStatus.SUCCEEDED:
        return JobState.STALE if job.result.get("stale") else JobState.DONE
    return JobState.FAILED


def enqueue(  # noqa: PLR0913 each is a column of the row
    *,
    kind: str,
    payload: dict[str, Any] | None = None,
    dedup_key: str = "",
    workspace: Workspace | None = None,
    kb_id: str = "",
    queue: str | None = None,
    run_at: datetime | None = None,
    max_attempts: int | None = None,
    requested_by: User | None = None,
) -> Job:
    """Write a job row in the caller's transaction and ring once that is committed.

    A queued job with the same kind and `dedup_key` is returned instead of a second one, brought forward when this
    `run_at` is earlier. `payload` holds ids and plain values only. `queue` and `max_attempts` default to what the kind
    was registered with. A broken broker raises nothing.
    """
    known = job_kinds.find(kind)
    wanted = Job(
        kind=kind,
        payload=payload or {},
        dedup_key=dedup_key if len(dedup_key) <= _KEY_LENGTH else text_key(dedup_key),
        workspace=workspace,
        kb_id=kb_id,
        queue=queue or (known.queue if known else "interactive"),
        run_at=run_at or timezone.now(),
        max_attempts=max_attempts or (known.max_attempts if known else 5),
        requested_by=requested_by,
    )
    return _join_or_insert(wanted)


def _join_or_insert(wanted: Job) -> Job:
    for _round in range(_ROUNDS):
        if wanted.dedup_key and (joined := _join(wanted)):
            return joined
        try:
            with transaction.atomic():
                wanted.save(force_insert=True)
        except IntegrityError:
            if not wanted.dedup_key or _round == _ROUNDS - 1:
                raise
            continue
        ring_after_commit(wanted)
        return wanted
    raise AssertionError("unreachable")


def _join(wanted: Job) -> Job | None:
    """Take part in the job that is queued already; None when there is none (any more).

    The row is written even when nothing changes: a worker that would start it must wait for our transaction, and so
    sees what the caller changed.
    """
    queued = Job.objects.filter(kind=wanted.kind, dedup_key=wanted.dedup_key, status=JobStatus.QUEUED).first()
    if queued is None:
        return None
    row = Job.objects.filter(pk=queued.pk, status=JobStatus.QUEUED)
    moved = row.filter(run_at__gt=wanted.run_at).update(
        run_at=wanted.run_at, queue=wanted.queue, updated_at=timezone.now()
    )
    if not moved and not row.update(updated_at=F("updated_at")):
        return None
    queued.refresh_from_db()
    if moved:
        ring_after_commit(queued)
    return queued


def ring_after_commit(job: Job) -> None:
    """Ring when the present transaction is committed, if the job is due by now. A rollback rings nothing."""
    if job.run_at <= timezone.now():
        transaction.on_commit(partial(doorbell.ring, job.pk, job.queue), robust=True)


def cancel(*, job: Job) -> Job:
    """Cancel a waiting job at once; ask a running one to stop at its next beat. A finished job stays as it is."""
    now = timezone.now()
    row = Job.objects.filter(pk=job.pk)
    if not row.filter(status=JobStatus.QUEUED).update(
        status=JobStatus.CANCELLED, error_code="cancelled", error_detail="", finished_at=now, updated_at=now
    ):
        row.filter(status=JobStatus.RUNNING, cancel_requested_at=None).update(cancel_requested_at=now, updated_at=now)
    job.refresh_from_db()
    return job


def retry(*, job: Job) -> Job:
    """Run a failed or cancelled job again with fresh attempts, or a waiting one now.

    Returns the row that will run: the job itself, or the one queued for the same key meanwhile. Raises Conflict when
    the job runs now or has succeeded.
    """
    try:
        with transaction.atomic():
            restarted = _requeue(job)
    except IntegrityError:
        return Job.objects.filter(kind=job.kind, dedup_key=job.dedup_key, status=JobStatus.QUEUED).first() or job
    job.refresh_from_db()
    if not restarted:
        raise Conflict(_("Only a job that waits, failed or was cancelled can be tried again"))
    ring_after_commit(job)
    return job


def _requeue(job: Job) -> bool:
    now = timezone.now()
    row = Job.objects.filter(pk=job.pk)
    if row.filter(status=JobStatus.QUEUED).update(run_at=now, updated_at=now):
        return True
    ended = row.filter(status__in=[JobStatus.FAILED, JobStatus.CANCELLED])
    return bool(
        ended.update(
            status=JobStatus.QUEUED,
            attempt=0,
            run_at=now,
            updated_at=now,
            cancel_requested_at=None,
            finished_at=None,
            error_code="",
            error_detail="",
            worker="",
            lease_expires_at=None,
        )
    )
