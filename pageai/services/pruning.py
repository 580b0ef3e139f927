"""Forgetting old runs: first what happened in them, later that they were."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from mnote.services import jobs
from pageai.models import Run, RunEvent

PRUNE_KIND = "pageai.prune_runs"
_BATCH = 200


def ask_when_due() -> None:
    """Have old rows removed when there are any."""
    if _old_runs().exists() or _old_journals().exists():
        jobs.enqueue(kind=PRUNE_KIND, dedup_key="all", queue="bulk")


def prune(*, beat: Callable[..., None] = lambda **_: None) -> int:
    """Remove what is older than the settings say, in small batches, and say how many rows that were."""
    removed = 0
    while keys := _first_of(_old_journals()):
        removed += RunEvent.objects.filter(run_id__in=keys).delete()[0]
        beat(removed=removed)
    while keys := _first_of(_old_runs()):
        removed += Run.objects.filter(pk__in=keys).delete()[0]
        beat(removed=removed)
    return removed


def _first_of(rows: QuerySet[Run]) -> list[str]:
    return list(rows.order_by("ended_at").values_list("pk", flat=True)[:_BATCH])


def _old_journals() -> QuerySet[Run]:
    before = timezone.now() - timedelta(days=settings.MNOTE_RUN_EVENT_DAYS)
    has_events = RunEvent.objects.filter(run=OuterRef("pk"))
    return Run.objects.filter(Exists(has_events), ended_at__lt=before)


def _old_runs() -> QuerySet[Run]:
    return Run.objects.filter(ended_at__lt=timezone.now() - timedelta(days=settings.MNOTE_RUN_DAYS))
