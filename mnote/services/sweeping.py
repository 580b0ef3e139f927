"""The broom: send what was not sent, take back what a dead worker held, forget what is long over.

Two sweeps at once do no harm: each row changes by a conditional UPDATE, and a job rung twice is claimed once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from mnote.models import Job, JobStatus
from mnote.services import doorbell, leases

_BATCH = 500
_KEEP = timedelta(days=30)
_ENDED = [JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.CANCELLED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """How many rows one sweep rang for, took back, and removed."""

    rung: int
    taken_back: int
    pruned: int


def sweep() -> Swept:
    """Do one round, bounded in rows."""
    taken_back = take_back_lost()
    return Swept(taken_back=taken_back, rung=ring_due(), pruned=prune())


def take_back_lost() -> int:
    """Queue again every job whose lease ran out, or end it when it was cancelled or has no attempt left."""
    expired = Job.objects.filter(status=JobStatus.RUNNING, lease_expires_at__lt=timezone.now())
    return sum(_take_back(job) for job in expired.order_by("lease_expires_at")[:_BATCH])


def _take_back(job: Job) -> bool:
    row = leases.held(job).filter(lease_expires_at=job.lease_expires_at)
    if job.attempt >= job.max_attempts and not job.cancel_requested_at:
        return leases.give_up(job=job, row=row, status=JobStatus.FAILED, code="worker_lost")
    # A job that took its worker down twice may do it again: from then on it waits.
    seconds = leases.backoff_seconds(job.attempt) if job.attempt > 1 else 0.0
    return leases.put_back(job=job, row=row, seconds=seconds, error_code="worker_lost")


def ring_due() -> int:
    """Ring for due jobs that were never rung since they became due, or so long ago that the message must be lost.

    For a queued row `updated_at` is when it was last rung.
    """
    now = timezone.now()
    waiting = list(_unrung(now).order_by("run_at").values_list("pk", "queue")[:_BATCH])
    if not waiting:
        return 0
    _unrung(now).filter(pk__in=[pk for pk, _ in waiting]).update(updated_at=now)
    return sum(doorbell.ring(pk, queue) for pk, queue in waiting)


def ring_next(queue: str) -> bool:
    """Ring for the job of `queue` that has been due longest; say whether there was one."""
    due = Job.objects.filter(status=JobStatus.QUEUED, queue=queue, run_at__lte=timezone.now())
    job_id = due.order_by("run_at").values_list("pk", flat=True).first()
    return job_id is not None and doorbell.ring(job_id, queue)


def _unrung(now: datetime) -> QuerySet[Job]:
    lost = now - timedelta(seconds=settings.MNOTE_JOB_LEASE_SECONDS)
    due = Job.objects.filter(status=JobStatus.QUEUED, run_at__lte=now)
    return due.filter(Q(updated_at__lt=F("run_at")) | Q(updated_at__lt=lost))


def forget_rings() -> None:
    """Let the next sweep ring for every due job: the broker was emptied."""
    Job.objects.filter(status=JobStatus.QUEUED).update(updated_at=F("run_at") - timedelta(seconds=1))


def prune() -> int:
    """Remove up to one batch of jobs that ended more than 30 days ago."""
    old = Job.objects.filter(updated_at__lt=timezone.now() - _KEEP, status__in=_ENDED)
    keys = list(old.order_by("updated_at").values_list("pk", flat=True)[:_BATCH])
    return Job.objects.filter(pk__in=keys, status__in=_ENDED).delete()[0] if keys else 0
