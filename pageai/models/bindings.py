from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from mnote.models import User, Workspace
from pageai import ids


class BindingStatus(models.TextChoices):
    """Active: the panel of this page shows it. Stale: its person works in another root now. Archived: put away."""

    ACTIVE = "active", _("active")
    STALE = "stale", _("stale")
    ARCHIVED = "archived", _("archived")


class OpenHubBinding(models.Model):
    """Which conversation of the panel belongs to which person, workspace, root and page. Holds no message.

    `scope_key` is the derived openhub_session_scope of the four. The session ids are empty until the panel opened one.
    `page_absolute_path` never leaves the server. `metadata_json` may narrow what its tools see: `knowledgeBaseIds`,
    `sourceIds`; name further `toolSets`; and name the `agentId`. Only `pageai.services.bindings` writes it.
    """

    id = models.CharField(primary_key=True, max_length=40, default=ids.binding_id, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="page_ai_bindings")
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="page_ai_bindings")
    root_uri = models.CharField(max_length=16384)
    page_resource_id = models.TextField()
    page_absolute_path = models.TextField()
    scope_key = models.CharField(max_length=64)
    openhub_user_key = models.CharField(max_length=64)
    openhub_session_id = models.CharField(max_length=128, blank=True)
    opencode_session_id = models.CharField(max_length=128, null=True, blank=True)
    status = models.CharField(max_length=10, choices=BindingStatus.choices, default=BindingStatus.ACTIVE)
    metadata_json = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "page_ai_openhub_bindings"
        constraints = [
            models.UniqueConstraint(fields=["scope_key"], condition=Q(status="active"), name="binding_active_once"),
            models.UniqueConstraint(
                fields=["openhub_session_id"], condition=~Q(openhub_session_id=""), name="binding_openhub_session_once"
            ),
            models.UniqueConstraint(
                fields=["opencode_session_id"],
                condition=Q(opencode_session_id__isnull=False),
                name="binding_opencode_session_once",
            ),
        ]
        indexes = [
            models.Index(fields=["scope_key", "-updated_at"], name="binding_scope"),
            models.Index(fields=["user", "status"], name="binding_user_status"),
        ]

    def __str__(self) -> str:
        return self.id


class BindingToken(models.Model):
    """A short-lived key with which the agent of one binding calls tools. Shown once; only its hash is kept.

    `kb_ids` and `source_ids` are the scope it was given; what it opens is that and what its person may still read.
    An empty `source_ids` means every source of those knowledge bases, an empty `kb_ids` nothing.
    """

    binding = models.ForeignKey(OpenHubBinding, on_delete=models.CASCADE, related_name="tokens")
    prefix = models.CharField(max_length=16)
    secret_hash = models.CharField(max_length=64, unique=True)
    kb_ids = models.JSONField(default=list, blank=True)
    source_ids = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "page_ai_binding_tokens"

    def __str__(self) -> str:
        return f"{self.prefix}…"
