"""What stands above every tab of a knowledge base: how it is, what goes on, what needs a person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from knowledge.models import (
    Document,
    IndexStatus,
    KnowledgeBase,
    ProviderKind,
    ProviderOutage,
    ReasonClass,
    SyncRun,
)
from knowledge.querysets import visible_kbs
from knowledge.scanner.safety import StopReason
from knowledge.selectors.activity import IDLE, Activity, activity_of
from knowledge.selectors.counts import KBCounts
from knowledge.selectors.document_lists import DocumentReader
from knowledge.selectors.kb_lists import latest_runs, synced_at
from knowledge.selectors.provider_outages import outage_of
from mnote.models import Role
from mnote.principals import Principal
from mnote.selectors import access

#: Fewer finished documents than this say nothing about how long the rest will take.
ENOUGH_TO_FORESEE = 20
_RECENT = timedelta(minutes=5)
_LATEST = 200
#: A look that could not see the folder, as opposed to one that saw too much missing.
UNREACHABLE = frozenset({StopReason.ROOT_GONE.value, StopReason.SCAN_PARTIAL.value})


@dataclass(frozen=True, slots=True, kw_only=True)
class KBHead:
    """One knowledge base as its reader sees it. `stopped` are the latest runs of sources that removed nothing for
    safety's sake; `outage` is what whoever asked the service last found wrong, `service_down_since` is set while the
    service fails, as documents tell too; `seconds_left` only when enough was finished to tell. `rev` and `changed_at`
    are those of the document that changed last."""

    kb: KnowledgeBase
    role: Role | None
    counts: KBCounts
    activity: Activity
    synced_at: datetime | None
    stopped: tuple[SyncRun, ...]
    outage: ProviderOutage | None
    service_down_since: datetime | None
    seconds_left: float | None
    rev: int
    changed_at: datetime | None

    @property
    def is_paused(self) -> bool:
        return self.kb.paused_at is not None

    @property
    def is_served_outside(self) -> bool:
        """Whether another service holds the index, so that searching stops with it."""
        return self.kb.provider != ProviderKind.LOCAL

    @property
    def is_busy(self) -> bool:
        """Whether what is shown may change soon by itself."""
        return self.activity.is_busy or (bool(self.counts.active) and not self.is_paused)

    @property
    def unreachable(self) -> SyncRun | None:
        return next((run for run in self.stopped if run.reason_code in UNREACHABLE), None)

    @property
    def held_back(self) -> SyncRun | None:
        """The run that waits for a decision about removals."""
        return next((run for run in self.stopped if run.reason_code not in UNREACHABLE), None)


def head_of(reader: DocumentReader) -> KBHead:
    """Describe a visible knowledge base: a fixed number of queries, at the same cost for any size."""
    kb, counts = reader.kb, reader.counts
    activity = activity_of([kb.id]).get(kb.id, IDLE)
    newest = list(_newest(kb))
    outage = outage_of(kb)
    return KBHead(
        kb=kb,
        role=access.role_in(reader.principal, kb.workspace),
        counts=counts,
        activity=activity,
        synced_at=synced_at([kb.id]).get(kb.id),
        stopped=_stopped(kb),
        outage=outage,
        service_down_since=outage.since if outage else _service_down_since(newest),
        seconds_left=_seconds_left(kb, counts) if activity.is_reading else None,
        rev=newest[0].rev if newest else 0,
        changed_at=newest[0].updated_at if newest else None,
    )


def switch_list(principal: Principal, kb: KnowledgeBase, *, at_most: int = 50) -> list[KnowledgeBase]:
    """Return the knowledge bases to change over to: the pinned ones first, then by name."""
    rows = visible_kbs(principal).exclude(pk=kb.pk)
    pinned = rows.filter(pins__user=principal.user, pins__pinned_at__isnull=False).order_by("name")
    first = list(pinned[:at_most])
    rest = rows.exclude(pk__in=[each.pk for each in first]).order_by("name")
    return [*first, *rest[: at_most - len(first)]]


def _newest(kb: KnowledgeBase) -> list[Document]:
    rows = Document.objects.filter(kb=kb).order_by("-rev")
    return list(rows.only("rev", "updated_at", "index_status", "reason_class", "status_since")[:_LATEST])


def _stopped(kb: KnowledgeBase) -> tuple[SyncRun, ...]:
    runs = latest_runs([kb.id]).filter(outcome="stopped").order_by("-started_at")
    return tuple(run for run in runs if not run.counts.get("dismissed"))


def _service_down_since(newest: list[Document]) -> datetime | None:
    """Say since when the indexing service fails, as far as the documents that changed last tell: None as soon as one
    was indexed after the last failure."""
    failing = [
        row for row in newest if row.reason_class == ReasonClass.SERVICE and row.index_status != IndexStatus.INDEXED
    ]
    if not failing:
        return None
    last = max(row.status_since for row in failing)
    if any(row.index_status == IndexStatus.INDEXED and row.status_since > last for row in newest):
        return None
    return min(row.status_since for row in failing)


def _seconds_left(kb: KnowledgeBase, counts: KBCounts) -> float | None:
    """Foresee from the last few minutes how long the waiting documents will take."""
    now = timezone.now()
    recent = Document.objects.filter(kb=kb, indexed_at__gte=now - _RECENT).order_by("-indexed_at")
    moments = list(recent.values_list("indexed_at", flat=True)[:_LATEST])
    if len(moments) < ENOUGH_TO_FORESEE or not counts.active or moments[-1] is None:
        return None
    return counts.active * (now - moments[-1]).total_seconds() / len(moments)
