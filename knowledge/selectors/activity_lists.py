"""What was done, as far as a person may know of it: curators see who did what, but no name of a file closed to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from knowledge.models import KnowledgeBase
from knowledge.querysets import visible_kbs
from mnote.models import ROLE_ORDER, Access, AuditEntry, Role, Root, User, Workspace
from mnote.principals import Principal
from mnote.selectors import access
from mnote.selectors.access import AccessMap

#: Kinds of actions people filter by -> beginnings of their codes.
KINDS: dict[str, tuple[str, ...]] = {
    "kb": ("kb.",),
    "source": ("source.", "registry."),
    "file": ("file.",),
    "sync": ("sync.", "kb.sync"),
    "job": ("job.",),
    "rights": ("grant.", "workspace."),
}
#: What only managers see: who may do what.
_FOR_MANAGERS = ("grant.", "workspace.", "token.", "user.")
#: Actions whose target is a path.
_ON_PATHS = ("file.", "source.")
_ACTORS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrow:
    """What of it is wanted. Empty values do not narrow; `since` and `until` are moments, `until` not included."""

    kind: str = ""
    actor: str = ""
    outcome: str = ""
    since: datetime | None = None
    until: datetime | None = None


def visible_entries(
    principal: Principal, workspaces: Iterable[Workspace], kb: KnowledgeBase | None = None
) -> QuerySet[AuditEntry]:
    """Select what the person may know of, newest first: all of a workspace for its curators, and for others only what
    became of its knowledge bases."""
    listed = list(workspaces)
    roles = access.roles_in(principal, listed)
    seen = Q(pk__in=[])
    for workspace in listed:
        role = roles.get(workspace.pk)
        if role is not None:
            seen |= Q(workspace=workspace) & _for_role(principal, workspace, role)
    rows = AuditEntry.objects.filter(seen).select_related("actor", "workspace")
    rows = rows.filter(kb_id=kb.id) if kb else rows
    return rows.order_by("-at", "-pk")


def narrowed(rows: QuerySet[AuditEntry], narrow: Narrow) -> QuerySet[AuditEntry]:
    """Apply the filters of the page."""
    if narrow.kind in KINDS:
        rows = rows.filter(_starts(KINDS[narrow.kind]))
    if narrow.actor:
        rows = rows.filter(actor__username=narrow.actor)
    if narrow.outcome == "succeeded":
        rows = rows.filter(outcome="succeeded")
    elif narrow.outcome:
        rows = rows.exclude(outcome="succeeded")
    if narrow.since:
        rows = rows.filter(at__gte=narrow.since)
    if narrow.until:
        rows = rows.filter(at__lt=narrow.until)
    return rows


def actors_in(rows: QuerySet[AuditEntry]) -> list[User]:
    """Return who did any of it, by name."""
    ids = rows.order_by().values("actor").distinct()
    return list(User.objects.filter(pk__in=ids).order_by("display_name", "username")[:_ACTORS])


def is_curator(principal: Principal, workspace: Workspace) -> bool:
    """Say whether the person may act on what goes on in a workspace."""
    role = access.role_in(principal, workspace)
    return role is not None and ROLE_ORDER.index(role) >= ROLE_ORDER.index(Role.CURATOR)


def _for_role(principal: Principal, workspace: Workspace, role: Role) -> Q:
    rank = ROLE_ORDER.index(role)
    if rank < ROLE_ORDER.index(Role.CURATOR):
        kbs = visible_kbs(principal, workspace).values("id")
        return Q(action__startswith="kb.", outcome="succeeded", kb_id__in=kbs)
    closed = _closed_prefixes(principal, workspace)
    open_paths = ~_starts(_ON_PATHS) | _outside(closed) if closed else Q()
    return open_paths if rank >= ROLE_ORDER.index(Role.MANAGER) else open_paths & ~_starts(_FOR_MANAGERS)


def _closed_prefixes(principal: Principal, workspace: Workspace) -> set[str]:
    """Return what is closed to the person in any root: an entry does not always say which root it means."""
    maps = access.access_maps(principal, Root.objects.filter(workspace=workspace)).values()
    return {prefix for each in maps for prefix, given in each.rules.items() if given == Access.NONE}


def _outside(closed: Iterable[str]) -> Q:
    return AccessMap(default=Access.READ, rules=dict.fromkeys(closed, Access.NONE)).filter_q("target")


def _starts(beginnings: Iterable[str]) -> Q:
    found = Q(pk__in=[])
    for beginning in beginnings:
        found |= Q(action__startswith=beginning)
    return found
