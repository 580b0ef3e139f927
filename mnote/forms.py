"""The forms of the frame: signing in, one's account, API tokens."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth import password_validation
from django.contrib.auth.forms import AuthenticationForm
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from mnote.models import TokenScope, User

SCOPE_WORDS = {
    TokenScope.KNOWLEDGE_READ: _("Search and read knowledge bases"),
    TokenScope.KNOWLEDGE_WRITE: _("Change knowledge bases and add documents"),
    TokenScope.PAGEAI: _("Use Page AI"),
    TokenScope.MCP: _("Use the tools for agents (MCP)"),
    TokenScope.ADMIN_READ: _("Read what administrators see"),
}
_LIFETIMES = [("30", _("30 days")), ("90", _("90 days")), ("365", _("1 year")), ("", _("Until it is revoked"))]


class SignInForm(AuthenticationForm):
    """Name and password. Which of the two was wrong is not said."""

    error_messages = {
        "invalid_login": _("Name and password do not match, or the account is closed."),
        "inactive": _("Name and password do not match, or the account is closed."),
    }
    username = forms.CharField(
        label=_("Sign-in name"), widget=forms.TextInput(attrs={"autocomplete": "username", "autofocus": True})
    )
    password = forms.CharField(
        label=_("Password"), strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )


class ProfileForm(forms.Form):
    display_name = forms.CharField(
        label=_("Shown name"),
        max_length=150,
        required=False,
        help_text=_("What others see instead of the sign-in name."),
    )


class PasswordForm(forms.Form):
    """A new password, twice; the present one too when there is one (accounts made by a link have none)."""

    present = forms.CharField(
        label=_("Present password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    password = forms.CharField(
        label=_("New password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=password_validation.password_validators_help_text_html,
    )
    again = forms.CharField(
        label=_("New password again"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._user = user
        if not user.has_usable_password():
            del self.fields["present"]

    def clean_present(self) -> str:
        value: str = self.cleaned_data["present"]
        if not self._user.check_password(value):
            raise forms.ValidationError(_("This is not your present password."), code="wrong")
        return value

    def clean_password(self) -> str:
        value: str = self.cleaned_data["password"]
        password_validation.validate_password(value, self._user)
        return value

    def clean_again(self) -> str:
        value: str = self.cleaned_data["again"]
        if "password" in self.cleaned_data and value != self.cleaned_data["password"]:
            raise forms.ValidationError(_("The two passwords differ."), code="differ")
        return value


class TokenForm(forms.Form):
    """A new API token: what it is for, what it may do, how long."""

    name = forms.CharField(label=_("What is it for?"), max_length=120)
    scopes = forms.MultipleChoiceField(label=_("What may it do?"), widget=forms.CheckboxSelectMultiple)
    lifetime = forms.ChoiceField(label=_("How long?"), choices=_LIFETIMES, initial="90", required=False)

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        words = [(str(scope), word) for scope, word in SCOPE_WORDS.items()]
        self.fields["scopes"].choices = [  # type: ignore[attr-defined]
            (scope, word) for scope, word in words if user.is_staff or scope != TokenScope.ADMIN_READ
        ]

    @property
    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["lifetime"]
        return timezone.now() + timedelta(days=int(days)) if days else None
