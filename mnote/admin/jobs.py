from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from mnote.admin.base import ReadOnlyAdmin, act_on_each
from mnote.models import Job, WorkerBeat
from mnote.services import jobs


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    """Work in the background. Only the two actions change anything."""

    list_display = (
        "id",
        "kind",
        "status",
        "workspace",
        "kb_id",
        "tries",
        "run_at",
        "worker",
        "error_code",
        "updated_at",
    )
    list_filter = ("status", "queue")
    list_select_related = ("workspace",)
    search_fields = ("=id", "kind", "=kb_id", "error_code", "workspace__name")
    date_hierarchy = "created_at"
    ordering = ("-created_at",)
    actions = ("retry", "cancel")

    @admin.display(description=_("Attempts"))
    def tries(self, job: Job) -> str:
        return f"{job.attempt}/{job.max_attempts}"

    def has_act_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("mnote.change_job")

    @admin.action(description=_("Try the selected jobs again"), permissions=["act"])
    def retry(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        act_on_each(self, request, queryset, lambda job: jobs.retry(job=job))

    @admin.action(description=_("Cancel the selected jobs"), permissions=["act"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        act_on_each(self, request, queryset, lambda job: jobs.cancel(job=job))


@admin.register(WorkerBeat)
class WorkerBeatAdmin(ReadOnlyAdmin):
    """Workers, and when each was last seen."""

    list_display = ("worker", "started_at", "seen_at")
    search_fields = ("worker",)
    ordering = ("-seen_at",)
