from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from mnote.admin.base import ReadOnlyAdmin, act_on_each, principal_of
from pageai.models import BindingToken, OpenHubBinding
from pageai.services import binding_tokens, bindings


@admin.register(OpenHubBinding)
class OpenHubBindingAdmin(ReadOnlyAdmin):
    """Which conversation belongs to which page of whom. Only the two actions change anything."""

    list_display = ("id", "user", "workspace", "page_resource_id", "status", "openhub_session_id", "updated_at")
    list_filter = ("status",)
    list_select_related = ("user", "workspace")
    search_fields = (
        "=id", "user__username", "workspace__name", "=workspace__id", "=openhub_session_id", "=opencode_session_id",
    )  # fmt: skip
    ordering = ("-updated_at", "-id")
    actions = ("archive", "revoke_tokens")

    def has_act_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("pageai.change_openhubbinding")

    @admin.action(description=_("Archive the selected bindings"), permissions=["act"])
    def archive(self, request: HttpRequest, queryset: QuerySet[OpenHubBinding]) -> None:
        by = principal_of(request)
        act_on_each(self, request, queryset, lambda binding: bindings.archive(binding=binding, by=by))

    @admin.action(description=_("End the tokens of the selected bindings"), permissions=["act"])
    def revoke_tokens(self, request: HttpRequest, queryset: QuerySet[OpenHubBinding]) -> None:
        by = principal_of(request)
        act_on_each(self, request, queryset, lambda binding: binding_tokens.revoke(binding=binding, by=by))


@admin.register(BindingToken)
class BindingTokenAdmin(ReadOnlyAdmin):
    """Keys of agents: when each ends, never what it is."""

    list_display = ("prefix", "binding", "person", "is_live", "created_at", "expires_at", "revoked_at")
    list_select_related = ("binding__user",)
    search_fields = ("=prefix", "=binding__id", "binding__user__username")
    ordering = ("-created_at",)
    fields = ("prefix", "binding", "kb_ids", "source_ids", "created_at", "expires_at", "revoked_at")

    @admin.display(description=_("Person"))
    def person(self, token: BindingToken) -> str:
        return token.binding.user.shown_name

    @admin.display(description=_("Live"), boolean=True)
    def is_live(self, token: BindingToken) -> bool:
        return binding_tokens.is_live(token)
