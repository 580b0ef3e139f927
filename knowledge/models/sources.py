from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from knowledge import ids
from knowledge.models.knowledge_bases import KnowledgeBase
from mnote.models import Root, User


class SyncMode(models.TextChoices):
    """When a source is looked at. ON_CHANGE means at once when the system tells of a change, and by the interval too:
    such hints get lost."""

    ON_CHANGE = "on_change", _("on change")
    INTERVAL = "interval", _("interval")
    MANUAL = "manual", _("manual")


class Disappearance(models.TextChoices):
    """What happens to a document whose local file is gone."""

    REMOVE = "remove", _("remove after the grace period")
    KEEP = "keep", _("keep until decided")


class Source(models.Model):
    """A file or folder of a root with rules, attached to a knowledge base. Public name: source set.

    `path` is root-relative text, "" for the whole root. Its state is never stored here: it follows from its last run.
    """

    id = models.CharField(primary_key=True, max_length=40, default=ids.source_id, editable=False)
    kb = models.ForeignKey(KnowledgeBase, on_delete=models.CASCADE, related_name="sources")
    root = models.ForeignKey(Root, on_delete=models.PROTECT, related_name="sources")
    path = models.CharField(max_length=16384, blank=True)
    path_key = models.CharField(max_length=40, editable=False)
    is_folder = models.BooleanField(default=True)
    recursive = models.BooleanField(default=True)
    include = models.JSONField(default=list, blank=True)
    exclude = models.JSONField(default=list, blank=True)
    max_file_mb = models.PositiveIntegerField(default=50)
    sync_mode = models.CharField(max_length=10, choices=SyncMode.choices, default=SyncMode.ON_CHANGE)
    interval_minutes = models.PositiveIntegerField(default=15)
    disappearance = models.CharField(max_length=10, choices=Disappearance.choices, default=Disappearance.REMOVE)
    grace_hours = models.PositiveIntegerField(default=24)
    safety_stop_percent = models.PositiveSmallIntegerField(default=30)
    frozen_at = models.DateTimeField(null=True, blank=True)
    next_sync_at = models.DateTimeField(null=True, blank=True, db_index=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "mnote_source_sets"
        constraints = [models.UniqueConstraint(fields=["kb", "root", "path_key"], name="source_path_once")]

    def __str__(self) -> str:
        return self.path or self.root.name


class SyncOutcome(models.TextChoices):
    RUNNING = "running", _("running")
    SUCCEEDED = "succeeded", _("succeeded")
    FAILED = "failed", _("failed")
    STOPPED = "stopped", _("stopped by the safety stop")
    CANCELLED = "cancelled", _("cancelled")


class SyncRun(models.Model):
    """One look at a source: what was found and what was done. `counts` holds added, changed, moved, removed, skipped,
    unchanged; `review` the paths that a stopped run would have removed."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.sync_run_id, editable=False)
    kb = models.ForeignKey(KnowledgeBase, on_delete=models.CASCADE, related_name="sync_runs")
    source = models.ForeignKey(Source, on_delete=models.SET_NULL, null=True, related_name="sync_runs")
    job_id = models.CharField(max_length=40, blank=True)
    trigger = models.CharField(max_length=20, default="manual")
    outcome = models.CharField(max_length=10, choices=SyncOutcome.choices, default=SyncOutcome.RUNNING)
    reason_code = models.CharField(max_length=60, blank=True)
    counts = models.JSONField(default=dict)
    review = models.JSONField(default=list, blank=True)
    scan_started_ns = models.BigIntegerField(null=True, blank=True)
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "mnote_sync_runs"
        indexes = [models.Index(fields=["kb", "-started_at"], name="sync_run_recent")]
