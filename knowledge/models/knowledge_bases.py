from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from knowledge import ids
from mnote.models import Root, User, Workspace


class ProviderKind(models.TextChoices):
    LOCAL = "local", "local"
    WEKNORA = "weknora", "weknora"
    LIGHTRAG_LEGACY = "lightrag_legacy", "lightrag_legacy"


class Reader(models.TextChoices):
    """Who reads the files of a knowledge base: MNote, or its provider, from the originals."""

    MNOTE = "mnote", "mnote"
    PROVIDER = "provider", "provider"


class KnowledgeBase(models.Model):
    """A named set of local files and folders, indexed by one provider.

    `provider_kb_id` is minted by us before the provider is asked; `profile` is how it is reached, None for the embedded
    index. Neither changes afterwards. Archiving hides it here and removes its index;
    local files are never touched. `settings_json` holds the editor's choices, `metadata_json` facts worth keeping.
    `reading_json` says how the provider reads its files, as `knowledge.services.reader_settings` writes it.
    """

    id = models.CharField(primary_key=True, max_length=40, default=ids.kb_id, editable=False)
    owner = models.ForeignKey(User, on_delete=models.PROTECT, related_name="knowledge_bases")
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="knowledge_bases")
    root = models.ForeignKey(Root, on_delete=models.PROTECT, related_name="knowledge_bases")
    name = models.CharField(max_length=50)
    description = models.CharField(max_length=200, blank=True)
    provider = models.CharField(max_length=20, choices=ProviderKind.choices, default=ProviderKind.LOCAL)
    provider_kb_id = models.CharField(max_length=64, default=ids.provider_kb_id)
    profile = models.ForeignKey(
        "knowledge.ProviderProfile", on_delete=models.PROTECT, null=True, blank=True, related_name="knowledge_bases"
    )
    parsed_by = models.CharField(max_length=10, choices=Reader.choices, default=Reader.MNOTE)
    default_tool_enabled = models.BooleanField(default=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    settings_json = models.JSONField(default=dict, blank=True)
    reading_json = models.JSONField(default=dict, blank=True)
    metadata_json = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "mnote_knowledge_bases"
        constraints = [
            models.UniqueConstraint(
                Lower("name"), "workspace", condition=Q(archived_at__isnull=True), name="kb_name_once"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def provider_name(self) -> str:
        """What people call the provider."""
        return self.profile.name if self.profile else self.provider


class Pin(models.Model):
    """A person's pin on a knowledge base, and when that person last used it."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="kb_pins")
    kb = models.ForeignKey(KnowledgeBase, on_delete=models.CASCADE, related_name="pins")
    pinned_at = models.DateTimeField(null=True, blank=True)
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "mnote_knowledge_pins"
        constraints = [models.UniqueConstraint(fields=["user", "kb"], name="pin_once")]
