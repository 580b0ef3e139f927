from __future__ import annotations

from django.contrib import admin

from knowledge.models import DerivedArtifact
from mnote.admin.base import ReadOnlyAdmin


@admin.register(DerivedArtifact)
class DerivedArtifactAdmin(ReadOnlyAdmin):
    """What was made from files, without its text: administrators see that it is there, not what is in it."""

    list_display = (
        "artifact_id", "workspace", "source_root_relative_path", "artifact_kind", "provider", "size_bytes", "stale",
    )  # fmt: skip
    list_filter = ("artifact_kind", "provider", "stale")
    list_select_related = ("workspace",)
    search_fields = ("=artifact_id", "source_root_relative_path", "=source_hash", "workspace__name")
    ordering = ("-updated_at_ms", "-artifact_id")
    fields = (
        "artifact_id", "workspace", "owner_document_path", "source_root_relative_path", "artifact_kind", "provider",
        "revision", "source_hash", "content_hash", "mime_type", "size_bytes", "created_at_ms", "updated_at_ms", "stale",
    )  # fmt: skip
