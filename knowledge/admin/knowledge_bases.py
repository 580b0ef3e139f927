from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from django.contrib import admin, messages
from django.db.models import OuterRef, QuerySet, Subquery, Sum
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from knowledge.models import KBCount, KnowledgeBase
from knowledge.services import administration
from knowledge.services.reconcile import Report
from mnote.admin.base import ReadOnlyAdmin, act_on_each, attempt, principal_of

_DIFFERING: Mapping[str, Promise] = {
    "ghosts": _("%(count)d that nobody wants."),
    "twins": _("%(count)d held twice."),
    "returned": _("%(count)d that came back after their removal."),
    "foreign": _("%(count)d that are not ours; they stay."),
    "lost": _("%(count)d listed here but not there."),
    "short": _("%(count)d with missing passages."),
    "unmapped": _("%(count)d whose passages have no places."),
    "mistagged": _("%(count)d with other tags there."),
}


@admin.register(KnowledgeBase)
class KnowledgeBaseAdmin(ReadOnlyAdmin):
    """Knowledge bases are made and changed on their own pages, by their people."""

    list_display = (
        "name", "id", "workspace", "provider", "row_count", "owner", "created_at", "paused_at", "archived_at",
    )  # fmt: skip
    list_filter = (
        "provider",
        ("archived_at", admin.EmptyFieldListFilter),
        ("paused_at", admin.EmptyFieldListFilter),
        "default_tool_enabled",
    )
    list_select_related = ("workspace", "owner", "root")
    search_fields = ("name", "=id", "=provider_kb_id", "workspace__name", "=workspace__id", "owner__username")
    date_hierarchy = "created_at"
    ordering = ("-created_at",)
    actions = ("sync", "show_report", "repair", "archive")

    def get_queryset(self, request: HttpRequest) -> QuerySet[KnowledgeBase]:
        kept = KBCount.objects.filter(kb=OuterRef("pk")).order_by().values("kb").annotate(n=Sum("count"))
        found: QuerySet[KnowledgeBase] = super().get_queryset(request)
        return found.annotate(rows_kept=Subquery(kept.values("n")))

    def has_act_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("knowledge.change_knowledgebase")

    @admin.display(description=_("Rows"), ordering="rows_kept")
    def row_count(self, kb: KnowledgeBase) -> int:
        return kb.rows_kept or 0  # type: ignore[attr-defined]

    @admin.action(description=_("Look at all sources of the selected knowledge bases"), permissions=["act"])
    def sync(self, request: HttpRequest, queryset: QuerySet[KnowledgeBase]) -> None:
        by = principal_of(request)
        act_on_each(self, request, queryset, lambda kb: administration.sync_kb(kb=kb, by=by))

    @admin.action(description=_("Compare list and index: report only"), permissions=["view"])
    def show_report(self, request: HttpRequest, queryset: QuerySet[KnowledgeBase]) -> None:
        for kb in queryset:
            attempt(self, request, partial(self._report, request, kb), label=kb.name)

    @admin.action(description=_("Compare list and index: mend what differs"), permissions=["act"])
    def repair(self, request: HttpRequest, queryset: QuerySet[KnowledgeBase]) -> None:
        by = principal_of(request)
        act_on_each(self, request, queryset, lambda kb: administration.repair(kb=kb, by=by))

    @admin.action(description=_("Archive the selected knowledge bases: files stay"), permissions=["act"])
    def archive(self, request: HttpRequest, queryset: QuerySet[KnowledgeBase]) -> None:
        by = principal_of(request)
        act_on_each(self, request, queryset, lambda kb: administration.archive(kb=kb, by=by))

    def _report(self, request: HttpRequest, kb: KnowledgeBase) -> None:
        found = administration.report(kb=kb)
        level = messages.SUCCESS if found.is_level else messages.WARNING
        self.message_user(request, f"{kb.name}: {_words(found)}", level)


def _words(found: Report) -> str:
    """Say what differs, and nothing of what does not."""
    counts = found.as_json()
    differing = [str(text) % {"count": counts[name]} for name, text in _DIFFERING.items() if counts[name]]
    if not differing:
        return gettext("%(held)d documents in the index, all as they should be.") % counts
    whole = gettext("%(held)d documents in the index. %(differing)s")
    return whole % {"held": counts["held"], "differing": " ".join(differing)}
