"""Which workspace and root a call is about, checked against what the caller sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from knowledge.api.fields import MAX_PATH, Text
from knowledge.exceptions import RootNotFound
from mnote.api.serializers import CamelSerializer
from mnote.exceptions import NotFound
from mnote.models import Root, Workspace
from mnote.principals import Principal
from mnote.selectors import access

MAX_ID = 40


class ScopeSerializer(CamelSerializer):
    """The part every canonical call has. Without `rootUri` a call covers every root of the workspace, or takes the
    first where it needs one."""

    workspace_id = Text(max_length=MAX_ID)
    root_uri = Text(max_length=MAX_PATH, required=False, trim_whitespace=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A visible workspace, and the root that was named, if one was."""

    principal: Principal
    workspace: Workspace
    root: Root | None

    def root_or_first(self) -> Root:
        """Return the named root, else the first in which the caller sees anything. Raises RootNotFound."""
        roots = (
            [self.root]
            if self.root
            else access.visible_roots(self.principal, [self.workspace]).get(self.workspace.pk, [])
        )
        if not roots:
            raise RootNotFound
        return roots[0]


def place_of(principal: Principal, data: Mapping[str, Any]) -> Place:
    """Find workspace and root. Raises NotFound, RootNotFound (also for a root in which the caller sees nothing)."""
    workspace = access.get_workspace(principal, data["workspace_id"])
    root = _root(principal, workspace, data["root_uri"]) if data.get("root_uri") else None
    return Place(principal=principal, workspace=workspace, root=root)


def _root(principal: Principal, workspace: Workspace, uri: str) -> Root:
    try:
        root = access.root_of(workspace, uri)
    except NotFound:
        raise RootNotFound from None
    if not access.access_map(principal, root).sees_anything:
        raise RootNotFound
    return root
