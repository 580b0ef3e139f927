"""The knowledge app's layers for `check_stack`: each provider that a knowledge base uses."""

from __future__ import annotations

from knowledge.models import KnowledgeBase, ProviderKind
from knowledge.services.providers import Link, links_of
from mnote.stack import LayerReport, layer


@layer("local")
def local() -> LayerReport:
    """Look at the embedded index, which every workspace has."""
    status = Link(ProviderKind.LOCAL).status()
    return LayerReport(name="local", is_ok=status.reachable, sentence=status.sentence, version=status.version)


@layer("providers")
def providers() -> LayerReport:
    """Look at the other providers in use, each by the name of its profile."""
    live = KnowledgeBase.objects.filter(archived_at__isnull=True).exclude(provider=ProviderKind.LOCAL)
    asked = [(link.name, link.status()) for link in links_of(live)]
    broken = [f"{name}: {status.sentence}" for name, status in asked if not status.reachable]
    return LayerReport(name="providers", is_ok=not broken, sentence=" ".join(broken))
