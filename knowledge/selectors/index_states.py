"""Whether a workspace's index is being made whole again, for the strip above pages."""

from __future__ import annotations

from dataclasses import dataclass

from knowledge.models import Document, IndexStatus
from mnote.models import Job, JobStatus

_REASONS = ("index_lost", "reader_changed")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """`code` is index_rebuilding or index_renewing (another parser reads better); `waiting` documents are not back."""

    code: str
    waiting: int


def index_state(workspace_id: str) -> IndexState | None:
    """Return what the strip has to say, None when there is nothing. One query while nothing goes on."""
    active = Job.objects.filter(
        kind="evidence_index_refresh", workspace_id=workspace_id, status__in=[JobStatus.QUEUED, JobStatus.RUNNING]
    )
    if not active.exists():
        return None
    rows = Document.objects.filter(
        workspace_id=workspace_id,
        index_status__in=[IndexStatus.QUEUED, IndexStatus.PARSING],
        reason_code__in=_REASONS,
        kb__archived_at=None,
        kb__paused_at=None,
    )
    codes = list(rows.values_list("reason_code", flat=True))
    if not codes:
        return None
    return IndexState(code="index_rebuilding" if "index_lost" in codes else "index_renewing", waiting=len(codes))
