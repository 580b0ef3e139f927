from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from mnote import ids
from mnote.models.users import User
from mnote.models.workspaces import Workspace


class JobStatus(models.TextChoices):
    QUEUED = "queued", _("queued")
    RUNNING = "running", _("running")
    SUCCEEDED = "succeeded", _("succeeded")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")


class Job(models.Model):
    """One piece of work. The row is the queue; Celery only carries its id.

    `dedup_key` allows one queued and one running job of a kind and key. `lease_expires_at` and `worker` belong to
    whoever runs it; `progress` is what it last said. Only `mnote.services.jobs` writes here.
    """

    id = models.CharField(primary_key=True, max_length=40, default=ids.job_id, editable=False)
    kind = models.CharField(max_length=80)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, null=True, blank=True, related_name="jobs")
    kb_id = models.CharField(max_length=40, blank=True, db_index=True)
    payload = models.JSONField(default=dict)
    dedup_key = models.CharField(max_length=200, blank=True)
    queue = models.CharField(max_length=20, default="interactive")
    status = models.CharField(max_length=10, choices=JobStatus.choices, default=JobStatus.QUEUED)
    attempt = models.PositiveIntegerField(default=0)
    max_attempts = models.PositiveIntegerField(default=5)
    run_at = models.DateTimeField(default=timezone.now)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    worker = models.CharField(max_length=120, blank=True)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    progress = models.JSONField(default=dict, blank=True)
    result = models.JSONField(default=dict, blank=True)
    error_code = models.CharField(max_length=80, blank=True)
    error_detail = models.TextField(blank=True)
    requested_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="jobs")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True, db_index=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "mnote_jobs"
        indexes = [
            models.Index(fields=["status", "run_at"], name="job_due"),
            models.Index(fields=["status", "lease_expires_at"], name="job_lease"),
            models.Index(fields=["workspace", "-created_at"], name="job_workspace"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "dedup_key"], condition=Q(status="queued") & ~Q(dedup_key=""), name="job_queued_once"
            ),
            models.UniqueConstraint(
                fields=["kind", "dedup_key"], condition=Q(status="running") & ~Q(dedup_key=""), name="job_running_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class WorkerBeat(models.Model):
    """The last sign of life of one worker process."""

    worker = models.CharField(primary_key=True, max_length=120)
    started_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "mnote_worker_beats"

    def __str__(self) -> str:
        return self.worker
