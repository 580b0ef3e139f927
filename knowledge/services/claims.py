"""Which worker has which documents: taken for a while, kept while it lives, given back when it stops or dies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Min, Q
from django.utils import timezone

from knowledge.models import Document, IndexStatus, KnowledgeBase
from knowledge.services import documents, dropping, pending, provider_tags, revisions

#: How long a worker may hold a document before it is taken for dead.
LEASE = timedelta(minutes=10)
#: Parts the name of a worker: what stands before it is a place where only one works at a time, see `take_over`.
PLACE = "#"
_LOST_AT_ONCE = 500


def due(kb: KnowledgeBase) -> Q:
    """Select the documents of `kb` that wait to be worked on now."""
    now = timezone.now()
    return Q(kb=kb, index_status=IndexStatus.QUEUED) & (Q(next_try_at__isnull=True) | Q(next_try_at__lte=now))


def claim(*, kb: KnowledgeBase, worker: str, limit: int, without_roots: Collection[int] = ()) -> list[Document]:
    """Take up to `limit` waiting documents for `worker`, in path order. Two workers never get the same one."""
    waiting = Document.objects.filter(due(kb)).exclude(root_id__in=without_roots)
    if not waiting.exists():
        return []
    now = timezone.now()
    ends = now + LEASE
    with transaction.atomic():
        rev = revisions.take(kb.workspace_id)  # others wait here until we commit, and then see what is left
        ids = list(waiting.order_by("sort_path", "id").values_list("id", flat=True)[:limit])
        Document.objects.filter(id__in=ids, index_status=IndexStatus.QUEUED).update(
            index_status=IndexStatus.PARSING, worker=worker, lease_expires_at=ends, status_since=now, updated_at=now,
            rev=rev,
        )  # fmt: skip
    mine = Document.objects.filter(_held(worker), id__in=ids)
    return list(mine.select_related("root", "kb").order_by("sort_path", "id"))


def keep(*, worker: str, claimed: Sequence[Document]) -> None:
    """Renew what `worker` still holds. Nobody needs to see that: no new revision."""
    mine = Document.objects.filter(_held(worker), id__in=[each.id for each in claimed])
    mine.update(lease_expires_at=timezone.now() + LEASE)


def release(*, worker: str, claimed: Sequence[Document]) -> None:
    """Give back what `worker` claimed and did not get to. Nothing to do after a batch that ran to its end."""
    mine = Document.objects.filter(_held(worker), id__in=[each.id for each in claimed])
    documents.write_all(mine, index_status=IndexStatus.QUEUED, worker="", lease_expires_at=None)


def take_over(*, kb: KnowledgeBase, worker: str) -> int:
    """Give back at once what an earlier worker of the same place left behind: it is dead, or its writes no longer
    count. A worker without a place takes nothing over."""
    place, is_placed, _ = worker.partition(PLACE)
    if not is_placed:
        return 0
    left = Document.objects.filter(kb=kb, index_status=IndexStatus.PARSING, worker__startswith=place + PLACE)
    return _lose(left.exclude(worker=worker)[:_LOST_AT_ONCE])


def release_lost() -> int:
    """Give documents of dead workers back to the queue; after too many tries they fail with a reason."""
    lost = Document.objects.filter(index_status=IndexStatus.PARSING, lease_expires_at__lt=timezone.now())
    return _lose(lost.order_by("id")[:_LOST_AT_ONCE])


def next_due(kb: KnowledgeBase) -> datetime | None:
    """Return when the first of the documents that must wait may be tried again, when the provider is to be asked for
    one that it has, or for a deletion, or told tags; None when there is none of these."""
    waiting = Document.objects.filter(kb=kb, index_status=IndexStatus.QUEUED, next_try_at__isnull=False)
    first: datetime | None = waiting.aggregate(first=Min("next_try_at"))["first"]
    moments = (first, pending.next_due(kb), dropping.next_due(kb), provider_tags.next_due(kb))
    return min((each for each in moments if each is not None), default=None)


def _held(worker: str) -> Q:
    return Q(index_status=IndexStatus.PARSING, worker=worker)


def _lose(lost: Iterable[Document]) -> int:
    return sum(documents.fail(document=document, code="worker_lost") for document in lost)
