from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from mnote.admin.base import ModelForm, RowsAdmin, act_on_each, principal_of, show_once
from mnote.exceptions import Invalid
from mnote.models import ApiToken, TokenScope, User
from mnote.services import tokens

_FIELDS = ("user", "name", "scopes", "kb_ids", "expires_at")


class TokenForm(ModelForm):
    """A token for a person. It is made while the form is checked, so that what is refused is said at its field."""

    scopes = forms.MultipleChoiceField(choices=TokenScope.choices, widget=forms.CheckboxSelectMultiple)
    kb_ids = forms.CharField(
        required=False, label=_("Knowledge bases"), help_text=_("Ids parted by spaces; empty for no limit.")
    )

    class Meta:
        model = ApiToken
        fields = ("user", "name", "expires_at")

    def clean_kb_ids(self) -> list[str]:
        return str(self.cleaned_data["kb_ids"]).split()

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if not self.errors:
            try:
                tokens.check_token(**{name: self.cleaned_data[name] for name in _FIELDS})
            except Invalid as error:
                raise ValidationError(
                    {name: [one["message"] for one in found] for name, found in error.extra["errors"].items()}
                ) from error
        return cleaned


class LiveFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "live"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:  # noqa: ARG002
        return [("yes", _("Opens something")), ("no", _("Revoked, expired or of a closed account"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> QuerySet[ApiToken]:  # noqa: ARG002
        if self.value() not in {"yes", "no"}:
            return queryset
        return queryset.filter(tokens.live()) if self.value() == "yes" else queryset.exclude(tokens.live())


@admin.register(ApiToken)
class ApiTokenAdmin(RowsAdmin):
    """Tokens are made and revoked, never changed or deleted: who used one stays known."""

    form = TokenForm
    list_display = ("name", "prefix", "user", "scope_list", "is_live", "created_at", "expires_at", "last_used_at")
    list_filter = (LiveFilter,)
    list_select_related = ("user",)
    search_fields = ("name", "prefix", "user__username")
    date_hierarchy = "created_at"
    autocomplete_fields = ("user",)
    actions = ("revoke",)

    def get_fields(self, request: HttpRequest, obj: ApiToken | None = None) -> tuple[str, ...]:  # noqa: ARG002
        shown = ("user", "name", "prefix", "scopes", "kb_ids", "created_at", "expires_at", "revoked_at", "last_used_at")
        return shown if obj else _FIELDS

    def has_change_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:
        """Rows are revoked by the action; a single page only shows."""
        return obj is None and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: ApiToken | None = None) -> bool:  # noqa: ARG002
        return False

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Only a superuser makes a token for a superuser."""
        people = User.objects.filter(is_active=True)
        kwargs["queryset"] = people if request.user.is_superuser else people.filter(is_superuser=False)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    @admin.display(description=_("Scopes"))
    def scope_list(self, token: ApiToken) -> str:
        return ", ".join(token.scopes)

    @admin.display(description=_("Live"), boolean=True)
    def is_live(self, token: ApiToken) -> bool:
        return tokens.is_live(token)

    def save_model(self, request: HttpRequest, obj: ApiToken, form: Any, change: bool) -> None:  # noqa: ARG002, FBT001
        given = {name: form.cleaned_data[name] for name in _FIELDS}
        made, secret = tokens.create_token(**given, by=principal_of(request))
        obj.pk, obj.prefix = made.pk, made.prefix
        form.secret = secret

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:  # noqa: FBT001, FBT002
        request.new_token = form.secret  # type: ignore[attr-defined]
        return super().construct_change_message(request, form, formsets, add)

    def response_add(self, request: HttpRequest, obj: ApiToken, post_url_continue: str | None = None) -> HttpResponse:  # noqa: ARG002
        text = gettext("The token “%(name)s” of %(person)s:") % {"name": obj.name, "person": obj.user.shown_name}
        return show_once(request, title=_("New token"), text=text, secret=request.new_token)  # type: ignore[attr-defined]

    @admin.action(description=_("Revoke the selected tokens"), permissions=["change"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        by = principal_of(request)
        act_on_each(self, request, queryset, lambda token: tokens.revoke_token(token=token, by=by))
