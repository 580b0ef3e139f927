from __future__ import annotations

from collections.abc import Iterator

import pytest

from knowledge.models import KnowledgeBase
from knowledge.providers import registry
from knowledge.services import following
from tests.knowledge.remote import Remote
from tests.knowledge.vault import Vault, make_vault
from tests.people import People
from tests.stubs.weknora import WeKnoraStub, weknora_stub


@pytest.fixture
def vault(people: People) -> Vault:
    return make_vault(people)


@pytest.fixture
def stub() -> Iterator[WeKnoraStub]:
    with weknora_stub("standard") as stub:
        yield stub


@pytest.fixture
def other_stub() -> Iterator[WeKnoraStub]:
    with weknora_stub("standard") as stub:
        yield stub


@pytest.fixture(params=["lite", "standard"])
def remote(request: pytest.FixtureRequest, vault: Vault, monkeypatch: pytest.MonkeyPatch) -> Iterator[Remote]:
    """A vault on a server, of either edition."""
    with weknora_stub(request.param) as stub:
        found = Remote(vault=vault, stub=stub)
        provider = found.provider()
        monkeypatch.setattr(following, "_SHORT", 0.2)  # no test waits for what does not come
        monkeypatch.setitem(registry._MAKERS, "weknora", lambda: provider)
        KnowledgeBase.objects.filter(pk=vault.kb.pk).update(provider="weknora")
        vault.kb.refresh_from_db()
        yield found
