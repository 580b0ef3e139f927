"""What the first page says about each workspace. What lies above the kernel adds its own through `register`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from mnote.models import Role, Root, Workspace
from mnote.principals import Principal
from mnote.selectors import access


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Something a workspace holds and that has a page: its name, address, and counts by lamp."""

    name: str
    url: str
    lamps: dict[str, int] = field(default_factory=dict)
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceCard:
    """One workspace as its reader may see it."""

    workspace: Workspace
    role: Role | None
    roots: Sequence[Root]
    collections: Sequence[Collection]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    cards: Sequence[WorkspaceCard]

    @property
    def has_root(self) -> bool:
        return any(card.roots for card in self.cards)

    @property
    def has_collection(self) -> bool:
        return any(card.collections for card in self.cards)


#: Gives the collections of each workspace id, only those the principal may see, most recent first.
Contents = Callable[[Principal, Sequence[Workspace]], dict[str, list[Collection]]]
_contents: list[Contents] = []


def register(contents: Contents) -> None:
    """Let an app above the kernel say what its part of a workspace holds. Called from `AppConfig.ready`."""
    if contents not in _contents:
        _contents.append(contents)


def overview(principal: Principal, workspaces: Iterable[Workspace]) -> Overview:
    """Describe the workspaces: a fixed number of queries and one a workspace for the role."""
    found = list(workspaces)
    roots = access.visible_roots(principal, found)
    held: dict[str, list[Collection]] = {}
    for contents in _contents:
        for workspace_id, collections in contents(principal, found).items():
            held.setdefault(workspace_id, []).extend(collections)
    return Overview(
        cards=[
            WorkspaceCard(
                workspace=each,
                role=access.role_in(principal, each),
                roots=roots.get(each.pk, []),
                collections=held.get(each.pk, []),
            )
            for each in found
        ]
    )
