from __future__ import annotations

from django.db import models

from mnote.models import User
from pageai import ids
from pageai.models.bindings import OpenHubBinding


class ToolCall(models.Model):
    """One call of a tool by an agent: who, which tool, over what, how it ended. Written once, never changed.

    It holds no query and no document text: `argument_hash` is keyed, so that equal calls can be told but not guessed.
    """

    id = models.CharField(primary_key=True, max_length=40, default=ids.tool_call_id, editable=False)
    at = models.DateTimeField(auto_now_add=True, db_index=True)
    user = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="tool_calls")
    token_name = models.CharField(max_length=120, blank=True)
    binding = models.ForeignKey(
        OpenHubBinding, on_delete=models.SET_NULL, null=True, blank=True, related_name="tool_calls"
    )
    agent_id = models.CharField(max_length=60, blank=True)
    host_run_id = models.CharField(max_length=64, blank=True)
    tool = models.CharField(max_length=80)
    workspace_id = models.CharField(max_length=40, blank=True)
    kb_ids = models.JSONField(default=list, blank=True)
    argument_hash = models.CharField(max_length=64, blank=True)
    outcome = models.CharField(max_length=60, default="succeeded")
    result_count = models.PositiveIntegerField(default=0)
    result_bytes = models.PositiveIntegerField(default=0)
    milliseconds = models.PositiveIntegerField(default=0)
    request_id = models.CharField(max_length=64, blank=True)

    class Meta:
        db_table = "page_ai_tool_calls"
        indexes = [
            models.Index(fields=["user", "-at"], name="tool_call_user"),
            models.Index(fields=["host_run_id"], name="tool_call_run"),
        ]

    def __str__(self) -> str:
        return f"{self.tool} {self.outcome}"
