"""The worker's side of a job row: claim it under a lease, keep the lease, write how it ended.

Each write names the lease it is made under (worker and attempt). Who lost the lease changes nothing.
"""

from __future__ import annotations

import random
from datetime import timedelta
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from mnote.models import Job, JobStatus
from mnote.services import jobs

_BACKOFF_FIRST_SECONDS, _BACKOFF_CAP_SECONDS = 5.0, 900.0
_RETRY_AFTER_CAP_SECONDS = 3600.0
#: Two hosts' clocks differ a little: a job that was due when it was rung must not be refused for that.
_CLOCK_SLACK = timedelta(seconds=2)
_DETAIL_LENGTH = 2000


class Hold(StrEnum):
    """What became of a lease when it was renewed."""

    HELD = "held"
    CANCELLED = "cancelled"
    LOST = "lost"


def queue_of_due(job_id: str) -> str | None:
    """Return the queue of a job that can be claimed now, None for any other. Writes nothing."""
    return _due(job_id).values_list("queue", flat=True).first()


def claim(*, job_id: str, worker: str) -> Job | None:
    """Start the job as `worker` and return it; None when it is unknown, taken, not due, or its key runs already."""
    now = timezone.now()
    try:
        with transaction.atomic():
            taken = _due(job_id).update(
                status=JobStatus.RUNNING,
                attempt=F("attempt") + 1,
                worker=worker,
                lease_expires_at=now + _lease(),
                started_at=now,
                updated_at=now,
                progress={},
                error_code="",
                error_detail="",
            )
    except IntegrityError:
        return None
    return Job.objects.filter(pk=job_id, worker=worker, status=JobStatus.RUNNING).first() if taken else None


def _due(job_id: str) -> QuerySet[Job]:
    return Job.objects.filter(pk=job_id, status=JobStatus.QUEUED, run_at__lte=timezone.now() + _CLOCK_SLACK)


def _lease() -> timedelta:
    return timedelta(seconds=settings.MNOTE_JOB_LEASE_SECONDS)


def held(job: Job) -> QuerySet[Job]:
    """The row, as long as the lease under which `job` was claimed is still ours."""
    return Job.objects.filter(pk=job.pk, status=JobStatus.RUNNING, worker=job.worker, attempt=job.attempt)


def renew(*, job: Job, progress: dict[str, Any] | None = None) -> Hold:
    """Keep the lease, and store `progress` when given. Says whether the work is still wanted and ours."""
    now = timezone.now()
    said = {} if progress is None else {"progress": progress, "updated_at": now}
    if held(job).filter(cancel_requested_at=None).update(lease_expires_at=now + _lease(), **said):
        return Hold.HELD
    return Hold.CANCELLED if held(job).exists() else Hold.LOST


def finish(*, job: Job, result: dict[str, Any], progress: dict[str, Any] | None = None) -> bool:
    """Write success. False when the lease was lost and another worker's outcome counts."""
    said: dict[str, Any] = {} if progress is None else {"progress": progress}
    return _end(job, held(job), status=JobStatus.SUCCEEDED, result=result, **said)


def finish_cancelled(*, job: Job) -> bool:
    return _end(job, held(job), status=JobStatus.CANCELLED, error_code="cancelled")


def fail(*, job: Job, code: str, detail: str = "", retryable: bool = False, retry_after: float | None = None) -> bool:
    """Write a failure: the job waits for its next attempt if `retryable` and any is left, else it has failed.

    `retry_after` is the least number of seconds the other side asked us to wait.
    """
    said = {"error_code": code, "error_detail": detail[:_DETAIL_LENGTH]}
    if retryable and job.attempt < job.max_attempts:
        wait = max(backoff_seconds(job.attempt), min(retry_after or 0.0, _RETRY_AFTER_CAP_SECONDS))
        return put_back(job=job, row=held(job), seconds=wait, **said)
    return _end(job, held(job), status=JobStatus.FAILED, **said)


def postpone(*, job: Job, seconds: float) -> bool:
    """Put the job back without counting the attempt: it is not a failure to wait for something."""
    return put_back(job=job, row=held(job), seconds=seconds, attempt=F("attempt") - 1)


def backoff_seconds(attempt: int) -> float:
    """Seconds before the attempt after this one: 5, 10, 20 … 900, each shortened by up to half at random."""
    full: float = min(_BACKOFF_CAP_SECONDS, _BACKOFF_FIRST_SECONDS * 2 ** (attempt - 1))
    return full * random.uniform(0.5, 1.0)  # noqa: S311 spreads load, guards nothing


def put_back(*, job: Job, row: QuerySet[Job], seconds: float, **changes: Any) -> bool:
    """Queue the job again `seconds` from now if `row` still matches.

    One that was cancelled meanwhile ends as that. A twin that is queued already takes its place.
    """
    now = timezone.now()
    due = now + timedelta(seconds=seconds)
    free = {"worker": "", "lease_expires_at": None, "updated_at": now}
    try:
        with transaction.atomic():
            wanted = row.filter(cancel_requested_at=None)
            changed = wanted.update(status=JobStatus.QUEUED, run_at=due, **free, **changes)
    except IntegrityError:
        return give_up(job=job, row=row, status=JobStatus.CANCELLED, code="superseded")
    if not changed:
        return give_up(job=job, row=row, status=JobStatus.CANCELLED, code="cancelled")
    if seconds <= 0:
        job.run_at = due
        jobs.ring_after_commit(job)
    return True


def _end(job: Job, row: QuerySet[Job], **changes: Any) -> bool:
    now = timezone.now()
    ended = row.update(finished_at=now, updated_at=now, lease_expires_at=None, **changes)
    if ended and job.dedup_key:
        _ring_twin(job)
    return bool(ended)


def _ring_twin(job: Job) -> None:
    """The same work may have been asked for again while it ran; that row could not start before now."""
    twin = Job.objects.filter(kind=job.kind, dedup_key=job.dedup_key, status=JobStatus.QUEUED).first()
    if twin:
        jobs.ring_after_commit(twin)


def give_up(*, job: Job, row: QuerySet[Job], status: JobStatus, code: str) -> bool:
    """End the job without an outcome of its handler, if `row` still matches."""
    return _end(job, row, status=status, error_code=code)
