from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import pgettext_lazy

from pageai import ids
from pageai.models.bindings import OpenHubBinding


class RunStatus(models.TextChoices):
    """Interrupted: the run waits for its person, or nobody here hears its agent at the moment."""

    PENDING = "pending", pgettext_lazy("state of a run", "pending")
    RUNNING = "running", pgettext_lazy("state of a run", "running")
    INTERRUPTED = "interrupted", pgettext_lazy("state of a run", "interrupted")
    COMPLETED = "completed", pgettext_lazy("state of a run", "completed")
    FAILED = "failed", pgettext_lazy("state of a run", "failed")
    CANCELLED = "cancelled", pgettext_lazy("state of a run", "cancelled")


LIVE = (RunStatus.PENDING, RunStatus.RUNNING, RunStatus.INTERRUPTED)


class EndReason(models.TextChoices):
    """Why a run ended. Cut: the answer broke off. Lost: its agent was gone, with no word of how it went."""

    DONE = "done", pgettext_lazy("state of a run", "done")
    FAILED = "failed", pgettext_lazy("state of a run", "failed")
    CUT = "cut", pgettext_lazy("state of a run", "cut")
    CANCELLED = "cancelled", pgettext_lazy("state of a run", "cancelled")
    SIGNED_OUT = "signed_out", pgettext_lazy("state of a run", "signed_out")
    LOST = "lost", pgettext_lazy("state of a run", "lost")


class EventKind(models.TextChoices):
    RUN_CREATED = "run.created", "run.created"
    MESSAGE_DELTA = "message.delta", "message.delta"
    TOOL_STARTED = "tool.started", "tool.started"
    TOOL_COMPLETED = "tool.completed", "tool.completed"
    PLAN_UPDATED = "plan.updated", "plan.updated"
    SESSION_INFO = "session.info.updated", "session.info.updated"
    CHANGED_FILES = "changed_files", "changed_files"
    PERMISSION_REQUESTED = "permission.requested", "permission.requested"
    PERMISSION_ANSWERED = "permission.answered", "permission.answered"
    QUESTION_ASKED = "question.asked", "question.asked"
    QUESTION_ANSWERED = "question.answered", "question.answered"
    END = "end", "end"
    ERROR = "error", "error"
    RUN_COMPLETED = "run.completed", "run.completed"
    RUN_FAILED = "run.failed", "run.failed"
    RUN_CANCELLED = "run.cancelled", "run.cancelled"


class EventSource(models.TextChoices):
    MNOTE = "mnote", "mnote"
    OPENHUB = "openhub", "openhub"
    OPENCODE = "opencode", "opencode"
    CHAT_ONLY = "chat_only", "chat_only"
    TOOL = "tool", "tool"


class Run(models.Model):
    """One run of an agent for the person of a binding: what was asked when, and how it ended. Its events are rows of
    their own. `request_id` is the host's key of one click: the same one is the same run.

    `title` is the beginning of the question, for lists. `provider_run_id` is opencode's message of the question.
    `omitted` counts events beyond what a run may have. Only `pageai.services.runs` writes it.
    """

    id = models.CharField(primary_key=True, max_length=40, default=ids.run_id, editable=False)
    binding = models.ForeignKey(OpenHubBinding, on_delete=models.CASCADE, related_name="runs")
    request_id = models.CharField(max_length=64)
    agent_id = models.CharField(max_length=60)
    provider = models.CharField(max_length=60)
    provider_run_id = models.CharField(max_length=128, blank=True)
    session_id = models.CharField(max_length=128, blank=True)
    parent_run = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="resumed_by")
    resume_request_id = models.CharField(max_length=64, blank=True)
    title = models.CharField(max_length=120, blank=True)
    status = models.CharField(max_length=12, choices=RunStatus.choices, default=RunStatus.PENDING)
    end_reason = models.CharField(max_length=12, choices=EndReason.choices, blank=True)
    target_hash = models.CharField(max_length=80, blank=True)
    capability_hash = models.CharField(max_length=80, blank=True)
    last_seq = models.PositiveBigIntegerField(default=0)
    event_bytes = models.PositiveBigIntegerField(default=0)
    omitted = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "page_ai_runs"
        constraints = [models.UniqueConstraint(fields=["binding", "request_id"], name="run_request_once")]
        indexes = [
            models.Index(fields=["binding", "-created_at", "-id"], name="run_binding"),
            models.Index(fields=["updated_at"], condition=Q(ended_at__isnull=True), name="run_live"),
            models.Index(fields=["ended_at"], name="run_ended"),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def is_live(self) -> bool:
        return self.status in LIVE


class RunEvent(models.Model):
    """One thing that happened in a run. Written once, never changed; `seq` grows by one within a run.

    `dedup_key` lets a thing that several sources tell be written once: "" for what may repeat.
    """

    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events")
    seq = models.PositiveBigIntegerField()
    kind = models.CharField(max_length=24, choices=EventKind.choices)
    source = models.CharField(max_length=10, choices=EventSource.choices)
    payload = models.JSONField(default=dict, blank=True)
    dedup_key = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "page_ai_run_events"
        constraints = [
            models.UniqueConstraint(fields=["run", "seq"], name="run_event_seq_once"),
            models.UniqueConstraint(fields=["run", "dedup_key"], condition=~Q(dedup_key=""), name="run_event_key_once"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.seq} {self.kind}"
