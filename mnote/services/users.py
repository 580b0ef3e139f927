"""People: closing and opening accounts, one-time sign-in links, preferences."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from mnote import closing, preference_rules
from mnote.exceptions import Conflict, Gone, Invalid
from mnote.models import ApiToken, Preference, SignInLink, User
from mnote.principals import Principal
from mnote.secrets import hash_of, new_secret
from mnote.services import audit

SIGN_IN_LINK_LASTS = timedelta(hours=24)
_KEY = re.compile(r"[a-z][A-Za-z0-9_-]*(\.[A-Za-z0-9][A-Za-z0-9_-]*){0,7}")
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # PostgreSQL keeps none; JSON writes it as an escape
_MAX_VALUE_BYTES = 8 * 1024
_MAX_PREFERENCES = 200


@transaction.atomic
def save_account(user: User, *, by: Principal | None = None) -> None:
    """Store a new or changed account; closing and opening one go through `deactivate` and `activate`.

    Raises:
        Conflict: it would leave no active superuser.
    """
    is_new = user.pk is None
    if not is_new and not user.is_superuser:
        check_superuser_remains(user)
    user.save()
    facts = {"staff": user.is_staff, "superuser": user.is_superuser}
    audit.record(principal=by, action=f"user.{'create' if is_new else 'update'}", target=user.username, facts=facts)


def check_superuser_remains(user: User) -> None:
    """Pass when there is an active superuser besides `user`, or `user` is none.

    Raises:
        Conflict: `user` is the last one.
    """
    superusers = User.objects.select_for_update().filter(is_superuser=True, is_active=True)
    if [one.pk for one in superusers] == [user.pk]:
        raise Conflict(_("This is the last active superuser; make another one first."))


@transaction.atomic
def deactivate(user: User, *, by: Principal | None = None) -> None:
    """Close an account: its sessions, tokens and unused sign-in links end now and stay ended when it is opened again.

    Raises:
        Conflict: it is the last active superuser.
    """
    check_superuser_remains(user)
    User.objects.filter(pk=user.pk).update(is_active=False)
    user.is_active = False
    now = timezone.now()
    tokens = ApiToken.objects.filter(user=user, revoked_at__isnull=True).update(revoked_at=now)
    SignInLink.objects.filter(user=user, used_at__isnull=True).delete()
    facts = {"sessions": _end_sessions(user), "tokens": tokens, **closing.end_all(user)}
    audit.record(principal=by, action="user.deactivate", target=user.username, facts=facts)


@transaction.atomic
def activate(user: User, *, by: Principal | None = None) -> None:
    """Open a closed account. Nothing that ended with it comes back."""
    User.objects.filter(pk=user.pk).update(is_active=True)
    user.is_active = True
    audit.record(principal=by, action="user.activate", target=user.username)


@transaction.atomic
def make_sign_in_link(user: User, *, by: Principal | None = None) -> str:
    """Make a one-time secret that signs `user` in within 24 hours. Only its hash is kept.

    Raises:
        Conflict: the account is closed.
    """
    if not user.is_active:
        raise Conflict(_("This person is not active."))
    secret = new_secret()
    expires_at = timezone.now() + SIGN_IN_LINK_LASTS
    SignInLink.objects.create(user=user, secret_hash=hash_of(secret), expires_at=expires_at)
    audit.record(principal=by, action="user.make_sign_in_link", target=user.username)
    return secret


@transaction.atomic
def use_sign_in_link(secret: str) -> User:
    """Spend a sign-in secret and give its person. Of several who come at once, one wins.

    Raises:
        Gone: unknown, used, expired, or the account is closed: all look the same.
    """
    now = timezone.now()
    live = {"secret_hash": hash_of(secret), "used_at__isnull": True, "expires_at__gt": now, "user__is_active": True}
    link = SignInLink.objects.select_related("user").filter(**live).first()
    if link is None or not SignInLink.objects.filter(pk=link.pk, used_at__isnull=True).update(used_at=now):
        raise Gone(_("This sign-in link was used or is too old. Ask for a new one."))
    audit.record(principal=Principal(user=link.user), action="user.use_sign_in_link", target=link.user.username)
    return link.user


def preferences_of(user: User) -> dict[str, Any]:
    """Give a person's settings by key."""
    return dict(Preference.objects.filter(user=user).order_by("key").values_list("key", "value"))


@transaction.atomic
def set_preferences(*, user: User, values: dict[str, Any]) -> None:
    """Set some of a person's settings; None removes one. The others stay.

    Raises:
        Invalid: a key that is no dotted name, a value that its key cannot have or that is too large, or too many
            settings.
    """
    for key, value in values.items():
        _check_preference(key, value)
        if value is not None and (why := preference_rules.objection(user, key, value)):
            raise _invalid(key, why)
    Preference.objects.filter(user=user, key__in=[key for key, value in values.items() if value is None]).delete()
    kept = [Preference(user=user, key=key, value=value) for key, value in values.items() if value is not None]
    Preference.objects.bulk_create(
        kept, update_conflicts=True, unique_fields=["user", "key"], update_fields=["value", "updated_at"]
    )
    if Preference.objects.filter(user=user).count() > _MAX_PREFERENCES:
        raise Invalid(_("At most %(count)s settings are kept.") % {"count": _MAX_PREFERENCES})


def _check_preference(key: str, value: Any) -> None:
    if len(key) > 120 or not _KEY.fullmatch(key):
        raise _invalid(key, _("A key is words of letters and digits joined by dots, at most 120 characters."))
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        size = len(text.encode())
    except ValueError:  # infinite numbers, halves of surrogate pairs
        raise _invalid(key, _("This value cannot be kept.")) from None
    if size > _MAX_VALUE_BYTES:
        raise _invalid(key, _("A value may take at most %(size)s bytes.") % {"size": _MAX_VALUE_BYTES})
    if _NUL.search(text):
        raise _invalid(key, _("This value cannot be kept."))


def _invalid(key: str, message: str) -> Invalid:
    return Invalid(errors={f"values.{key}": [{"message": message, "code": "invalid"}]})


def _end_sessions(user: User) -> int:
    """Delete the person's sessions. Their rows do not name the person, so each live one is decoded."""
    live = Session.objects.filter(expire_date__gt=timezone.now())
    theirs = [one.pk for one in live.iterator() if one.get_decoded().get(SESSION_KEY) == str(user.pk)]
    return sum(Session.objects.filter(pk__in=theirs[at : at + 500]).delete()[0] for at in range(0, len(theirs), 500))
