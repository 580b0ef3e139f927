"""A knowledge base of a vault on a WeKnora stub, brought level as workers do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from knowledge.models import Document, IndexStatus, KnowledgeBase, ProviderKind, ProviderProfile
from knowledge.services import drain
from tests.factories.knowledge import ProviderProfileFactory
from tests.knowledge.vault import Vault
from tests.stubs.weknora import WeKnoraStub, weknora_stub

_ROUNDS = 50


@contextmanager
def weknora_vault(vault: Vault) -> Iterator[tuple[Vault, WeKnoraStub, ProviderProfile]]:
    """Put the vault's knowledge base on a stub, over a profile that its workspace may use."""
    with weknora_stub() as stub:
        profile = ProviderProfileFactory(stub=stub, workspaces=[vault.people.workspace])
        KnowledgeBase.objects.filter(pk=vault.kb.pk).update(provider=ProviderKind.WEKNORA, profile=profile)
        vault.kb.refresh_from_db()
        yield vault, stub, profile


def level(vault: Vault) -> None:
    """Look at the folder and index all that waits, without waiting between two looks at the server."""
    vault.sync()
    waiting = Document.objects.filter(kb=vault.kb, index_status=IndexStatus.QUEUED)
    for _ in range(_ROUNDS):
        waiting.update(next_try_at=None)
        drain.drain(kb=vault.kb, worker="test")
        if not waiting.exists():
            return
    raise AssertionError(dict(waiting.values_list("source_path", "reason_code")))
