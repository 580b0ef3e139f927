"""Short-lived keys of bindings: made for an agent, kept as a hash, checked on every call."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from mnote.exceptions import NotAuthenticated
from mnote.models import User
from mnote.principals import Principal
from mnote.secrets import hash_of, new_secret
from mnote.services import audit
from pageai.models import BindingStatus, BindingToken, OpenHubBinding
from pageai.selectors import tool_scopes

PREFIX = "mnb_"
LASTS = timedelta(hours=1)
#: Tokens that ended are kept this long, so that the admin can show them.
_KEPT = timedelta(days=1)
_SHOWN = len(PREFIX) + 6


@transaction.atomic
def issue(*, binding: OpenHubBinding) -> tuple[BindingToken, str]:
    """Make a token for the agent of a binding and give it with its secret, which is never seen again. It carries the
    tool scope of this moment; earlier tokens go on until they end.

    Raises:
        NotAuthenticated: the binding is archived, or its person's account is closed.
    """
    if binding.status == BindingStatus.ARCHIVED or not binding.user.is_active:
        raise NotAuthenticated
    now = timezone.now()
    BindingToken.objects.filter(binding=binding, expires_at__lt=now - _KEPT).delete()
    limits = tool_scopes.limits_of(binding)
    scope = tool_scopes.scope_of(Principal(user=binding.user), workspace=binding.workspace, limits=limits)
    secret = new_secret(PREFIX)
    token = BindingToken.objects.create(
        binding=binding,
        prefix=secret[:_SHOWN],
        secret_hash=hash_of(secret),
        kb_ids=list(scope.kb_ids),
        source_ids=list(scope.source_ids or ()),
        expires_at=now + LASTS,
    )
    return token, secret


def authenticate(secret: str) -> BindingToken:
    """Give the live token of a secret. A run that is under way when its person changes to another root goes on: a
    token of a stale binding opens until it ends, one of an archived binding does not.

    Raises:
        NotAuthenticated: unknown, revoked, expired, of an archived binding or a closed account: all look the same.
    """
    rows = BindingToken.objects.select_related("binding__user", "binding__workspace")
    token = rows.filter(secret_hash=hash_of(secret)).first()
    if token is None or not is_live(token):
        raise NotAuthenticated(_("This token is not valid."))
    return token


def is_live(token: BindingToken) -> bool:
    """Say whether the token opens anything now."""
    if token.revoked_at is not None or not token.binding.user.is_active:
        return False
    return token.binding.status != BindingStatus.ARCHIVED and timezone.now() < token.expires_at


@transaction.atomic
def revoke(*, binding: OpenHubBinding, by: Principal | None = None) -> int:
    """End the tokens of a binding from the next call on, and say how many there were."""
    live = BindingToken.objects.filter(binding=binding, revoked_at__isnull=True, expires_at__gt=timezone.now())
    ended = live.update(revoked_at=timezone.now())
    if ended:
        audit.record(
            principal=by,
            action="binding.revoke_tokens",
            workspace=binding.workspace,
            target=binding.pk,
            facts={"tokens": ended},
        )
    return ended


def end_of_visit(user: User) -> int:
    """End the tokens of a person who signs out, wherever else they are signed in: their next question makes a new
    one."""
    return end_of_account(user)


def end_of_account(user: User) -> int:
    """End the tokens of a person whose account is closed; they stay ended when it is opened again."""
    rows = BindingToken.objects.filter(binding__user=user, revoked_at__isnull=True)
    return rows.update(revoked_at=timezone.now())
