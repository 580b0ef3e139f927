from __future__ import annotations

from django.db import models

from mnote.models.users import User
from mnote.models.workspaces import Workspace


class AuditEntry(models.Model):
    """Who did what to which thing, and how it ended. Written once, never changed; holds no document text."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="audit_entries")
    token_name = models.CharField(max_length=120, blank=True)
    action = models.CharField(max_length=80)
    outcome = models.CharField(max_length=20, default="succeeded")
    workspace = models.ForeignKey(Workspace, on_delete=models.SET_NULL, null=True, blank=True, related_name="audit")
    kb_id = models.CharField(max_length=40, blank=True, db_index=True)
    target = models.CharField(max_length=300, blank=True)
    facts = models.JSONField(default=dict, blank=True)
    request_id = models.CharField(max_length=64, blank=True)

    class Meta:
        db_table = "mnote_audit"
        verbose_name_plural = "audit entries"
        indexes = [models.Index(fields=["workspace", "-at"], name="audit_workspace")]

    def __str__(self) -> str:
        return self.action
