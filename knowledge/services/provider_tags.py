"""Tags as people see them at a provider: those of the rows that a provider document stands for, told until it takes
them. Tags that people put there on documents without any here are theirs, and stay.

Nothing that goes wrong here fails a document or keeps one from being indexed: it is tried again, and the comparison
with the provider says which documents carry other tags there.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from knowledge.models import Document, IndexStatus, KnowledgeBase, ProviderKind, ProviderTagging
from knowledge.providers.base import ProviderDocumentId, ProviderError
from knowledge.providers.tags import TakesTags
from knowledge.querysets import standing_for
from knowledge.services.dropping import kb_ref
from knowledge.services.providers import provider_of
from knowledge.services.wishes import put_off

log = logging.getLogger(__name__)

_AT_ONCE = 100
#: Whoever tells a provider keeps others from telling it the same for so long.
_TELLING = timedelta(minutes=5)
_LONGEST = 3600.0


def wish_for(*, kb: KnowledgeBase, document_ids: Iterable[str], only_tagged: bool = False) -> bool:
    """Note that the provider documents of these rows are to carry their tags; `only_tagged` leaves out rows without
    any. Returns whether there are such documents. Call it after the rows are written."""
    if kb.provider == ProviderKind.LOCAL:
        return False
    rows = Document.objects.filter(pk__in=list(document_ids), deleted_at__isnull=True).exclude(provider_knowledge_id="")
    if only_tagged:
        rows = rows.filter(tag_rows__isnull=False).distinct()
    return wish(kb=kb, provider_document_ids=rows.values_list("provider_knowledge_id", flat=True))


def wish(*, kb: KnowledgeBase, provider_document_ids: Iterable[str]) -> bool:
    """Note that provider documents are to carry the tags that their rows have by then; returns whether any."""
    now, wanted = timezone.now(), set(provider_document_ids) - {""}
    if kb.provider == ProviderKind.LOCAL or not wanted:
        return False
    ProviderTagging.objects.bulk_create(
        [ProviderTagging(kb=kb, provider_knowledge_id=each, asked_at=now, next_try_at=now) for each in sorted(wanted)],
        update_conflicts=True,
        unique_fields=["kb", "provider_knowledge_id"],
        update_fields=["asked_at"],
    )
    return True


def finish(*, kb: KnowledgeBase) -> int:
    """Tell the provider what is due; returns for how many documents it took their tags. Raises nothing that a provider
    does."""
    due = _take_due(kb) if kb.provider != ProviderKind.LOCAL else []
    if not due:
        return 0
    try:
        _tell(kb, due)
    except ProviderError as error:
        _try_later(due, error)
        return 0
    _forget(due)
    return len(due)


def next_due(kb: KnowledgeBase) -> datetime | None:
    """Return when the provider is to be told next; None when it has all tags."""
    wishes = ProviderTagging.objects.filter(kb=kb).order_by("next_try_at")
    return wishes.values_list("next_try_at", flat=True).first()


def tags_due() -> Q:
    """Select knowledge bases whose providers are to be told tags."""
    return Q(provider_taggings__next_try_at__lte=timezone.now())


def wanted_tags(kb: KnowledgeBase, provider_document_ids: Iterable[str]) -> dict[str, list[str]]:
    """Return the tags of the rows that each provider document stands for; one that none needs is left out."""
    ids = frozenset(provider_document_ids)
    rows = Document.objects.filter(standing_for(ids), kb=kb, deleted_at__isnull=True).exclude(
        index_status=IndexStatus.SKIPPED
    )
    found: dict[str, set[str]] = {}
    for current, pending, tags in rows.values_list("provider_knowledge_id", "pending_knowledge_id", "tags_json"):
        for each in {current, pending} & ids:
            found.setdefault(each, set()).update(str(tag) for tag in tags)
    return {each: sorted(tags) for each, tags in found.items()}


def _take_due(kb: KnowledgeBase) -> list[ProviderTagging]:
    """What is asked for again meanwhile stays noted, and nobody else tells an older state after a newer one."""
    now = timezone.now()
    waiting = ProviderTagging.objects.filter(kb=kb, next_try_at__lte=now)
    if not waiting.exists():
        return []
    with transaction.atomic():
        due = list(waiting.select_for_update().order_by("next_try_at", "pk")[:_AT_ONCE])
        ProviderTagging.objects.filter(pk__in=[each.pk for each in due]).update(next_try_at=now + _TELLING)
    return due


def _tell(kb: KnowledgeBase, due: Sequence[ProviderTagging]) -> None:
    wanted = wanted_tags(kb, [each.provider_knowledge_id for each in due])
    provider = provider_of(kb)
    if wanted and isinstance(provider, TakesTags):
        provider.set_tags(kb_ref(kb), {ProviderDocumentId(each): tags for each, tags in wanted.items()})


def _forget(told: Sequence[ProviderTagging]) -> None:
    rows = ProviderTagging.objects.filter(pk__in=[each.pk for each in told])
    rows.filter(asked_at__in={each.asked_at for each in told}).delete()
    rows.update(next_try_at=timezone.now(), attempts=0, reason_code="")  # the tags were changed while they were told


def _try_later(due: Sequence[ProviderTagging], error: ProviderError) -> None:
    log.info("tags could not be told", extra={"code": error.code, "count": len(due)})
    for each in due:
        put_off(each, error, longest=_LONGEST)
    ProviderTagging.objects.bulk_update(due, ["attempts", "reason_code", "next_try_at"])
