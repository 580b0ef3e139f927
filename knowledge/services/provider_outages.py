"""Since when a provider does not work: written down by whoever asks it, a search or a worker, for everybody who waits.

The embedded index is no service: it is there or damaged, and mends itself.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.db import DatabaseError, transaction
from django.utils import timezone

from knowledge.models import Document, IndexStatus, KnowledgeBase, ProviderKind, ProviderOutage
from knowledge.providers.base import (
    ProviderAuthError,
    ProviderBusy,
    ProviderDeleting,
    ProviderError,
    ProviderMisconfigured,
    ProviderProtocolError,
    ProviderTimeout,
    ProviderUnavailable,
)
from knowledge.selectors.provider_outages import keys_of
from knowledge.services import registry
from knowledge.services.outages import Outage
from knowledge.services.providers import Link, link_of, links_of

log = logging.getLogger(__name__)

_OUT_OF_ORDER = (ProviderUnavailable, ProviderMisconfigured, ProviderProtocolError)
_IN_ORDER = (ProviderBusy, ProviderDeleting)
#: With these a provider serves nobody over a link; with others it does not take documents of one knowledge base.
_OF_LINKS = frozenset(
    each.code
    for each in (ProviderUnavailable, ProviderTimeout, ProviderMisconfigured, ProviderAuthError, ProviderProtocolError)
)
#: Work waits for half the time that an outage has lasted, within these bounds.
_SHORTEST, _LONGEST = 2.0, 300.0


def open_keys() -> frozenset[str]:
    """Return the keys of everything that is out of order."""
    return frozenset(ProviderOutage.objects.values_list("key", flat=True))


def note_failure(link: Link, error: ProviderError) -> None:
    """Write down that a provider does not work, unless the error says nothing about that; set `error.since`."""
    if link.kind == ProviderKind.LOCAL or isinstance(error, _IN_ORDER) or not isinstance(error, _OUT_OF_ORDER):
        return
    error.since = timezone.now()
    try:
        error.since = note(link, error.code)
    except DatabaseError:  # the answer matters more than the note
        log.warning("an outage could not be written down", exc_info=True)


def note(link: Link, code: str) -> datetime:
    """Write down that a provider does not work; returns since when."""
    return _note(link.key, code).since


def note_answer(link: Link) -> None:
    """Write down that a provider works again: work that waits for it is rung for."""
    try:
        if _forget([link.key]):
            _ring(_kbs_over(link))
    except DatabaseError:
        log.warning("the end of an outage could not be written down", exc_info=True)


def close(*, kb: KnowledgeBase, outage: Outage) -> datetime:
    """Let the work of a knowledge base wait, or of all over its link; returns until when."""
    key = link_of(kb).key if outage.code in _OF_LINKS else kb.pk
    with transaction.atomic():
        row = _note(key, outage.code)
        age = (row.seen_at - row.since).total_seconds()
        seconds = outage.seconds if outage.asked_to_wait else min(_LONGEST, max(_SHORTEST, age / 2))
        row.until = row.seen_at + timedelta(seconds=seconds)
        row.save(update_fields=["until"])
    return row.until


def reopen(*, kb: KnowledgeBase) -> None:
    """The provider took a document of a knowledge base, or all there is to do is done."""
    if kb.provider != ProviderKind.LOCAL:
        _forget(keys_of(kb))


def closed_until(kb: KnowledgeBase) -> datetime | None:
    """Return until when the work of a knowledge base waits; None when it need not."""
    if kb.provider == ProviderKind.LOCAL:
        return None
    closed = ProviderOutage.objects.filter(key__in=keys_of(kb), until__gt=timezone.now()).order_by("-until")
    return closed.values_list("until", flat=True).first()


def ask_again(kbs: Iterable[KnowledgeBase]) -> None:
    """A person thinks that what was wrong is put right: do not wait before asking again."""
    outside = [kb for kb in kbs if kb.provider != ProviderKind.LOCAL]
    keys = {key for kb in outside for key in keys_of(kb)}
    closed = ProviderOutage.objects.filter(key__in=keys, until__isnull=False)
    codes = set(closed.values_list("code", flat=True))
    if closed.update(until=None):
        waiting = Document.objects.filter(kb__in=outside, index_status=IndexStatus.QUEUED, reason_code__in=codes)
        waiting.update(next_try_at=timezone.now())
        _ring(outside)


def look_again() -> int:
    """Ask the providers that did not answer last time, and ring for the work that waits for those that do; forget those
    that nobody uses. Returns how many answer now."""
    live = KnowledgeBase.objects.filter(archived_at__isnull=True)
    used = {link.key: link for link in links_of(live)}
    unused = ProviderOutage.objects.exclude(key__in=used).exclude(key__in=live.values("pk"))
    unused.delete()
    rows = [row for row in ProviderOutage.objects.filter(key__in=used) if used[row.key].status().reachable]
    for row in rows:
        if row.until is None:
            row.delete()
        else:  # it answers, but whether it takes documents only a document can tell
            ask_again(_kbs_over(used[row.key]))
    return len(rows)


def _note(key: str, code: str) -> ProviderOutage:
    now = timezone.now()
    facts = {"code": code, "seen_at": now}
    with transaction.atomic():
        row, _is_new = ProviderOutage.objects.update_or_create(
            key=key, defaults=facts, create_defaults={**facts, "since": now}
        )
    return row


def _forget(keys: Sequence[str]) -> bool:
    """Looked for first: nearly always there is none, and a deletion of nothing would write."""
    rows = ProviderOutage.objects.filter(key__in=keys)
    return rows.exists() and bool(rows.delete()[0])


def _kbs_over(link: Link) -> list[KnowledgeBase]:
    profile_id = link.profile.pk if link.profile else None
    kbs = KnowledgeBase.objects.filter(provider=link.kind, profile=profile_id, archived_at__isnull=True)
    return list(kbs.select_related("workspace"))


def _ring(kbs: Iterable[KnowledgeBase]) -> None:
    for kb in kbs:
        if kb.paused_at is None and Document.objects.filter(kb=kb, index_status=IndexStatus.QUEUED).exists():
            registry.request_work(kb)
