"""From an administrator's form to an opened citation, over a WeKnora server, by pages alone."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from knowledge.citations.locators import LocatorState
from knowledge.models import KnowledgeBase, ProviderProfile, Source
from tests.factories.mnote import UserFactory
from tests.knowledge.vault import Vault
from tests.knowledge.weknora import level
from tests.people import People
from tests.stubs.weknora import weknora_stub


def test_profile_knowledge_base_document_and_citation(people: People) -> None:
    boss = Client()
    boss.force_login(UserFactory(is_staff=True, is_superuser=True))
    note = people.folder / "garden.md"
    note.write_text("# Garden\n\nTomatoes need water every morning.\n")

    with weknora_stub() as stub:
        profile = {
            "name": "Library", "kind": "weknora", "base_url": stub.url, "tenant_id": "1", "key": stub.key,
            "key_name": "", "embedding_model_id": stub.model.id, "isolation_domain": "here",
            "workspaces": [people.workspace.pk],
        }  # fmt: skip
        boss.post(reverse("admin:knowledge_providerprofile_add"), profile)
        wish = {
            "workspace": people.workspace.pk, "name": "Notes", "description": "", "preset": "documents",
            "step": "review", "go": "create", "chosen": "notes:", "place": ProviderProfile.objects.get().pk,
        }  # fmt: skip
        people.client("alice").post("/kb/new", wish)

        kb = KnowledgeBase.objects.get()
        vault = Vault(people=people, kb=kb, source=Source.objects.get(kb=kb))
        level(vault)
        reference = vault.search("tomatoes")[0]
        held = stub.world.documents_of(kb.provider_kb_id)

    assert (kb.provider, kb.profile.name) == ("weknora", "Library")
    assert [each.name for each in held] == ["garden.md"]
    assert reference.document.source_path == "garden.md"
    assert vault.open(reference).state is LocatorState.EXACT
    page = people.client("alice").get(f"/kb/{kb.pk}/")
    assert stub.url not in page.text
    assert stub.key not in page.text
