from __future__ import annotations

from django.db import models

from mnote.models import User, Workspace


class RuntimeState(models.TextChoices):
    """Wanted: somebody waits for it. Starting, ready: it has a process. Ending: it is to be stopped. Ended, failed: it
    has none, for the reason beside it; asking again makes it wanted."""

    WANTED = "wanted", "wanted"
    STARTING = "starting", "starting"
    READY = "ready", "ready"
    ENDING = "ending", "ending"
    ENDED = "ended", "ended"
    FAILED = "failed", "failed"


class OpencodeRuntime(models.Model):
    """The opencode of one runtime identity, a person in a workspace's root, where MNote starts it itself.

    Who waits writes `wanted` and `ending`; the agent host alone starts and stops, and writes the rest. A process is
    known by `pid` and `pid_began`; only that very one is ever ended. `reach_mark` is the rights it was started with.
    `failures` counts starts and deaths since it last ran well; it is not started before `retry_at`.
    """

    runtime_identity = models.CharField(primary_key=True, max_length=200)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="opencode_runtimes")
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="opencode_runtimes")
    root_uri = models.CharField(max_length=16384)
    folder_key = models.CharField(max_length=40, unique=True)
    state = models.CharField(max_length=10, choices=RuntimeState.choices, default=RuntimeState.WANTED)
    reason = models.CharField(max_length=40, blank=True)
    since = models.DateTimeField()
    used_at = models.DateTimeField()
    retry_at = models.DateTimeField(null=True, blank=True)
    failures = models.PositiveSmallIntegerField(default=0)
    starts = models.PositiveIntegerField(default=0)
    pid = models.PositiveIntegerField(default=0)
    pid_began = models.CharField(max_length=80, blank=True)
    port = models.PositiveIntegerField(default=0)
    sealed_password = models.TextField(blank=True, editable=False)
    reach_mark = models.CharField(max_length=64, blank=True)
    is_fenced = models.BooleanField(default=False)
    version = models.CharField(max_length=40, blank=True)

    class Meta:
        db_table = "page_ai_opencode_runtimes"
        verbose_name_plural = "opencode runtimes"
        indexes = [models.Index(fields=["state", "used_at"], name="opencode_runtime_state")]

    def __str__(self) -> str:
        return self.runtime_identity
