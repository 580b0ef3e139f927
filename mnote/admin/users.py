from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth import forms as auth_forms
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from mnote.admin.base import ModelForm, act_on_each, principal_of, show_once
from mnote.exceptions import AppError
from mnote.models import User
from mnote.services import users

#: What only a superuser may change: each of these could make its holder one, or widen what they may read.
_RIGHTS = ("is_staff", "is_superuser", "groups", "user_permissions")


class PersonAddForm(auth_forms.AdminUserCreationForm):  # type: ignore[type-arg]
    class Meta(auth_forms.AdminUserCreationForm.Meta):
        model = User


class PersonForm(auth_forms.UserChangeForm):  # type: ignore[type-arg]
    class Meta(auth_forms.UserChangeForm.Meta):
        model = User

    def clean_is_superuser(self) -> bool:
        is_superuser: bool = self.cleaned_data["is_superuser"]
        if not is_superuser:
            try:
                users.check_superuser_remains(self.instance)
            except AppError as error:
                raise ValidationError(str(error.detail)) from error
        return is_superuser


@admin.register(User)
class UserAdmin(DjangoUserAdmin):  # type: ignore[type-arg]
    """People. Accounts are closed, not deleted: what they did stays theirs in the audit."""

    form = PersonForm
    add_form = PersonAddForm
    list_display = ("username", "display_name", "email", "is_active", "is_staff", "last_login", "date_joined")
    list_filter = ("is_active", "is_staff", "is_superuser", "groups")
    search_fields = ("username", "display_name", "first_name", "last_name", "email")
    date_hierarchy = "date_joined"
    actions = ("deactivate", "activate", "make_sign_in_link")
    readonly_fields = ("is_active", "last_login", "date_joined")
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        (_("Person"), {"fields": ("display_name", "first_name", "last_name", "email", "language", "theme")}),
        (_("Rights"), {"fields": ("is_active", *_RIGHTS)}),
        (_("Dates"), {"fields": ("last_login", "date_joined")}),
    )
    show_full_result_count = False

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:  # noqa: ARG002
        return (*self.readonly_fields, *(() if request.user.is_superuser else _RIGHTS))

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """A superuser's password is not for others to set."""
        if obj is not None and obj.is_superuser and not request.user.is_superuser:
            return False
        return super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:  # noqa: ARG002
        return False

    def save_model(self, request: HttpRequest, obj: User, form: ModelForm, change: bool) -> None:  # noqa: ARG002, FBT001
        users.save_account(obj, by=principal_of(request))

    @admin.action(description=_("Close the selected accounts: end sessions, tokens and links"), permissions=["change"])
    def deactivate(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        self._act(request, queryset, users.deactivate)

    @admin.action(description=_("Open the selected accounts again"), permissions=["change"])
    def activate(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        self._act(request, queryset, users.activate)

    @admin.action(description=_("Make a one-time sign-in link"), permissions=["change"])
    def make_sign_in_link(self, request: HttpRequest, queryset: QuerySet[User]) -> HttpResponse | None:
        people = list(self._changeable(request, queryset)[:2])
        if len(people) != 1:
            self.message_user(request, gettext("Choose exactly one person you may change."), messages.ERROR)
            return None
        try:
            secret = users.make_sign_in_link(people[0], by=principal_of(request))
        except AppError as error:
            self.message_user(request, str(error.detail), messages.ERROR)
            return None
        path = reverse("mnote:sign-in-link", args=[secret]).removeprefix(settings.FORCE_SCRIPT_NAME or "")
        text = gettext("This link signs %(person)s in once, within 24 hours.") % {"person": people[0].shown_name}
        return show_once(request, title=_("Sign-in link"), text=text, secret=f"{settings.MNOTE_PUBLIC_URL}{path}")

    def _act(self, request: HttpRequest, queryset: QuerySet[User], act: Any) -> None:
        people = self._changeable(request, queryset)
        act_on_each(self, request, people, lambda user: act(user, by=principal_of(request)))

    def _changeable(self, request: HttpRequest, queryset: QuerySet[User]) -> QuerySet[User]:
        return queryset if request.user.is_superuser else queryset.filter(is_superuser=False)
