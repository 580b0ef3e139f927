"""The knowledge app's layers for `check_stack`: each provider that a knowledge base uses."""

from __future__ import annotations

from knowledge.models import KnowledgeBase
from knowledge.providers.base import ProviderError
from knowledge.providers.registry import provider_for
from mnote.stack import LayerReport, layer


@layer("local")
def local() -> LayerReport:
    """Look at the embedded index, which every workspace has."""
    return _report("local")


@layer("providers")
def providers() -> LayerReport:
    """Look at the other providers in use."""
    kinds = KnowledgeBase.objects.filter(archived_at__isnull=True).exclude(provider="local")
    reports = [_report(kind) for kind in sorted(set(kinds.values_list("provider", flat=True)))]
    broken = [report for report in reports if not report.is_ok]
    return LayerReport(
        name="providers", is_ok=not broken, sentence=" ".join(f"{each.name}: {each.sentence}" for each in broken)
    )


def _report(kind: str) -> LayerReport:
    try:
        status = provider_for(kind).status()
    except ProviderError as error:
        return LayerReport(name=kind, is_ok=False, sentence=str(error))
    return LayerReport(name=kind, is_ok=status.reachable, sentence=status.sentence, version=status.version)
