from __future__ import annotations

import json

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from mnote.admin.base import ReadOnlyAdmin
from pageai.models import Run, RunEvent


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    """What agents were asked, and how it ended. The conversations are OpenHub's."""

    list_display = (
        "id", "person", "workspace", "agent_id", "status", "end_reason", "last_seq", "omitted", "created_at",
        "ended_at",
    )  # fmt: skip
    list_filter = ("status", "end_reason", "agent_id", "created_at")
    search_fields = (
        "=id", "=request_id", "=session_id", "=provider_run_id", "=binding__id", "binding__user__username",
        "=binding__workspace__id",
    )  # fmt: skip
    ordering = ("-created_at", "-id")
    fields = (
        "id", "binding", "request_id", "agent_id", "provider", "provider_run_id", "session_id", "parent_run", "status",
        "end_reason", "target_hash", "capability_hash", "last_seq", "event_bytes", "omitted", "created_at",
        "updated_at", "ended_at",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        return super().get_queryset(request).select_related("binding__user", "binding__workspace")

    @admin.display(description=_("Person"), ordering="binding__user__username")
    def person(self, run: Run) -> str:
        return run.binding.user.shown_name

    @admin.display(description=_("Workspace"))
    def workspace(self, run: Run) -> str:
        return run.binding.workspace.name


@admin.register(RunEvent)
class RunEventAdmin(ReadOnlyAdmin):
    """What happened in runs, one row each. What agents said is left to those who asked."""

    list_display = ("run_id", "seq", "kind", "source", "created_at")
    list_filter = ("kind", "source", "created_at")
    search_fields = ("=run__id", "=run__binding__id", "run__binding__user__username")
    ordering = ("-id",)
    fields = ("run", "seq", "kind", "source", "shown_payload", "created_at")
    readonly_fields = ("shown_payload",)

    @admin.display(description=_("Payload"))
    def shown_payload(self, event: RunEvent) -> str:
        shown = {name: value for name, value in event.payload.items() if name not in ("text", "title")}
        return json.dumps(shown, ensure_ascii=False, indent=1)
