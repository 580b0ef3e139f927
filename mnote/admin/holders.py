"""Forms for what a person or a group holds. Who holds it, and where, is fixed: another holder is another row."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from mnote.admin.base import ModelForm
from mnote.exceptions import AppError
from mnote.models import Grant, Membership, User
from mnote.services import grants


class HolderForm(ModelForm):
    """Exactly one of `user` and `group`; the fields named in `fixed` cannot be changed later."""

    fixed: tuple[str, ...] = ("user", "group")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None and not self.instance._state.adding:  # noqa: SLF001 Django's public API
            for name in self.fixed:
                if name in self.fields:
                    self.fields[name].disabled = True

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        given = self.cleaned_data
        if not self.errors and bool(given.get("user")) == bool(given.get("group")):
            raise ValidationError(gettext("Choose a person or a group, not both."), code="holder")
        return cleaned

    @property
    def holder(self) -> User | Group:
        found: User | Group = self.cleaned_data["user"] or self.cleaned_data["group"]
        return found


class MembershipForm(HolderForm):
    fixed: tuple[str, ...] = ("workspace", "user", "group")

    class Meta:
        model = Membership
        fields = ("workspace", "user", "group", "role")


class MemberForm(MembershipForm):
    """The same on the page of its workspace."""

    fixed = ("user", "group")


class GrantForm(HolderForm):
    fixed = ("root", "user", "group", "prefix")

    class Meta:
        model = Grant
        fields = ("root", "user", "group", "prefix", "access")

    def clean_prefix(self) -> str:
        try:
            return grants.check_prefix(self.cleaned_data["prefix"])
        except AppError as error:
            raise ValidationError(error.extra["errors"]["prefix"][0]["message"]) from error
