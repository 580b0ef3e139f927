from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from mnote.admin.base import ModelForm, ReadOnlyAdmin, RowsAdmin, principal_of, sentence_of
from mnote.exceptions import AppError
from mnote.services import audit
from pageai.models import PanelConnection, PanelIdentity, PanelPolicy, PanelTurn
from pageai.services import panel


class _Secret(forms.CharField):
    """Written, never shown: an empty field keeps what is stored."""

    def __init__(self, label: Any) -> None:
        help_text = _("Not shown. Leave it empty to keep the stored one.")
        widget = forms.PasswordInput(render_value=False, attrs={"autocomplete": "new-password"})
        super().__init__(label=label, required=False, widget=widget, help_text=help_text)


class PanelConnectionForm(ModelForm):
    openhub_url = forms.URLField(label=_("Address of OpenHub"), assume_scheme="http")
    opencode_url = forms.URLField(label=_("Address of opencode"), assume_scheme="http")
    jwt_secret = _Secret(_("JWT secret of OpenHub"))
    redis_url = _Secret(_("Address of OpenHub's Redis"))
    opencode_password = _Secret(_("Password of opencode"))

    class Meta:
        model = PanelConnection
        fields = ("openhub_url", "opencode_url", "opencode_username", "app_dir")

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        for name in ("jwt_secret", "redis_url", "opencode_password"):
            if not self.cleaned_data.get(name) and not getattr(self.instance, f"sealed_{name}"):
                self.add_error(name, ValidationError(_("This field is required."), code="required"))
        return cleaned


@admin.register(PanelConnection)
class PanelConnectionAdmin(RowsAdmin):
    """Where OpenHub is. One row; the environment, where it names one, goes before it."""

    form = PanelConnectionForm
    list_display = ("openhub_url", "opencode_url", "updated_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        is_free = not settings.MNOTE_OPENHUB_URL and not PanelConnection.objects.exists()
        return is_free and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: PanelConnection | None = None) -> bool:
        return not settings.MNOTE_OPENHUB_URL and super().has_change_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: PanelConnection, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        given = form.cleaned_data
        facts = {name: given[name] for name in ("openhub_url", "opencode_url", "opencode_username", "app_dir")}
        secrets = {name: given.get(name, "") for name in ("jwt_secret", "redis_url", "opencode_password")}
        panel.save_connection(by=principal_of(request), facts=facts, secrets=secrets)


class PanelPolicyForm(ModelForm):
    class Meta:
        model = PanelPolicy
        fields = ("workspace", "is_enabled", "models_json")

    def clean_models_json(self) -> Any:
        given = self.cleaned_data["models_json"]
        try:
            panel.models_in(given)
        except AppError as error:
            raise ValidationError(sentence_of(error), code="invalid") from error
        return given


@admin.register(PanelPolicy)
class PanelPolicyAdmin(RowsAdmin):
    """What the panel may do in a workspace: whether it is there, and which models people may use."""

    form = PanelPolicyForm
    list_display = ("workspace", "is_enabled", "updated_at")
    list_select_related = ("workspace",)
    autocomplete_fields = ("workspace",)

    def save_model(self, request: HttpRequest, obj: PanelPolicy, form: Any, change: bool) -> None:  # noqa: FBT001
        super().save_model(request, obj, form, change)
        facts = {"enabled": obj.is_enabled, "models": len(obj.models_json)}
        audit.record(principal=principal_of(request), action="panel.policy", workspace=obj.workspace, facts=facts)


@admin.register(PanelIdentity)
class PanelIdentityAdmin(ReadOnlyAdmin):
    """Who is whom at OpenHub."""

    list_display = ("openhub_username", "user", "workspace", "openhub_user_id", "provisioned_at", "closed_at")
    list_select_related = ("user", "workspace")
    search_fields = ("=openhub_username", "user__username", "=workspace__id")
    ordering = ("-provisioned_at",)
    fields = (
        "openhub_username", "openhub_user_id", "user", "workspace", "permitted_json", "provisioned_at", "closed_at",
    )  # fmt: skip


@admin.register(PanelTurn)
class PanelTurnAdmin(ReadOnlyAdmin):
    """Which conversations are answered now, and by which process they are read."""

    list_display = ("binding", "owner", "started_at", "beat_at", "ended_at")
    ordering = ("-started_at",)
    fields = ("binding", "owner", "started_at", "beat_at", "ended_at", "revision")
