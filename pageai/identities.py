"""The identities and scopes under which outside systems know a person at a page (spec 8.1). Pure.

`stable_hash` never changes: OpenHub's users and sessions are found again by what it gives. It is HMAC-SHA256 over

    "mnote.stable_hash.v1" · number of parts (8 bytes) · for each part: its length in bytes (8 bytes) · its UTF-8 bytes

with big-endian numbers, written as the first 32 hexadecimal digits (128 bits). Lengths go before the parts, so no two
lists of parts are written alike. Half characters of names that are not UTF-8 are kept ("surrogatepass").
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

_DOMAIN = b"mnote.stable_hash.v1"
_DIGITS = 32


def stable_hash(key: bytes, *parts: str) -> str:
    """Return 32 hexadecimal digits that stand for the parts, in their order."""
    message = [_DOMAIN, len(parts).to_bytes(8, "big")]
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        message += [len(raw).to_bytes(8, "big"), raw]
    return hmac.new(key, b"".join(message), hashlib.sha256).hexdigest()[:_DIGITS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identities:
    """What a person at a page is called outside. Nothing here holds a name, an address or a path in clear, except
    `runtime_identity`, which holds the two ids."""

    mnote_user_id: str
    workspace_id: str
    root_uri: str
    openhub_user_key: str
    openhub_workspace_key: str
    openhub_session_scope: str
    opencode_session_scope: str
    runtime_identity: str
    skill_scope: str
    tool_permission_scope: str


def derive(
    key: bytes, *, user_id: int, workspace_id: str, root_uri: str, page_resource_id: str, directory: str
) -> Identities:
    """Derive everything from a person, a workspace, a root and a page. `directory` is the pinned absolute folder."""
    user = str(user_id)
    session_scope = stable_hash(key, user, workspace_id, root_uri, page_resource_id)
    place = stable_hash(key, user, workspace_id, root_uri)
    return Identities(
        mnote_user_id=user,
        workspace_id=workspace_id,
        root_uri=root_uri,
        openhub_user_key=stable_hash(key, user),
        openhub_workspace_key=stable_hash(key, workspace_id, root_uri),
        openhub_session_scope=session_scope,
        opencode_session_scope=stable_hash(key, session_scope, directory),
        runtime_identity=f"mnote:{user}:{workspace_id}:{stable_hash(key, root_uri)}",
        skill_scope=place,
        tool_permission_scope=place,
    )
