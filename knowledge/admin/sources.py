from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from knowledge.models import Exclusion, Source, SyncRun
from knowledge.services import administration
from mnote.admin.base import ReadOnlyAdmin, act_on_each, principal_of


@admin.register(Source)
class SourceAdmin(ReadOnlyAdmin):
    """Rules by which files belong; they are changed on the pages of their knowledge base."""

    list_display = ("shown_path", "kb", "root", "sync_mode", "interval_minutes", "next_sync_at", "frozen_at")
    list_filter = ("sync_mode", "disappearance", "is_folder", ("frozen_at", admin.EmptyFieldListFilter))
    list_select_related = ("kb__workspace", "root")
    search_fields = ("path", "=id", "kb__name", "=kb__id", "root__name")
    date_hierarchy = "created_at"
    ordering = ("-created_at",)
    actions = ("sync",)

    def has_act_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("knowledge.change_source")

    @admin.display(description=_("Path"), ordering="path")
    def shown_path(self, source: Source) -> str:
        return source.path or source.root.name

    @admin.action(description=_("Look at the selected sources"), permissions=["act"])
    def sync(self, request: HttpRequest, queryset: QuerySet[Source]) -> None:
        by = principal_of(request)
        rows = queryset.select_related("kb__workspace", "root")
        act_on_each(self, request, rows, lambda source: administration.sync_source(source=source, by=by))


@admin.register(SyncRun)
class SyncRunAdmin(ReadOnlyAdmin):
    """Looks at sources. A run that was held back is decided about on its own page, by a curator."""

    list_display = ("id", "kb", "source", "trigger", "outcome", "reason_code", "numbers", "started_at", "finished_at")
    list_filter = ("outcome", "trigger", "reason_code")
    list_select_related = ("kb", "source__root")
    search_fields = ("=id", "=kb__id", "kb__name", "=source__id", "source__path", "=job_id")
    date_hierarchy = "started_at"
    ordering = ("-started_at",)

    @admin.display(description=_("Counts"))
    def numbers(self, run: SyncRun) -> str:
        shown = ("added", "changed", "moved", "removed", "skipped")
        return " · ".join(f"{name} {run.counts[name]}" for name in shown if run.counts.get(name))


@admin.register(Exclusion)
class ExclusionAdmin(ReadOnlyAdmin):
    """Paths that were taken out by hand."""

    list_display = ("path", "kb", "root", "created_by", "created_at")
    list_select_related = ("kb", "root", "created_by")
    search_fields = ("path", "kb__name", "=kb__id", "created_by__username")
    date_hierarchy = "created_at"
    ordering = ("-created_at",)
    actions = ("lift",)

    def has_act_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("knowledge.change_exclusion")

    @admin.action(description=_("Let the selected paths come back with the next look"), permissions=["act"])
    def lift(self, request: HttpRequest, queryset: QuerySet[Exclusion]) -> None:
        by = principal_of(request)
        rows = queryset.select_related("kb__workspace", "root")
        act_on_each(self, request, rows, lambda row: administration.lift_exclusion(exclusion=row, by=by))
