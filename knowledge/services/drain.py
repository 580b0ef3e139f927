"""Working through the waiting documents of one knowledge base, a small batch at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q
from django.utils import timezone

from knowledge.models import Document, IndexStatus, KnowledgeBase, ProviderKind
from knowledge.selectors.provider_outages import waits_now
from knowledge.services import (
    claims,
    documents,
    dropping,
    following,
    pending,
    provider_outages,
    provider_tags,
    registry,
)
from knowledge.services.ingest import Tally, follow, ingest
from knowledge.services.outages import Outage

_BATCH = 32
#: A provider outside takes one after the other: a worker that dies should have had few of them.
_BATCH_OUTSIDE = 4
#: After this long a job makes room for other knowledge bases and queues itself again.
_TURN_SECONDS = 20.0
#: For so many seconds a turn waits for a provider.
_PATIENCE = 6.0

Beat = Callable[..., None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """What one turn did. `more` says that documents still wait to be worked on now; `again_at` when the first of those
    that must wait may be tried again."""

    indexed: int
    failed: int
    more: bool
    again_at: datetime | None = None


def drain(*, kb: KnowledgeBase, worker: str, beat: Beat = lambda **_: None, patience: float = _PATIENCE) -> Drained:
    """Ingest waiting documents and ask for those that the provider has, until none is left to do now, the turn is
    over, or nothing can be indexed now.

    `worker` names who does it, see `claims.PLACE`. Up to `patience` seconds that the provider needs for a pause or
    a document are part of the turn; more end it.
    """
    ends = time.monotonic() + _TURN_SECONDS
    tally = Tally()
    claims.take_over(kb=kb, worker=worker)
    limit = _BATCH if kb.provider == ProviderKind.LOCAL else _BATCH_OUTSIDE
    is_out = False
    while not is_out and time.monotonic() < ends and _is_open(kb, min(ends, time.monotonic() + patience)):
        beat(indexed=tally.indexed, failed=tally.failed)
        dropping.finish_deletions(kb=kb)
        provider_tags.finish(kb=kb)
        claimed = claims.claim(kb=kb, worker=worker, limit=limit, without_roots=tally.gone_roots)
        if claimed:
            is_out = not _ingest(kb, worker, claimed, tally, beat)
        elif following.wait(kb, until=min(ends, time.monotonic() + patience)):
            _follow(kb, tally)
        else:
            break
    return _drained(kb, tally, is_out=is_out)


def _is_open(kb: KnowledgeBase, until: float) -> bool:
    """Say whether the provider may be asked, after a pause where it ends before `until` (monotonic): the next turn is
    not so near."""
    closed = provider_outages.closed_until(kb)
    seconds = (closed - timezone.now()).total_seconds() if closed else 0.0
    if seconds > 0 and time.monotonic() + seconds > until:
        return False
    time.sleep(max(0.0, seconds))
    return True


def _drained(kb: KnowledgeBase, tally: Tally, *, is_out: bool) -> Drained:
    closed = provider_outages.closed_until(kb)
    if not is_out and not closed and not pending.next_due(kb):
        provider_outages.reopen(kb=kb)
    waiting = Document.objects.filter(claims.due(kb)).exclude(root_id__in=tally.gone_roots)
    return Drained(
        indexed=tally.indexed,
        failed=tally.failed,
        more=not is_out and not closed and waiting.exists(),
        again_at=closed or claims.next_due(kb),
    )


def restart_waiting() -> int:
    """Ring for every knowledge base that has documents to work on, e.g. after a restart or a back-off."""
    live = KnowledgeBase.objects.filter(archived_at__isnull=True, paused_at__isnull=True)
    has_work = Q(documents__index_status=IndexStatus.QUEUED) | Q(pk__in=pending.kbs_due())
    has_work |= dropping.deletions_due() | provider_tags.tags_due()
    waiting = live.exclude(waits_now()).filter(has_work).distinct()
    count = 0
    for kb in waiting.select_related("workspace"):
        if _is_due(kb):
            registry.request_work(kb)
            count += 1
    return count


def _is_due(kb: KnowledgeBase) -> bool:
    due = claims.next_due(kb)
    return Document.objects.filter(claims.due(kb)).exists() or (due is not None and due <= timezone.now())


def _follow(kb: KnowledgeBase, tally: Tally) -> None:
    """Ask for what the provider has."""
    try:
        follow(kb=kb, tally=tally)
    except Outage as outage:
        _pause(kb, outage)


def _closes(kb: KnowledgeBase, outage: Outage) -> bool:
    return kb.provider != ProviderKind.LOCAL and not outage.is_turn and outage.seconds > 0


def _pause(kb: KnowledgeBase, outage: Outage) -> float:
    """Say for how long documents wait. A provider outside that does not work lets the whole knowledge base wait."""
    if not _closes(kb, outage):
        return outage.seconds
    return (provider_outages.close(kb=kb, outage=outage) - timezone.now()).total_seconds()


def _ingest(kb: KnowledgeBase, worker: str, claimed: Sequence[Document], tally: Tally, beat: Beat) -> bool:
    """Ingest one batch. Returns False when nothing can be indexed now, and nobody can say when."""
    renewed = time.monotonic()

    def live() -> None:
        nonlocal renewed
        beat(indexed=tally.indexed, failed=tally.failed)
        if time.monotonic() - renewed > claims.LEASE.total_seconds() / 4:
            claims.keep(worker=worker, claimed=claimed)
            renewed = time.monotonic()

    try:
        ingest(kb=kb, worker=worker, claimed=claimed, tally=tally, beat=live)
    except Outage as outage:
        seconds = _pause(kb, outage)
        documents.put_back(worker=worker, documents=claimed, code=outage.code, seconds=seconds)
        tally.outages += 1
        return _closes(kb, outage) or (outage.seconds == 0 and tally.outages == 1)
    finally:
        claims.release(worker=worker, claimed=claimed)
    return True
