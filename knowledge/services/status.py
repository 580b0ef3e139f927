"""How the knowledge bases of a workspace stand: providers, counts, last looks, workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from knowledge.models import KnowledgeBase, ProviderKind
from knowledge.providers.base import ProviderStatus
from knowledge.querysets import visible_kbs
from knowledge.selectors.kb_lists import KBCard, cards_for
from knowledge.selectors.profiles import default_for
from knowledge.services.providers import Link, grouped
from mnote.exceptions import NotFound
from mnote.models import Root, Workspace
from mnote.principals import Principal
from mnote.selectors import health


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """`providers` holds what each link in use says, and that of new knowledge bases, which is `default`.

    `worker_age` is in seconds, None when none ever lived.
    """

    default: Link
    providers: dict[Link, ProviderStatus]
    cards: tuple[KBCard, ...]
    worker_age: float | None
    is_worker_alive: bool


def status_of(*, principal: Principal, workspace: Workspace, root: Root | None = None, kb_id: str = "") -> Status:
    """Return the state of the visible knowledge bases, or of one. Raises NotFound."""
    kbs = _kbs(principal, workspace, root, kb_id)
    default = _default(workspace)
    return Status(
        default=default,
        providers={link: link.status() for link in dict.fromkeys([default, *grouped(kbs)])},
        cards=tuple(cards_for(principal, kbs)),
        worker_age=health.worker_age(),
        is_worker_alive=health.is_worker_alive(),
    )


def _default(workspace: Workspace) -> Link:
    profile = default_for(workspace)
    return Link(profile.kind, profile) if profile else Link(ProviderKind.LOCAL)


def _kbs(principal: Principal, workspace: Workspace, root: Root | None, kb_id: str) -> Sequence[KnowledgeBase]:
    rows = (
        visible_kbs(principal, workspace).select_related("workspace", "root", "owner", "profile").order_by("name", "id")
    )
    if kb_id:
        found = list(rows.filter(id=kb_id))
        if not found:
            raise NotFound
        return found
    if root is not None:
        rows = rows.filter(root=root)
    return list(rows)
