from __future__ import annotations

from django.contrib import admin

from mnote.admin.base import ReadOnlyAdmin
from pageai.models import ArtifactIndex


@admin.register(ArtifactIndex)
class ArtifactIndexAdmin(ReadOnlyAdmin):
    """What conversations refer to. The conversations themselves are OpenHub's."""

    list_display = ("id", "binding", "kind", "provider", "provider_id", "host_run_id", "created_at")
    list_filter = ("kind", "provider")
    list_select_related = ("binding",)
    search_fields = ("=id", "=binding__id", "=openhub_session_id", "=provider_id", "=host_run_id")
    ordering = ("-created_at", "-id")
    fields = (
        "binding", "openhub_session_id", "kind", "provider", "provider_id", "host_run_id", "mnote_resource_id",
        "created_at",
    )  # fmt: skip
