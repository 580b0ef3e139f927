"""What the first page says about each workspace. What lies above the kernel adds its own through `register`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from mnote.audit_words import sentence
from mnote.models import ROLE_ORDER, AuditEntry, Role, Root, Workspace
from mnote.principals import Principal
from mnote.selectors import access


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """A knowledge base as the first page names it: how many documents are in each state, and its last sync."""

    id: str
    name: str
    lamps: Mapping[str, int]
    synced_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceCard:
    """One workspace as its reader may see it."""

    workspace: Workspace
    role: Role | None
    roots: Sequence[Root]
    collections: Sequence[Collection]

    @property
    def may_curate(self) -> bool:
        return self.role is not None and ROLE_ORDER.index(self.role) >= ROLE_ORDER.index(Role.CURATOR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that was done to a knowledge base, as a sentence."""

    text: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    cards: Sequence[WorkspaceCard]
    happenings: Sequence[Happening]

    @property
    def has_root(self) -> bool:
        return any(card.roots for card in self.cards)

    @property
    def has_collection(self) -> bool:
        return any(card.collections for card in self.cards)


_HAPPENINGS = 8
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
        happenings=_happenings([each.id for collections in held.values() for each in collections]),
        cards=[
            WorkspaceCard(
                workspace=each,
                role=access.role_in(principal, each),
                roots=roots.get(each.pk, []),
                collections=held.get(each.pk, []),
            )
            for each in found
        ],
    )


def _happenings(kb_ids: Sequence[str]) -> list[Happening]:
    """What was done last to knowledge bases the reader sees. Nothing that names a file: not everybody may read it."""
    entries = AuditEntry.objects.filter(kb_id__in=kb_ids, action__startswith="kb.", outcome="succeeded")
    return [
        Happening(text=sentence(each.action, who=_name_of(each), what=each.target), at=each.at)
        for each in entries.select_related("actor").order_by("-at")[:_HAPPENINGS]
    ]


def _name_of(entry: AuditEntry) -> str:
    return entry.actor.shown_name if entry.actor else ""
