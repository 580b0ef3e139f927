"""From a knowledge base to its provider: embedded, or over a profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from knowledge.citations.locators import LocatorState
from knowledge.models import KnowledgeBase, ProviderKind, ProviderProfile
from knowledge.providers.base import ProviderMisconfigured
from knowledge.services import chunks, drain, reconcile, removal, search, stack
from knowledge.services.providers import Link, connection_of, links_of, provider_of
from tests.factories.knowledge import KnowledgeBaseFactory, ProviderProfileFactory
from tests.knowledge.vault import Vault
from tests.knowledge.weknora import level, weknora_vault
from tests.stubs.weknora import WeKnoraStub

Served = tuple[Vault, WeKnoraStub, ProviderProfile]


@pytest.fixture
def served(vault: Vault) -> Iterator[Served]:
    vault.write("garden.md", "# Garden\n\nTomatoes need water every morning.\n")
    vault.write("backup.md", "# Backup\n\nThe database is copied at two in the morning.\n")
    with weknora_vault(vault) as made:
        yield made


def test_knowledge_base_over_a_profile_is_indexed_there_and_found(served: Served) -> None:
    vault, stub, _ = served
    before = vault.checksums()

    level(vault)

    reference = vault.search("tomatoes")[0]
    held = stub.world.kbs[vault.kb.provider_kb_id]
    assert vault.states() == {"garden.md": "indexed", "backup.md": "indexed"}
    assert reference.document.source_path == "garden.md"
    assert vault.open(reference).state is LocatorState.EXACT
    assert held.body["name"] == f"mnote-{vault.people.workspace.id}-default"
    assert vault.checksums() == before


def test_every_part_of_the_product_asks_the_profile(served: Served) -> None:
    vault, stub, _ = served
    level(vault)

    document = vault.row("garden.md")
    report = reconcile.reconcile(kb=vault.kb, repair=False)
    passages = chunks.page_of(document, offset=0, limit=10)
    stages = chunks.provider_stages(document)
    removal.remove(documents_to_remove=[document], code="excluded")

    assert (report.held, report.ghosts, report.lost) == (2, (), ())
    assert passages.total == 1
    assert stages
    assert [each.name for each in stub.world.documents_of(vault.kb.provider_kb_id)] == ["backup.md"]


def test_search_asks_each_profile_for_its_own_and_goes_on_without_a_silent_one(served: Served) -> None:
    vault, stub, _ = served
    level(vault)
    dead = ProviderProfileFactory(base_url="http://127.0.0.1:1")
    KnowledgeBaseFactory(root=vault.people.root, provider=ProviderKind.WEKNORA, profile=dead)
    KnowledgeBaseFactory(root=vault.people.root)

    scope = search.Scope(workspace=vault.people.workspace)
    result = search.search(principal=vault.alice, scope=scope, query="tomatoes")

    assert [each.document.source_path for each in result.references] == ["garden.md"]
    assert [each.link.profile for each in result.silent] == [dead]
    assert len(stub.calls("POST", "hybrid-search")) > 0


def test_search_loads_profiles_with_the_knowledge_bases(
    vault: Vault, settings: Any, django_assert_max_num_queries: Any
) -> None:
    profile = ProviderProfileFactory(base_url="http://127.0.0.1:1")
    for _ in range(5):
        KnowledgeBaseFactory(root=vault.people.root, provider=ProviderKind.WEKNORA, profile=profile)

    scope = search.Scope(workspace=vault.people.workspace)
    search.search(principal=vault.alice, scope=scope, query="few")
    with django_assert_max_num_queries(12) as asked:
        search.search(principal=vault.alice, scope=scope, query="tomatoes")

    assert not [each for each in asked.captured_queries if 'FROM "mnote_provider_profiles"' in each["sql"]]


def test_profile_that_cannot_be_unsealed_is_misconfigured(db: None, settings: Any) -> None:
    kb = KnowledgeBaseFactory(provider=ProviderKind.WEKNORA, profile=ProviderProfileFactory())
    settings.SECRET_KEY = "another-" + "y" * 40

    with pytest.raises(ProviderMisconfigured, match="Enter it anew"):
        provider_of(kb)


def test_archived_profile_is_misconfigured(db: None) -> None:
    kb = KnowledgeBaseFactory(provider=ProviderKind.WEKNORA, profile=ProviderProfileFactory(archived_at=timezone.now()))
    with pytest.raises(ProviderMisconfigured, match="archived"):
        provider_of(kb)


def test_knowledge_base_without_its_profile_is_misconfigured(db: None) -> None:
    with pytest.raises(ProviderMisconfigured):
        provider_of(KnowledgeBaseFactory(provider=ProviderKind.WEKNORA))


def test_key_can_come_from_the_environment(db: None, settings: Any) -> None:
    profile = ProviderProfileFactory(sealed_key="", key_name="LIBRARY")
    settings.MNOTE_PROVIDER_KEYS = {"LIBRARY": "sk-from-a-file"}

    assert connection_of(profile)["key"] == "sk-from-a-file"
    settings.MNOTE_PROVIDER_KEYS = {}
    with pytest.raises(ProviderMisconfigured, match="no key under the name"):
        connection_of(profile)


def test_misconfigured_profile_makes_documents_wait_with_a_reason(served: Served) -> None:
    vault, _, profile = served
    profile.archived_at = timezone.now()
    profile.save()
    vault.kb.refresh_from_db()
    vault.sync()

    drain.drain(kb=vault.kb, worker="test", patience=0.5)

    row = vault.row("garden.md")
    assert (row.index_status, row.reason_code) == ("queued", "provider-misconfigured")


def test_links_name_each_profile_in_use_once(db: None) -> None:
    second, first = ProviderProfileFactory(name="Second"), ProviderProfileFactory(name="First")
    for profile in (second, first, second):
        KnowledgeBaseFactory(provider=ProviderKind.WEKNORA, profile=profile)
    KnowledgeBaseFactory()

    links = links_of(KnowledgeBase.objects.all())

    assert links == [Link("local"), Link("weknora", first), Link("weknora", second)]


def test_stack_names_the_profile_that_is_broken(served: Served) -> None:
    _, _, profile = served
    assert stack.providers().is_ok

    profile.base_url = "http://127.0.0.1:1"
    profile.save()

    report = stack.providers()
    assert not report.is_ok
    assert report.sentence.startswith(f"{profile.name}: Server: ")
    assert "127.0.0.1" not in report.sentence


def test_stack_sees_a_model_that_was_deleted(served: Served) -> None:
    vault, stub, profile = served
    level(vault)
    assert stack.providers().is_ok

    stub.world.models.clear()

    assert stack.providers().sentence.startswith(f"{profile.name}: Embedding model: The server does not know")
