from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from mnote.admin.base import ReadOnlyAdmin
from pageai.models import OpencodeRuntime
from pageai.services import runtimes


@admin.register(OpencodeRuntime)
class OpencodeRuntimeAdmin(ReadOnlyAdmin):
    """Which opencode runs for whom, and why one does not. Stopping one loses no conversation."""

    list_display = ("user", "workspace", "state", "why", "since", "used_at", "starts", "failures", "version")
    list_filter = ("state", "reason")
    list_select_related = ("user", "workspace")
    search_fields = ("user__username", "workspace__name", "=workspace__id")
    ordering = ("-used_at",)
    actions = ("stop",)
    fields = (
        "user", "workspace", "state", "why", "since", "used_at", "retry_at", "starts", "failures", "is_fenced",
        "version", "pid",
    )  # fmt: skip

    def has_act_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("pageai.change_opencoderuntime")

    @admin.display(description=_("Reason"))
    def why(self, row: OpencodeRuntime) -> str:
        return str(runtimes.SENTENCES.get(row.reason, ""))

    @admin.action(description=_("Stop the selected programs"), permissions=["act"])
    def stop(self, request: HttpRequest, queryset: QuerySet[OpencodeRuntime]) -> None:
        count = runtimes.stop(queryset)
        messages.success(request, _("Stopping: %(count)s.") % {"count": count})
