"""API tokens: made once, kept as a hash, checked on every request."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from mnote.exceptions import Invalid, NotAuthenticated
from mnote.models import ApiToken, TokenScope, User
from mnote.principals import Principal
from mnote.secrets import hash_of, new_secret
from mnote.services import audit

PREFIX = "mnt_"
_SHOWN = len(PREFIX) + 6
_MAX_KBS = 100
_USE_IS_NOTED_EVERY = timedelta(minutes=1)


@transaction.atomic
def create_token(
    *,
    user: User,
    name: str,
    scopes: Iterable[str],
    kb_ids: Iterable[str] = (),
    expires_at: datetime | None = None,
    by: Principal | None = None,
) -> tuple[ApiToken, str]:
    """Make a token for `user` and give it with its secret, which is never seen again. `by` is who asked, if not they.

    Raises:
        Invalid: a blank name, no or unknown scopes, a scope beyond the person's rights, or an end in the past.
    """
    wanted, limits = sorted(set(scopes)), sorted(set(kb_ids))
    check_token(user=user, name=name, scopes=wanted, kb_ids=limits, expires_at=expires_at)
    secret = new_secret(PREFIX)
    token = ApiToken.objects.create(
        user=user,
        name=name.strip(),
        prefix=secret[:_SHOWN],
        secret_hash=hash_of(secret),
        scopes=wanted,
        kb_ids=limits,
        expires_at=expires_at,
    )
    facts = {"name": token.name, "scopes": wanted, "kbs": len(limits), "for": user.username}
    audit.record(principal=by or Principal(user=user), action="token.create", target=token.prefix, facts=facts)
    return token, secret


def authenticate(secret: str) -> Principal:
    """Give the principal of a live token, and note its use at most once a minute.

    Raises:
        NotAuthenticated: unknown, revoked, expired, or its person is not active: all look the same.
    """
    digest = hash_of(secret)
    token = ApiToken.objects.select_related("user").filter(secret_hash=digest).first()
    if token is None or not hmac.compare_digest(token.secret_hash, digest) or not is_live(token):
        raise NotAuthenticated(_("This token is not valid."))
    _note_use(token)
    return Principal(
        user=token.user, token_name=token.name, scopes=frozenset(token.scopes), kb_ids=frozenset(token.kb_ids)
    )


def live() -> Q:
    """Select the tokens that open something now."""
    is_running = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    return Q(revoked_at__isnull=True, user__is_active=True) & is_running


def is_live(token: ApiToken) -> bool:
    """Say whether the token opens anything now."""
    if token.revoked_at is not None or not token.user.is_active:
        return False
    return token.expires_at is None or timezone.now() < token.expires_at


@transaction.atomic
def revoke_token(*, token: ApiToken, by: Principal | None = None) -> None:
    """End a token from the next request on. Ending it twice changes nothing."""
    if ApiToken.objects.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=timezone.now()):
        facts = {"name": token.name, "for": token.user.username}
        audit.record(principal=by, action="token.revoke", target=token.prefix, facts=facts)


def _note_use(token: ApiToken) -> None:
    now = timezone.now()
    if token.last_used_at is not None and now - token.last_used_at < _USE_IS_NOTED_EVERY:
        return
    unused = Q(last_used_at__isnull=True) | Q(last_used_at__lte=now - _USE_IS_NOTED_EVERY)
    ApiToken.objects.filter(unused, pk=token.pk).update(last_used_at=now)


def check_token(
    *, user: User, name: str, scopes: Collection[str], kb_ids: Collection[str], expires_at: datetime | None
) -> None:
    """Say whether such a token may be made.

    Raises:
        Invalid: with a message for each field that is wrong.
    """
    errors: dict[str, str] = {}
    if not name.strip() or len(name.strip()) > 120:
        errors["name"] = _("Give a name of at most 120 characters.")
    if not scopes or not set(scopes) <= set(TokenScope.values):
        errors["scopes"] = _("Choose at least one scope, and only known ones.")
    elif TokenScope.ADMIN_READ in scopes and not user.is_staff:
        errors["scopes"] = _("Only an administrator's token may have the scope admin:read.")
    if len(kb_ids) > _MAX_KBS or any(len(kb_id) > 40 for kb_id in kb_ids):
        errors["kb_ids"] = _("Give at most 100 knowledge base ids.")
    if expires_at is not None and expires_at <= timezone.now():
        errors["expires_at"] = _("The end must lie in the future.")
    if not user.is_active:
        errors["user"] = _("This person is not active.")
    if errors:
        raise Invalid(errors={name: [{"message": text, "code": "invalid"}] for name, text in errors.items()})
