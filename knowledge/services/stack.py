"""The knowledge app's layers for `check_stack`: each provider that a knowledge base uses."""

from __future__ import annotations

from knowledge.models import Document, KnowledgeBase, ProviderKind
from knowledge.profile_words import label_of, sentence_of
from knowledge.providers.base import CheckResult, ProviderError
from knowledge.services.ingest import kb_ref
from knowledge.services.providers import Link, links_of
from mnote.stack import LayerReport, layer


@layer("local")
def local() -> LayerReport:
    """Look at the embedded index, which every workspace has."""
    status = Link(ProviderKind.LOCAL).status()
    return LayerReport(name="local", is_ok=status.reachable, sentence=status.sentence, version=status.version)


@layer("providers")
def providers() -> LayerReport:
    """Look at the other providers in use, by the names of their profiles, and at one knowledge base of each."""
    live = KnowledgeBase.objects.filter(archived_at__isnull=True).exclude(provider=ProviderKind.LOCAL)
    broken = [sentence for link in links_of(live) if (sentence := what_is_broken(link, _held(link)))]
    return LayerReport(name="providers", is_ok=not broken, sentence=" ".join(broken))


def what_is_broken(link: Link, held: KnowledgeBase | None = None) -> str:
    """Name the link and the first thing that is wrong with it, at a knowledge base it holds where one is given; "" when
    nothing is. Names no address."""
    try:
        checks = link.provider().check(kb_ref(held) if held else None)
    except ProviderError as error:
        return f"{link.name}: {error}"
    failed = [each for each in checks if each.result is CheckResult.FAILED]
    return f"{link.name}: {label_of(failed[0])}: {sentence_of(failed[0])}" if failed else ""


def _held(link: Link) -> KnowledgeBase | None:
    """Return a knowledge base that its provider has: those that nothing was given to are not made there yet."""
    given = Document.objects.filter(kb__profile=link.profile, kb__provider=link.kind, kb__archived_at=None)
    document = given.exclude(provider_knowledge_id="").select_related("kb").first()
    return document.kb if document else None
