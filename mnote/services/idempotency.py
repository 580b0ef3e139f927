"""Requests that make something, made once however often they are sent with the same key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from mnote.exceptions import Conflict, Unprocessable
from mnote.models import IdempotencyKey, User, Workspace
from mnote.principals import Principal
from mnote.selectors import access

#: For how long an answer is repeated.
KEPT = timedelta(hours=24)
#: After this long without an answer the request is taken for lost.
_LOST = timedelta(minutes=5)
_OLD_ROWS = 100


class IdempotencyKeyReused(Unprocessable):
    """One key, two different requests."""

    code = "idempotency-key-reused"
    title = _("This key was used for another request")


class IdempotencyInProgress(Conflict):
    """The first request with this key has not been answered yet."""

    code = "idempotency-in-progress"
    title = _("The same request is being worked on")
    retryable = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The answer that was given to the first request."""

    status: int
    body: dict[str, Any]
    location: str


def begin(*, principal: Principal, key_hash: str, fingerprint: str) -> Stored | None:
    """Take the key for this request; None means: go ahead. Else the answer that was given before.

    Raises IdempotencyKeyReused, IdempotencyInProgress; NotFound when the caller lost the workspace since.
    """
    _forget_old(principal.user)
    if _insert(principal.user, key_hash, fingerprint):
        return None
    row = IdempotencyKey.objects.filter(user=principal.user, key_hash=key_hash).first()
    if row is None:
        raise IdempotencyInProgress(retry_after=1)
    if row.fingerprint != fingerprint:
        raise IdempotencyKeyReused
    if row.status is None:
        if _take_over(row):
            return None
        raise IdempotencyInProgress(retry_after=2)
    if row.workspace_id is not None:
        access.get_workspace(principal, row.workspace_id)
    return Stored(status=row.status, body=row.body, location=row.location)


def finish(*, user: User, key_hash: str, workspace: Workspace, answer: Stored) -> None:
    """Remember the answer."""
    IdempotencyKey.objects.filter(user=user, key_hash=key_hash).update(
        status=answer.status, body=answer.body, location=answer.location, workspace=workspace
    )


def forget(*, user: User, key_hash: str) -> None:
    """Give the key free: the request failed, so the next one with it is tried anew."""
    IdempotencyKey.objects.filter(user=user, key_hash=key_hash, status=None).delete()


def _insert(user: User, key_hash: str, fingerprint: str) -> bool:
    row = IdempotencyKey(user=user, key_hash=key_hash, fingerprint=fingerprint, created_at=timezone.now())
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        return False
    return True


def _take_over(row: IdempotencyKey) -> bool:
    """Go on in the place of a request that was lost, if nobody else did so first."""
    now = timezone.now()
    lost = IdempotencyKey.objects.filter(pk=row.pk, status=None, created_at=row.created_at)
    return now - row.created_at > _LOST and bool(lost.update(created_at=now))


def _forget_old(user: User) -> None:
    old = IdempotencyKey.objects.filter(Q(user=user), created_at__lt=timezone.now() - KEPT)
    ids = list(old.values_list("pk", flat=True)[:_OLD_ROWS])
    if ids:
        IdempotencyKey.objects.filter(pk__in=ids).delete()
