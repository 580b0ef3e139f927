"""How far a knowledge base is, in honest numbers."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q

from knowledge.models import Document, IndexStatus, KnowledgeBase
from mnote.models import Job, JobStatus

_ACTIVE = [JobStatus.QUEUED, JobStatus.RUNNING]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Counts over all documents of a knowledge base. `total` leaves out skipped and deleted ones. `is_busy` says that
    something is being looked at, waits to be read now, or is being read."""

    total: int
    searchable: int
    queued: int
    parsing: int
    failed: int
    skipped: int
    is_busy: bool


def progress_of(kb: KnowledgeBase) -> Progress:
    """Count the documents of a knowledge base by state."""
    rows = Document.objects.filter(kb=kb)
    counts = rows.aggregate(
        total=Count("pk", filter=~Q(index_status__in=[IndexStatus.SKIPPED, IndexStatus.DELETED])),
        searchable=Count("pk", filter=Q(is_searchable=True) & ~Q(index_status=IndexStatus.DELETED)),
        queued=Count("pk", filter=Q(index_status=IndexStatus.QUEUED)),
        waiting=Count("pk", filter=Q(index_status=IndexStatus.QUEUED, next_try_at__isnull=True)),
        parsing=Count("pk", filter=Q(index_status=IndexStatus.PARSING)),
        failed=Count("pk", filter=Q(index_status=IndexStatus.FAILED)),
        skipped=Count("pk", filter=Q(index_status=IndexStatus.SKIPPED)),
    )
    waiting = counts.pop("waiting")
    looking = Job.objects.filter(kb_id=kb.id, kind="knowledge.sync_source", status__in=_ACTIVE).exists()
    return Progress(**counts, is_busy=bool(waiting or counts["parsing"]) or looking)
