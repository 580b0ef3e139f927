"""Which jobs a person may see, and what of them changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.db.models import Count, Q, QuerySet

from mnote.exceptions import NotFound
from mnote.models import Job, JobStatus
from mnote.principals import Principal
from mnote.selectors import access

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def visible_jobs(principal: Principal) -> QuerySet[Job]:
    """Select jobs of workspaces the principal sees, and those of no workspace that the person asked for.

    Administrators also see the system's own jobs. A token limited to knowledge bases sees only theirs.
    """
    workspaces = access.workspaces_for(principal).order_by().values("pk")
    own = Q(workspace=None) if principal.is_administrator else Q(workspace=None, requested_by=principal.user)
    jobs = Job.objects.filter(Q(workspace__in=workspaces) | own).select_related("workspace", "requested_by")
    return jobs.filter(kb_id__in=principal.kb_ids) if principal.kb_ids else jobs


def get_job(principal: Principal, job_id: str) -> Job:
    """Fetch one visible job. Raises NotFound."""
    job = visible_jobs(principal).filter(pk=job_id).first() if "\0" not in job_id else None
    if job is None:
        raise NotFound
    return job


def in_state(state: str) -> Q:
    """Give the condition for a public job state; an unknown one matches nothing."""
    stale = Q(status=JobStatus.SUCCEEDED, result__stale=True)
    conditions = {
        "queued": Q(status=JobStatus.QUEUED, attempt=0),
        "retrying": Q(status=JobStatus.QUEUED, attempt__gt=0),
        "running": Q(status=JobStatus.RUNNING),
        "failed": Q(status__in=[JobStatus.FAILED, JobStatus.CANCELLED]),
        "done": Q(status=JobStatus.SUCCEEDED) & (~Q(result__has_key="stale") | Q(result__stale=False)),
        "stale": stale,
    }
    return conditions.get(state, Q(pk__in=[]))


def last_change(workspace_id: str, since: int) -> int:
    """Return when a job of the workspace last changed, in microseconds since 1970; `since` when none did after it."""
    after = Job.objects.filter(workspace_id=workspace_id, updated_at__gt=_EPOCH + since * _MICROSECOND)
    newest = after.order_by("-updated_at").values_list("updated_at", flat=True).first()
    return since if newest is None else (newest - _EPOCH) // _MICROSECOND


def job_gauge() -> list[tuple[dict[str, str], float]]:
    """Count jobs by queue and status. Ended ones are kept for 30 days."""
    counts = Job.objects.order_by("queue", "status").values_list("queue", "status").annotate(count=Count("pk"))
    return [({"queue": queue, "status": status}, float(count)) for queue, status, count in counts]
