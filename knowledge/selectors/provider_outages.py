"""Which providers do not answer, as the last who asked found them."""

from __future__ import annotations

from collections.abc import Iterable

from knowledge.models import KnowledgeBase, ProviderKind, ProviderOutage


def outage_of(kb: KnowledgeBase) -> ProviderOutage | None:
    """Return how the provider of a knowledge base fails now, None while it works."""
    return outages_of([kb]).get(kb.pk)


def outages_of(kbs: Iterable[KnowledgeBase]) -> dict[str, ProviderOutage]:
    """Return the outages by knowledge base. The embedded index has none: it is no service."""
    keys = {kb.pk: kb.profile_id or kb.provider for kb in kbs if kb.provider != ProviderKind.LOCAL}
    rows = ProviderOutage.objects.in_bulk(set(keys.values())) if keys else {}
    return {kb_id: rows[key] for kb_id, key in keys.items() if key in rows}
