"""Who may ask the panel what: every id in a path, a query or a body is looked up among the caller's own bindings.

OpenHub checks none of this. Foreign and unknown ids look the same: not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from mnote.exceptions import NotFound
from mnote.files.names import path_to_bytes
from mnote.models import Root
from mnote.principals import Principal
from mnote.selectors import access
from mnote.selectors.access import AccessMap
from pageai.exceptions import ConversationPutAway, FolderNotForAgents, PanelSwitchedOff, SessionTaken
from pageai.models import BindingStatus, OpenHubBinding
from pageai.panel import routes
from pageai.panel.tool_rules import Reach
from pageai.selectors import bindings
from pageai.services import panel, turns

#: opencode reads addresses once more than it should, even of sessions it made itself.
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A person at one of their own bindings, whose root they may still see."""

    principal: Principal
    binding: OpenHubBinding
    root: Root

    @property
    def directory(self) -> str:
        """The absolute folder of the root, for OpenHub and opencode only. Raises FolderNotForAgents."""
        return directory_of(self.root)

    @property
    def session_id(self) -> str:
        """The session of this conversation, "" until its first question."""
        return self.binding.openhub_session_id

    def reach(self) -> Reach:
        """Read what the person may do below the root now."""
        return reach_of(access.access_map(self.principal, self.root))


def directory_of(root: Root) -> str:
    """Return the absolute folder of a root as agents are told it.

    Raises:
        FolderNotForAgents: its name is no text, or opencode would take part of it (%41) for another letter.
    """
    try:
        directory = "/" + path_to_bytes(root.path.removeprefix("/")).decode()
    except UnicodeDecodeError:
        raise FolderNotForAgents from None
    if _ESCAPED.search(directory):
        raise FolderNotForAgents
    return directory


def reach_of(found: AccessMap) -> Reach:
    """Say what rights below a root are, in the words of agents' rules."""
    prefixes = {prefix: each.value for prefix, each in found.rules.items() if prefix}
    return Reach(default=found.access_of("").value, prefixes=prefixes)


def enter(*, principal: Principal, binding_id: str) -> Visit:
    """Let a person in at a binding.

    Raises:
        NotFound: no such binding, another person's, or its workspace or root is no longer to be seen.
        PanelSwitchedOff.
    """
    binding = bindings.get_binding(principal, binding_id)
    root = access.root_of(binding.workspace, binding.root_uri)
    if not access.access_map(principal, root).sees_anything:
        raise NotFound
    if not panel.policy_of(binding.workspace).is_enabled:
        raise PanelSwitchedOff
    return Visit(principal=principal, binding=binding, root=root)


def goes_on(visit: Visit) -> bool:
    """Renew the claim of the turn that this process reads. False when it is no longer its own; raises as `enter` when
    the person may no longer work there."""
    enter(principal=visit.principal, binding_id=visit.binding.pk)
    return turns.renew(binding_id=visit.binding.pk)


def of_this_root(visit: Visit) -> QuerySet[OpenHubBinding]:
    """Select the person's own bindings of this root that have a conversation."""
    rows = bindings.bindings_of(visit.principal).filter(workspace=visit.binding.workspace)
    return rows.filter(root_uri=visit.binding.root_uri).exclude(openhub_session_id="")


def owned(visit: Visit, session_id: object) -> OpenHubBinding:
    """Return the person's binding of a session of this root. Raises NotFound."""
    if not routes.is_id("session_id", session_id):
        raise NotFound
    found = of_this_root(visit).filter(openhub_session_id=session_id).first()
    if found is None:
        raise NotFound
    return found


def pinned(visit: Visit, session_id: object) -> str:
    """Return the session of this page's conversation; an empty id means it.

    Raises:
        NotFound: there is none, or the id is nobody's or another person's.
        SessionTaken: the id is that of another page of the same person.
    """
    if session_id in (None, ""):
        if not visit.session_id:
            raise NotFound
        return visit.session_id
    if owned(visit, session_id).pk != visit.binding.pk:
        raise SessionTaken
    return visit.session_id


def require_active(visit: Visit) -> None:
    """Pass for the conversation that its page shows now. Raises ConversationPutAway."""
    if visit.binding.status != BindingStatus.ACTIVE:
        raise ConversationPutAway


def only_own(visit: Visit, listed: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Keep the sessions of OpenHub's list that are the person's own and not put away, this page's first."""
    rows = of_this_root(visit).exclude(status=BindingStatus.ARCHIVED)
    known = set(rows.values_list("openhub_session_id", flat=True))
    kept = [each for each in listed if each.get("session_id") in known]
    return sorted(kept, key=lambda each: each.get("session_id") != visit.session_id)
