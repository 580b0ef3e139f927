from __future__ import annotations

from django.contrib import admin

from mnote.admin.base import ReadOnlyAdmin
from pageai.models import ToolCall


@admin.register(ToolCall)
class ToolCallAdmin(ReadOnlyAdmin):
    """What agents called for whom, without the words they asked with. Written once, never changed."""

    list_display = (
        "at", "user", "token_name", "agent_id", "tool", "outcome", "result_count", "milliseconds", "host_run_id",
    )  # fmt: skip
    list_filter = ("tool", "outcome")
    list_select_related = ("user", "binding")
    search_fields = ("user__username", "=host_run_id", "=binding__id", "=argument_hash", "=request_id")
    date_hierarchy = "at"
    ordering = ("-at", "-id")
