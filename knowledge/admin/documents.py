from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from knowledge.models import Document, DocumentEvent
from knowledge.reasons import REASONS, reason_for
from knowledge.services import administration
from mnote.admin.base import ReadOnlyAdmin, act_on_each, principal_of


class ReasonFilter(admin.SimpleListFilter):
    """The reasons there are, from their table: asking a million rows for them would take long."""

    title = _("reason")
    parameter_name = "reason"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:  # noqa: ARG002
        return sorted(((code, code) for code in REASONS), key=lambda pair: pair[0])

    def queryset(self, request: HttpRequest, queryset: QuerySet[Document]) -> QuerySet[Document]:  # noqa: ARG002
        return queryset.filter(reason_code=self.value()) if self.value() else queryset


@admin.register(Document)
class DocumentAdmin(ReadOnlyAdmin):
    """Registry rows: facts about files, never what is in them."""

    list_display = (
        "source_path", "kb", "index_status", "reason_code", "provider", "size_bytes", "attempts", "status_since",
        "indexed_at",
    )  # fmt: skip
    list_filter = ("index_status", "reason_class", ReasonFilter, "provider", "is_searchable")
    list_select_related = ("kb", "root")
    search_fields = ("source_path", "=id", "=kb__id", "kb__name", "=provider_knowledge_id", "=source_hash")
    date_hierarchy = "created_at"
    ordering = ("-status_since", "-id")
    fields = (
        "id", "source_path", "kb", "workspace", "root", "source", "user", "resource_id", "source_type", "size_bytes",
        "source_hash", "indexed_hash", "provider", "provider_kb_id", "provider_knowledge_id", "provider_doc_id",
        "provider_status", "index_status", "reason_class", "reason_code", "explanation", "reason_detail",
        "status_since", "is_searchable", "chunk_count", "attempts", "next_try_at", "lease_expires_at", "worker",
        "missing_since", "tags_json", "rev", "created_at", "updated_at", "indexed_at", "deleted_at",
    )  # fmt: skip
    readonly_fields = ("explanation",)
    actions = ("reindex", "retry", "stop", "leave_out")

    def has_act_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("knowledge.change_document")

    @admin.display(description=_("Explanation"))
    def explanation(self, document: Document) -> str:
        if not document.reason_code:
            return "–"
        reason = reason_for(document.reason_code)
        return f"{reason.sentence} {reason.next_step}"

    @admin.action(description=_("Read the selected documents again"), permissions=["act"])
    def reindex(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        self._act(request, queryset, administration.reindex)

    @admin.action(description=_("Try the selected failed documents again"), permissions=["act"])
    def retry(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        self._act(request, queryset, administration.retry)

    @admin.action(description=_("Stop work on the selected documents"), permissions=["act"])
    def stop(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        self._act(request, queryset, administration.stop)

    @admin.action(description=_("Exclude the selected documents: files stay"), permissions=["act"])
    def leave_out(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        self._act(request, queryset, administration.exclude)

    def _act(self, request: HttpRequest, queryset: QuerySet[Document], act: Callable[..., object]) -> None:
        by = principal_of(request)
        rows = queryset.select_related("kb__workspace", "root")
        act_on_each(self, request, rows, lambda document: act(document=document, by=by))


@admin.register(DocumentEvent)
class DocumentEventAdmin(ReadOnlyAdmin):
    """Steps in the life of documents."""

    list_display = ("document", "attempt", "stage", "state", "started_at", "finished_at")
    list_filter = ("stage", "state")
    list_select_related = ("document",)
    search_fields = ("=document__id", "document__source_path")
    date_hierarchy = "started_at"
    ordering = ("-started_at", "-id")
