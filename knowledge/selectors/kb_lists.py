"""The list of knowledge bases: cards with their health, as one reader sees them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max, Q

from knowledge.models import KnowledgeBase, Pin, Source, SyncOutcome, SyncRun
from knowledge.querysets import visible_kbs
from knowledge.selectors.counts import KBCounts, counts_for
from mnote.models import Role, Workspace
from mnote.principals import Principal
from mnote.selectors import access

TABS = ("all", "mine", "pinned", "attention")
SORTS = ("used", "name", "synced", "size", "created")


@dataclass(frozen=True, slots=True, kw_only=True)
class KBCard:
    """One knowledge base in the list. `stopped_run` is a last sync that asks for a person; `sources` are root-relative
    paths; `role` is the reader's own."""

    kb: KnowledgeBase
    counts: KBCounts
    sources: tuple[str, ...]
    synced_at: datetime | None
    stopped_run: SyncRun | None
    pinned_at: datetime | None
    used_at: datetime | None
    role: Role | None

    @property
    def needs_attention(self) -> bool:
        return bool(self.counts.needs_attention) or self.stopped_run is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class KBList:
    """Cards of the chosen tab in order, and how many each tab holds."""

    cards: tuple[KBCard, ...]
    tab_counts: dict[str, int]

    @property
    def pinned(self) -> list[KBCard]:
        return [card for card in self.cards if card.pinned_at]

    @property
    def others(self) -> list[KBCard]:
        return [card for card in self.cards if not card.pinned_at]


def list_kbs(
    principal: Principal, *, workspace: Workspace | None = None, query: str = "", tab: str = "all", sort: str = "used"
) -> KBList:
    """Return the knowledge bases the principal sees, filtered and ordered; pinned ones first."""
    cards = cards_for(principal, _matching(principal, workspace, query))
    in_tab = {name: [card for card in cards if _belongs(card, name, principal)] for name in TABS}
    chosen = sorted(in_tab.get(tab, cards), key=lambda card: _order(card, sort))
    chosen.sort(key=lambda card: card.pinned_at is None)
    return KBList(cards=tuple(chosen), tab_counts={name: len(found) for name, found in in_tab.items()})


def cards_for(principal: Principal, kbs: Iterable[KnowledgeBase]) -> list[KBCard]:
    """Return the cards of some knowledge bases, in a fixed number of queries."""
    listed = list(kbs)
    ids = [kb.id for kb in listed]
    counts = counts_for(principal, listed)
    pins = {pin.kb_id: pin for pin in Pin.objects.filter(user=principal.user, kb_id__in=ids)}
    paths: dict[str, list[str]] = {}
    for kb_id, path in Source.objects.filter(kb_id__in=ids).order_by("path").values_list("kb_id", "path"):
        paths.setdefault(kb_id, []).append(path)
    done = SyncRun.objects.filter(kb_id__in=ids, outcome=SyncOutcome.SUCCEEDED).values_list("kb_id")
    synced = dict(done.annotate(at=Max("finished_at")))
    stopped = _stopped_runs(ids)
    roles = {kb.workspace_id: access.role_in(principal, kb.workspace) for kb in listed}
    return [
        KBCard(
            kb=kb,
            counts=counts[kb.id],
            sources=tuple(paths.get(kb.id, ())),
            synced_at=synced.get(kb.id),
            stopped_run=stopped.get(kb.id),
            pinned_at=pins[kb.id].pinned_at if kb.id in pins else None,
            used_at=pins[kb.id].used_at if kb.id in pins else None,
            role=roles[kb.workspace_id],
        )
        for kb in listed
    ]


def _matching(principal: Principal, workspace: Workspace | None, query: str) -> Iterable[KnowledgeBase]:
    kbs = visible_kbs(principal, workspace).select_related("workspace", "owner", "root")
    if not query.strip():
        return kbs
    words = Q(name__icontains=query) | Q(description__icontains=query) | Q(sources__path__icontains=query)
    return kbs.filter(words).distinct()


def _stopped_runs(ids: list[str]) -> dict[str, SyncRun]:
    """Return each base's sources whose latest run was stopped: the newest such run."""
    latest = SyncRun.objects.filter(kb_id__in=ids, source__isnull=False).values("source").annotate(at=Max("started_at"))
    found: dict[str, SyncRun] = {}
    for row in latest:
        run = SyncRun.objects.filter(source=row["source"], started_at=row["at"]).first()
        if run is not None and run.outcome == SyncOutcome.STOPPED:
            found[run.kb_id] = run
    return found


def _belongs(card: KBCard, tab: str, principal: Principal) -> bool:
    match tab:
        case "mine":
            return card.kb.owner_id == principal.user.pk
        case "pinned":
            return card.pinned_at is not None
        case "attention":
            return card.needs_attention
    return True


def _order(card: KBCard, sort: str) -> tuple[object, ...]:
    def newest(moment: datetime | None) -> float:
        return -moment.timestamp() if moment else 0.0

    keys: dict[str, tuple[object, ...]] = {
        "used": (newest(card.used_at), newest(card.kb.created_at)),
        "name": (card.kb.name.casefold(),),
        "synced": (newest(card.synced_at),),
        "size": (-card.counts.total,),
        "created": (newest(card.kb.created_at),),
    }
    return (*keys.get(sort, keys["used"]), card.kb.id)
