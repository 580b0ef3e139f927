"""The derived identities of this installation, under its one key."""

from __future__ import annotations

import secrets

from mnote.models import Root, User
from pageai.identities import Identities, derive
from pageai.models import IdentityKey


def identities_of(*, user: User, root: Root, page_resource_id: str) -> Identities:
    """Derive the identities of a person at a page of a root."""
    return derive(
        _key(),
        user_id=user.pk,
        workspace_id=root.workspace_id,
        root_uri=root.root_uri,
        page_resource_id=page_resource_id,
        directory=root.path,
    )


def _key() -> bytes:
    """Read the key; make it when it was never needed before. Of several who make it at once, one wins."""
    row, _is_new = IdentityKey.objects.get_or_create(pk=1, defaults={"key_hex": secrets.token_hex(32)})
    return bytes.fromhex(row.key_hex)
