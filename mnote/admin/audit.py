from __future__ import annotations

from django.contrib import admin

from mnote.admin.base import ReadOnlyAdmin
from mnote.models import AuditEntry


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """Who did what. Written once, never changed."""

    list_display = ("at", "actor", "token_name", "action", "outcome", "workspace", "kb_id", "target")
    list_filter = ("outcome", ("token_name", admin.EmptyFieldListFilter))
    list_select_related = ("actor", "workspace")
    search_fields = ("actor__username", "action", "target", "=kb_id", "=request_id", "workspace__name")
    date_hierarchy = "at"
    ordering = ("-at",)
