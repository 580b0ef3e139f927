"""Working through the waiting documents of one knowledge base, a small batch at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from knowledge.models import Document, IndexStatus, KnowledgeBase
from knowledge.services import claims, documents, registry
from knowledge.services.ingest import Tally, ingest
from knowledge.services.outages import Outage

_BATCH = 32
#: After this long a job makes room for other knowledge bases and queues itself again.
_TURN_SECONDS = 20.0

Beat = Callable[..., None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """What one turn did. `more` says that documents still wait to be worked on now; `again_at` when the first of those
    that must wait may be tried again."""

    indexed: int
    failed: int
    more: bool
    again_at: datetime | None = None


def drain(*, kb: KnowledgeBase, worker: str, beat: Beat = lambda **_: None) -> Drained:
    """Ingest waiting documents until none is left, the turn is over, or nothing can be indexed now.

    `worker` names who does it, see `claims.PLACE`.
    """
    ends = time.monotonic() + _TURN_SECONDS
    tally = Tally()
    claims.take_over(kb=kb, worker=worker)
    is_out = False
    while not is_out and time.monotonic() < ends:
        claimed = claims.claim(kb=kb, worker=worker, limit=_BATCH, without_roots=tally.gone_roots)
        if not claimed:
            break
        is_out = not _ingest(kb, worker, claimed, tally, beat)
    waiting = Document.objects.filter(claims.due(kb)).exclude(root_id__in=tally.gone_roots)
    return Drained(
        indexed=tally.indexed,
        failed=tally.failed,
        more=not is_out and waiting.exists(),
        again_at=claims.next_due(kb),
    )


def restart_waiting() -> int:
    """Ring for every knowledge base that has documents to work on, e.g. after a restart or a back-off."""
    waiting = KnowledgeBase.objects.filter(
        archived_at__isnull=True, paused_at__isnull=True, documents__index_status=IndexStatus.QUEUED
    ).distinct()
    count = 0
    for kb in waiting.select_related("workspace"):
        if Document.objects.filter(claims.due(kb)).exists():
            registry.request_work(kb)
            count += 1
    return count


def _ingest(kb: KnowledgeBase, worker: str, claimed: Sequence[Document], tally: Tally, beat: Beat) -> bool:
    """Ingest one batch. Returns False when nothing can be indexed now."""
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
        documents.put_back(worker=worker, documents=claimed, code=outage.code, seconds=outage.seconds)
        tally.outages += 1
        return outage.seconds == 0 and tally.outages == 1
    finally:
        claims.release(worker=worker, claimed=claimed)
    return True
