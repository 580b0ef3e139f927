from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AutocompleteSelectMultiple
from django.core.exceptions import ValidationError
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils.formats import localize
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from knowledge.models import ProviderProfile
from knowledge.profile_words import RESULTS, label_of, sentence_of
from knowledge.providers.base import CheckResult
from knowledge.selectors.profiles import checks_of, seen_of, why_not
from knowledge.services import profile_checks, profiles
from knowledge.services.profiles import ProfileWish
from mnote.admin.base import ModelForm, RowsAdmin, act_on_each, principal_of
from mnote.exceptions import AppError
from mnote.models import Workspace

_MARKS = {CheckResult.PASSED: "✓", CheckResult.FAILED: "✗", CheckResult.UNKNOWN: "?", CheckResult.SKIPPED: "–"}


class _Hidden(forms.CharField):
    """Written, never shown: an empty field keeps what is stored."""

    def __init__(self, label: Any, help_text: Any = "") -> None:
        widget = forms.PasswordInput(render_value=False, attrs={"autocomplete": "new-password", "size": 60})
        super().__init__(label=label, required=False, widget=widget, help_text=help_text, max_length=500)


class ProviderProfileForm(ModelForm):
    base_url = _Hidden(_("Address of the server"), _("Not shown. Leave it empty to keep the stored one."))
    key = _Hidden(_("API key"), _("Not shown. Leave it empty to keep the stored one; a new one replaces it."))
    workspaces = forms.ModelMultipleChoiceField(
        Workspace.objects.filter(archived_at=None).order_by("name"),
        label=_("Workspaces that may use it"),
        required=False,
        widget=AutocompleteSelectMultiple(ProviderProfile._meta.get_field("workspaces"), admin.site),  # noqa: SLF001
    )

    class Meta:
        model = ProviderProfile
        fields = ("name", "kind", "tenant_id", "key_name", "embedding_model_id", "vision_model_id", "isolation_domain")
        labels = {
            "name": _("Name"),
            "tenant_id": _("Tenant"),
            "key_name": _("Name of a key in the environment"),
            "embedding_model_id": _("Id of the embedding model"),
            "vision_model_id": _("Id of the model for pictures"),
            "isolation_domain": _("Isolation domain"),
        }
        help_texts = {
            "name": _("People choose it by this name when they make a knowledge base."),
            "tenant_id": _("The number of the tenant that the key belongs to."),
            "key_name": _("Instead of a key: NAME, for MNOTE_PROVIDER_KEY_NAME or MNOTE_PROVIDER_KEY_NAME_FILE."),
            "embedding_model_id": _("As the server lists it. It holds for knowledge bases that are made from now on."),
            "vision_model_id": _(
                "As the server lists it. Without one it reads no pictures and no scans by such a model."
            ),
            "isolation_domain": _("A word for those who may share a tenant: the server keeps only tenants apart."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance._state.adding:  # noqa: SLF001 Django's public API
            self.initial["workspaces"] = self.instance.workspaces.all()

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if not self.errors:
            # Untouched: Django writes what was typed into the form's own object.
            stored = ProviderProfile.objects.filter(pk=self.instance.pk).first() or ProviderProfile()
            try:
                profiles.check_wish(profile=stored, wish=self.wish())
            except AppError as error:
                for name, found in error.extra.get("errors", {}).items():
                    self.add_error(name, [ValidationError(each["message"], code=each["code"]) for each in found])
        return cleaned

    def wish(self) -> ProfileWish:
        given = self.cleaned_data
        names = (
            "name", "tenant_id", "isolation_domain", "embedding_model_id", "vision_model_id", "base_url", "key",
            "key_name",
        )  # fmt: skip
        return ProfileWish(workspaces=list(given["workspaces"]), **{name: given[name] for name in names})


@admin.register(ProviderProfile)
class ProviderProfileAdmin(RowsAdmin):
    """Connections to providers outside. Saving one checks it. Nothing shows an address or a key."""

    form = ProviderProfileForm
    list_display = (
        "name", "kind", "tenant_id", "isolation_domain", "edition", "is_usable", "checked_at",
        "workspace_count", "kb_count",
    )  # fmt: skip
    list_filter = (
        ("archived_at", admin.EmptyFieldListFilter),
        ("checked_at", admin.EmptyFieldListFilter),
        "kind",
        "edition",
        "isolation_domain",
    )
    search_fields = ("name", "=id", "=tenant_id", "isolation_domain", "workspaces__name", "=workspaces__id")
    ordering = ("name",)
    readonly_fields = (
        "address_is", "key_is", "seen", "state", "findings", "checked_at", "edition", "created_at", "updated_at",
        "archived_at",
    )  # fmt: skip
    actions = ("check_now", "archive", "restore")
    fieldsets = (
        (None, {"fields": ("name", "kind")}),
        (_("Connection"), {"fields": (
            ("base_url", "address_is"), "tenant_id", ("key", "key_is"), "key_name", "embedding_model_id",
            "vision_model_id",
        )}),
        (_("Who may use it"), {"fields": ("isolation_domain", "workspaces")}),
        (_("Last check"), {"fields": ("seen", "state", "checked_at", "edition", "findings")}),
        (_("Dates"), {"fields": ("created_at", "updated_at", "archived_at")}),
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[ProviderProfile]:
        live = Q(knowledge_bases__archived_at=None)
        counts = {
            "workspaces_bound": Count("workspaces", distinct=True),
            "kbs_live": Count("knowledge_bases", distinct=True, filter=live),
        }
        found: QuerySet[ProviderProfile] = super().get_queryset(request)
        return found.annotate(**counts)

    def has_delete_permission(self, request: HttpRequest, obj: ProviderProfile | None = None) -> bool:  # noqa: ARG002
        return False

    @admin.display(description=_("Workspaces"), ordering="workspaces_bound")
    def workspace_count(self, profile: ProviderProfile) -> int:
        return profile.workspaces_bound  # type: ignore[attr-defined, no-any-return]

    @admin.display(description=_("Knowledge bases"), ordering="kbs_live")
    def kb_count(self, profile: ProviderProfile) -> int:
        return profile.kbs_live  # type: ignore[attr-defined, no-any-return]

    @admin.display(description=_("Stored address"))
    def address_is(self, profile: ProviderProfile) -> str:
        # While a new one is corrected, what was typed stands in the form's own object and nowhere else.
        is_stored = bool(profile.base_url) and not profile._state.adding  # noqa: SLF001 Django's public API
        return gettext("set") if is_stored else gettext("not set")

    @admin.display(description=_("Stored key"))
    def key_is(self, profile: ProviderProfile) -> str:
        return gettext("set") if profile.sealed_key else gettext("not set")

    @admin.display(description=_("Usable"), boolean=True)
    def is_usable(self, profile: ProviderProfile) -> bool:
        return not why_not(profile)

    @admin.display(description=_("State"))
    def state(self, profile: ProviderProfile) -> str:
        return str(why_not(profile) or _("Usable."))

    @admin.display(description=_("Seen by itself"))
    def seen(self, profile: ProviderProfile) -> str:
        if profile.seen_at is None:
            return gettext("Not asked yet.")
        found = sentence_of(seen_of(profile)) if profile.seen_code else gettext("It answers and takes the key.")
        return f"{localize(localtime(profile.seen_at))}: {found}"

    @admin.display(description=_("What was found"))
    def findings(self, profile: ProviderProfile) -> SafeString | str:
        rows = [
            (_MARKS[each.result], label_of(each), RESULTS[each.result], sentence_of(each))
            for each in checks_of(profile)
        ]
        body = format_html_join("", "<tr><td>{}</td><th scope=row>{}</th><td>{}</td><td>{}</td></tr>", rows)
        return format_html("<table>{}</table>", body) if rows else "–"

    def save_model(self, request: HttpRequest, obj: ProviderProfile, form: Any, change: bool) -> None:  # noqa: FBT001
        stored = ProviderProfile.objects.get(pk=obj.pk) if change else None
        saved = profiles.save_profile(by=principal_of(request), profile=stored, wish=form.wish())
        obj.pk, obj._state.adding = saved.pk, False  # noqa: SLF001 the admin goes on with its own object
        request.saved_profile = saved  # type: ignore[attr-defined]

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """Check what was saved, once it is: no server is asked inside the admin's transaction."""
        context = {**(extra_context or {}), "show_save_and_continue": False}  # “Save and check” does that
        response = super().changeform_view(request, object_id, form_url, context)
        saved: ProviderProfile | None = getattr(request, "saved_profile", None)
        if saved is not None:
            self._check(request, saved)
        return response

    @admin.action(description=_("Check the selected profiles"), permissions=["change"])
    def check_now(self, request: HttpRequest, queryset: QuerySet[ProviderProfile]) -> None:
        for profile in queryset:
            self._check(request, profile)

    @admin.action(description=_("Archive the selected profiles: nothing is asked over them"), permissions=["change"])
    def archive(self, request: HttpRequest, queryset: QuerySet[ProviderProfile]) -> None:
        by = principal_of(request)
        act_on_each(self, request, queryset, lambda one: profiles.archive_profile(profile=one, by=by))

    @admin.action(description=_("Let the selected profiles be used again"), permissions=["change"])
    def restore(self, request: HttpRequest, queryset: QuerySet[ProviderProfile]) -> None:
        by = principal_of(request)
        act_on_each(self, request, queryset, lambda one: profiles.restore_profile(profile=one, by=by))

    def _check(self, request: HttpRequest, profile: ProviderProfile) -> None:
        checks = profile_checks.check_profile(profile=profile, by=principal_of(request))
        failed = [each for each in checks if each.result is CheckResult.FAILED]
        for each in failed:
            self.message_user(request, f"{profile}: {label_of(each)}: {sentence_of(each)}", messages.ERROR)
        if not failed:
            self.message_user(
                request, gettext("%(name)s: everything that was asked is good.") % {"name": profile}, messages.SUCCESS
            )
