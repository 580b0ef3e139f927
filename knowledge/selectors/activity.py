"""What is going on in knowledge bases right now, from the jobs that wait or run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from mnote.models import Job, JobStatus

_LOOKING, _READING, _REMOVING = "knowledge.sync_source", "resource_parse", "knowledge.remove_documents"
_ACTIVE = (JobStatus.QUEUED, JobStatus.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """`is_syncing`: folders are looked at, or will be next. `is_reading`: somebody works through the waiting documents
    at this moment. `asked_at` is when the newest of this was asked for."""

    is_syncing: bool = False
    is_reading: bool = False
    is_removing: bool = False
    asked_at: datetime | None = None

    @property
    def is_busy(self) -> bool:
        return self.is_syncing or self.is_reading or self.is_removing


IDLE = Activity()


def activity_of(kb_ids: Iterable[str]) -> dict[str, Activity]:
    """Return the activity of those knowledge bases that have any: one query."""
    rows = Job.objects.filter(kb_id__in=kb_ids, status__in=_ACTIVE, kind__in=[_LOOKING, _READING, _REMOVING])
    found: defaultdict[str, list[tuple[str, str, datetime]]] = defaultdict(list)
    for kb_id, kind, status, created_at in rows.values_list("kb_id", "kind", "status", "created_at"):
        found[kb_id].append((kind, status, created_at))
    return {kb_id: _activity(jobs) for kb_id, jobs in found.items()}


def _activity(jobs: list[tuple[str, str, datetime]]) -> Activity:
    return Activity(
        is_syncing=any(kind == _LOOKING for kind, _, _ in jobs),
        is_reading=any(kind == _READING and status == JobStatus.RUNNING for kind, status, _ in jobs),
        is_removing=any(kind == _REMOVING for kind, _, _ in jobs),
        asked_at=max(created_at for _, _, created_at in jobs),
    )
