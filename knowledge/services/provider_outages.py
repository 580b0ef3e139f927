"""Since when a provider does not answer: written down by whoever asks it, for everybody who waits for it.

The embedded index is no service: it is there or damaged, and mends itself.
"""

from __future__ import annotations

import logging

from django.db import DatabaseError, transaction
from django.utils import timezone

from knowledge.models import KnowledgeBase, ProviderKind, ProviderOutage
from knowledge.providers.base import (
    ProviderBusy,
    ProviderDeleting,
    ProviderError,
    ProviderMisconfigured,
    ProviderProtocolError,
    ProviderUnavailable,
)
from knowledge.services.providers import Link, links_of

log = logging.getLogger(__name__)

_OUT_OF_ORDER = (ProviderUnavailable, ProviderMisconfigured, ProviderProtocolError)
_IN_ORDER = (ProviderBusy, ProviderDeleting)


def open_keys() -> frozenset[str]:
    """Return the keys of the links that are out of order."""
    return frozenset(ProviderOutage.objects.values_list("key", flat=True))


def note_failure(link: Link, error: ProviderError) -> None:
    """Write down that a provider does not work, unless the error says nothing about that; set `error.since`."""
    if link.kind == ProviderKind.LOCAL or isinstance(error, _IN_ORDER) or not isinstance(error, _OUT_OF_ORDER):
        return
    now = timezone.now()
    error.since = now
    try:
        with transaction.atomic():
            facts = {"code": error.code, "seen_at": now}
            row, _is_new = ProviderOutage.objects.update_or_create(
                key=link.key, defaults=facts, create_defaults={**facts, "since": now}
            )
    except DatabaseError:  # the answer matters more than the note
        log.warning("an outage could not be written down", exc_info=True)
        return
    error.since = row.since


def note_answer(link: Link) -> None:
    """Write down that a provider works again."""
    try:
        ProviderOutage.objects.filter(key=link.key).delete()
    except DatabaseError:
        log.warning("the end of an outage could not be written down", exc_info=True)


def look_again() -> int:
    """Ask the providers that did not answer last time; forget those that nobody uses. Returns how many answer now."""
    used = {link.key: link for link in links_of(KnowledgeBase.objects.filter(archived_at__isnull=True))}
    ended = 0
    for row in ProviderOutage.objects.all():
        link = used.get(row.key)
        if link is None or link.status().reachable:
            ended += link is not None
            row.delete()
    return ended
