"""Which providers do not work, as the last who asked found them."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q
from django.utils import timezone

from knowledge.models import KnowledgeBase, ProviderKind, ProviderOutage


def keys_of(kb: KnowledgeBase) -> tuple[str, str]:
    """Return the keys of the outages that concern a knowledge base: of its link, and of itself."""
    return kb.profile_id or kb.provider, kb.pk


def outage_of(kb: KnowledgeBase) -> ProviderOutage | None:
    """Return how the provider of a knowledge base fails now, None while it works."""
    return outages_of([kb]).get(kb.pk)


def outages_of(kbs: Iterable[KnowledgeBase]) -> dict[str, ProviderOutage]:
    """Return the outages by knowledge base; that of the link goes before its own. The embedded index has none: it is no
    service."""
    keys = {kb.pk: keys_of(kb) for kb in kbs if kb.provider != ProviderKind.LOCAL}
    rows = ProviderOutage.objects.in_bulk({key for both in keys.values() for key in both}) if keys else {}
    found = {kb_id: next((rows[key] for key in both if key in rows), None) for kb_id, both in keys.items()}
    return {kb_id: row for kb_id, row in found.items() if row is not None}


def waits_now() -> Q:
    """Select the knowledge bases whose work waits for a provider."""
    closed = list(ProviderOutage.objects.filter(until__gt=timezone.now()).values_list("key", flat=True))
    return Q(pk__in=closed) | Q(profile_id__in=closed)
