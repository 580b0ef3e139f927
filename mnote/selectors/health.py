"""Whether anybody works: the age of the workers' last sign of life."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils import timezone

from mnote.models import Job, JobStatus, WorkerBeat

#: The row that the scheduled message writes: it proves that clock, broker and a free worker thread work together.
SCHEDULE = "schedule"
#: A worker not heard of for longer than this counts as stopped.
SILENT_SECONDS = 60


def last_beat() -> datetime | None:
    """When any worker process last showed that it lives; None when none ever did."""
    return WorkerBeat.objects.exclude(worker=SCHEDULE).order_by("-seen_at").values_list("seen_at", flat=True).first()


def last_schedule() -> datetime | None:
    """When a message of the clock last reached a worker; None when none ever did."""
    return WorkerBeat.objects.filter(worker=SCHEDULE).values_list("seen_at", flat=True).first()


def worker_age() -> float | None:
    """Seconds since the last sign of life of any worker; None when there never was one."""
    seen = last_beat()
    return None if seen is None else (timezone.now() - seen).total_seconds()


def is_worker_alive() -> bool:
    age = worker_age()
    return age is not None and age <= SILENT_SECONDS


def stopped_since() -> datetime | None:
    """Since when work waits for a worker; None while one lives, and on a new system where nothing waits yet."""
    seen = last_beat()
    if seen is None:
        waiting = Job.objects.filter(status=JobStatus.QUEUED, run_at__lte=_silence_began())
        return waiting.order_by("run_at").values_list("run_at", flat=True).first()
    return seen if seen < _silence_began() else None


def _silence_began() -> datetime:
    return timezone.now() - timedelta(seconds=SILENT_SECONDS)


def worker_gauge() -> list[tuple[dict[str, str], float]]:
    """Seconds since each worker process, and the clock, was last heard of."""
    now = timezone.now()
    beats = WorkerBeat.objects.order_by("worker").values_list("worker", "seen_at")
    return [({"worker": worker}, round((now - seen).total_seconds(), 1)) for worker, seen in beats]
