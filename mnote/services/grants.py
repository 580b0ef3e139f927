"""Grants: what a person or group may do below a path of a root."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db import transaction
from django.utils.translation import gettext as _

from mnote.exceptions import Invalid
from mnote.files.errors import InvalidPath
from mnote.files.names import path_to_bytes
from mnote.ids import text_key
from mnote.models import Access, Grant, Root, User
from mnote.principals import Principal
from mnote.services import audit


@transaction.atomic
def set_grant(*, root: Root, holder: User | Group, prefix: str, access: Access, by: Principal | None = None) -> Grant:
    """Give `holder` exactly `access` at and below `prefix` (root-relative text, `""` for the whole root).

    The same holder and prefix again replaces the access. The path need not exist.

    Raises:
        Invalid: `prefix` is no path below the root.
    """
    prefix = check_prefix(prefix)
    grant, _created = Grant.objects.update_or_create(
        root=root,
        prefix_key=text_key(prefix),
        **_held_by(holder),
        defaults={"access": Access(access)},
        create_defaults={"access": Access(access), "prefix": prefix},
    )
    _record("grant.set", grant, by)
    return grant


@transaction.atomic
def remove_grant(*, grant: Grant, by: Principal | None = None) -> None:
    """Take a grant away; what a wider grant or the membership says counts again. Twice is harmless."""
    if Grant.objects.filter(pk=grant.pk).delete()[0]:
        _record("grant.remove", grant, by)


def check_prefix(prefix: str) -> str:
    """Give the one form of a prefix that is stored: without a slash at its ends.

    Raises:
        Invalid: no path below a root.
    """
    trimmed = prefix.strip("/")
    try:
        path_to_bytes(trimmed)
    except InvalidPath:
        message = _("This is not a path below the folder.")
        raise Invalid(errors={"prefix": [{"message": message, "code": "invalid"}]}) from None
    return trimmed


def _held_by(holder: User | Group) -> dict[str, User | Group | None]:
    is_person = isinstance(holder, User)
    return {"user": holder if is_person else None, "group": None if is_person else holder}


def _record(action: str, grant: Grant, by: Principal | None) -> None:
    holder = grant.user.username if grant.user else f"group {grant.group}"
    facts = {"access": grant.access, "holder": holder, "root": grant.root.key}
    audit.record(principal=by, action=action, workspace=grant.root.workspace, target=grant.prefix, facts=facts)
