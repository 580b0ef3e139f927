"""Knowledge bases whose index is at a server: a stub of it on loopback, a profile that leads there."""

from __future__ import annotations

from django.db.models import Q

from knowledge.models import Document, IndexStatus, KnowledgeBase, ProviderKind, ProviderProfile
from knowledge.services import drain, sources, sync
from mnote.models import Root
from tests.factories.knowledge import KnowledgeBaseFactory, ProviderProfileFactory
from tests.knowledge.vault import Vault
from tests.stubs.weknora import WeKnoraStub

_TURNS = 200
_IN_WORK = Q(index_status__in=[IndexStatus.QUEUED, IndexStatus.PARSING])


def profile_of(stub: WeKnoraStub, name: str = "Library server") -> ProviderProfile:
    """Make the profile of a running stub."""
    profile: ProviderProfile = ProviderProfileFactory(stub=stub, name=name)
    return profile


def move_to(vault: Vault, profile: ProviderProfile) -> None:
    """Let a profile serve the knowledge base of a vault that holds nothing yet."""
    KnowledgeBase.objects.filter(pk=vault.kb.pk).update(provider=ProviderKind.WEKNORA, profile=profile)
    vault.kb.refresh_from_db()


def another_kb(vault: Vault, profile: ProviderProfile, name: str, path: str, root: Root | None = None) -> KnowledgeBase:
    """Make a second knowledge base over one folder, served by a profile, and index it."""
    kb: KnowledgeBase = KnowledgeBaseFactory(
        owner=vault.people.alice, root=root or vault.people.root, name=name, provider=ProviderKind.WEKNORA,
        profile=profile,
    )  # fmt: skip
    sources.add_sources(principal=vault.alice, kb=kb, root=kb.root, paths=[path])
    level(kb)
    return kb


def level(kb: KnowledgeBase) -> None:
    """Look at the files of a knowledge base, and work through all that waits without waiting ourselves."""
    for source in kb.sources.select_related("kb__workspace", "root"):
        sync.sync_source(source=source, order=sync.Order())
    waiting = Document.objects.filter(_IN_WORK, kb=kb)
    for _ in range(_TURNS):
        drain.drain(kb=kb, worker="test")
        if not waiting.exists():
            return
        waiting.update(next_try_at=None)
    raise AssertionError(f"still waiting: {list(waiting.values_list('source_path', 'reason_code'))}")
