from __future__ import annotations

from django.db import models

from pageai import ids
from pageai.models.bindings import OpenHubBinding


class ArtifactKind(models.TextChoices):
    CHANGED_FILE = "changed_file", "changed_file"
    DIFF = "diff", "diff"
    CITATION = "citation", "citation"
    TOOL_CALL_REF = "tool_call_ref", "tool_call_ref"
    ATTACHMENT_REF = "attachment_ref", "attachment_ref"


class ArtifactProvider(models.TextChoices):
    OPENHUB = "openhub", "openhub"
    OPENCODE = "opencode", "opencode"
    WEKNORA = "weknora", "weknora"
    LOCAL = "local", "local"
    LIGHTRAG_LEGACY = "lightrag_legacy", "lightrag_legacy"


class ArtifactIndex(models.Model):
    """An artifact reference: something of a conversation that can be opened here. Never a copy of a message."""

    id = models.CharField(primary_key=True, max_length=40, default=ids.artifact_id, editable=False)
    binding = models.ForeignKey(OpenHubBinding, on_delete=models.CASCADE, related_name="artifacts")
    openhub_session_id = models.CharField(max_length=128, blank=True)
    kind = models.CharField(max_length=20, choices=ArtifactKind.choices)
    provider = models.CharField(max_length=20, choices=ArtifactProvider.choices)
    provider_id = models.CharField(max_length=200)
    host_run_id = models.CharField(max_length=64, null=True, blank=True)
    payload_json = models.JSONField(default=dict, blank=True)
    mnote_resource_id = models.TextField(null=True, blank=True)
    open_reference_json = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "page_ai_artifact_index"
        verbose_name_plural = "artifact references"
        constraints = [
            models.UniqueConstraint(
                fields=["binding", "kind", "provider", "provider_id"], name="artifact_reference_once"
            ),
        ]
        indexes = [models.Index(fields=["binding", "-created_at"], name="artifact_reference_binding")]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"
