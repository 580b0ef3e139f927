"""The list of knowledge bases: cards with their health, as one reader sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import OuterRef, QuerySet, Subquery

from knowledge.citations.finding import fold
from knowledge.models import KnowledgeBase, Pin, ProviderOutage, Source, SyncOutcome, SyncRun
from knowledge.querysets import visible_kbs
from knowledge.selectors.activity import IDLE, Activity, activity_of
from knowledge.selectors.counts import KBCounts, counts_for
from knowledge.selectors.provider_outages import outages_of
from mnote.models import Role, Root, Workspace
from mnote.principals import Principal
from mnote.selectors import access
from mnote.selectors.access import AccessMap

TABS = ("all", "mine", "pinned", "attention")
SORTS = ("used", "name", "synced", "size", "created")


@dataclass(frozen=True, slots=True, kw_only=True)
class KBCard:
    """One knowledge base in the list. `stopped_run` is a last sync that asks for a person; `sources` are the
    root-relative paths that the reader may see, `folder_count` of them folders; `role` is the reader's own; `outage` is
    how its provider fails now."""

    kb: KnowledgeBase
    counts: KBCounts
    sources: tuple[str, ...]
    synced_at: datetime | None
    stopped_run: SyncRun | None
    pinned_at: datetime | None
    used_at: datetime | None
    role: Role | None
    folder_count: int = 0
    activity: Activity = IDLE
    outage: ProviderOutage | None = None

    @property
    def needs_attention(self) -> bool:
        return bool(self.counts.needs_attention) or self.stopped_run is not None

    @property
    def is_busy(self) -> bool:
        """Whether numbers may change soon: something is looked at or read, or waits for it."""
        return self.activity.is_busy or (bool(self.counts.active) and self.kb.paused_at is None)


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
    """Return the knowledge bases the principal sees, filtered and ordered; pinned ones first.

    `query` is looked for in name, description and the paths of sources that the principal may see.
    """
    kbs = visible_kbs(principal, workspace).select_related("workspace", "owner", "root")
    cards = [card for card in cards_for(principal, kbs) if _has(card, fold(query.strip()))]
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
    sources = _visible_sources(principal, ids)
    synced = synced_at(ids)
    stopped = stopped_runs(ids)
    active = activity_of(ids)
    outages = outages_of(listed)
    roles = access.roles_in(principal, {kb.workspace for kb in listed})
    return [
        KBCard(
            kb=kb,
            counts=counts[kb.id],
            sources=tuple(path for path, _ in sources.get(kb.id, ())),
            synced_at=synced.get(kb.id),
            stopped_run=stopped.get(kb.id),
            pinned_at=pins[kb.id].pinned_at if kb.id in pins else None,
            used_at=pins[kb.id].used_at if kb.id in pins else None,
            role=roles.get(kb.workspace_id),
            folder_count=sum(is_folder for _, is_folder in sources.get(kb.id, ())),
            activity=active.get(kb.id, IDLE),
            outage=outages.get(kb.id),
        )
        for kb in listed
    ]


def synced_at(kb_ids: Iterable[str]) -> dict[str, datetime]:
    """Return when each knowledge base was last looked at to the end. Reads the newest runs only."""
    done = SyncRun.objects.filter(kb=OuterRef("pk"), outcome=SyncOutcome.SUCCEEDED).order_by("-started_at")
    rows = KnowledgeBase.objects.filter(pk__in=kb_ids).annotate(at=Subquery(done.values("finished_at")[:1]))
    return dict(rows.filter(at__isnull=False).values_list("pk", "at"))


def latest_runs(kb_ids: Iterable[str]) -> QuerySet[SyncRun]:
    """Select the newest run of every live source of these knowledge bases."""
    runs = SyncRun.objects.filter(source=OuterRef("pk"), kb=OuterRef("kb")).order_by("-started_at", "-id")
    live = Source.objects.filter(kb__in=kb_ids, frozen_at__isnull=True)
    newest = live.annotate(_last=Subquery(runs.values("pk")[:1])).values("_last")
    return SyncRun.objects.filter(pk__in=newest).select_related("source__root", "kb")


def stopped_runs(kb_ids: Iterable[str]) -> dict[str, SyncRun]:
    """Return, by knowledge base, the newest of the latest runs that was stopped and that nobody has dismissed."""
    stopped = latest_runs(kb_ids).filter(outcome=SyncOutcome.STOPPED).order_by("started_at")
    return {run.kb_id: run for run in stopped if not run.counts.get("dismissed")}


def _visible_sources(principal: Principal, kb_ids: list[str]) -> dict[str, list[tuple[str, bool]]]:
    """Return path and whether it is a folder, by knowledge base; only what the reader may see or pass through."""
    rows = list(
        Source.objects.filter(kb_id__in=kb_ids).order_by("path").values_list("kb_id", "root_id", "path", "is_folder")
    )
    maps: Mapping[int, AccessMap] = access.access_maps(principal, Root.objects.filter(pk__in={row[1] for row in rows}))
    found: dict[str, list[tuple[str, bool]]] = {}
    for kb_id, root_id, path, is_folder in rows:
        if maps[root_id].may_enter(path):
            found.setdefault(kb_id, []).append((path, is_folder))
    return found


def _has(card: KBCard, folded: str) -> bool:
    return not folded or any(folded in fold(text) for text in (card.kb.name, card.kb.description, *card.sources))


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
