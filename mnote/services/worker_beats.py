"""Signs of life: one row a worker process, and one for the clock."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from mnote.models import WorkerBeat

_FORGET_AFTER = timedelta(days=1)


def record(*, worker: str) -> None:
    """Note that `worker` lives now, and forget processes not heard of for a day."""
    now = timezone.now()
    if not WorkerBeat.objects.filter(worker=worker).update(seen_at=now):
        WorkerBeat.objects.get_or_create(worker=worker, defaults={"seen_at": now, "started_at": now})
    WorkerBeat.objects.filter(seen_at__lt=now - _FORGET_AFTER).delete()
