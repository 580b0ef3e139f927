"""The knowledge admin shows facts, edits nothing, tells no content of a file, and acts through services."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from knowledge.models import (
    DerivedArtifact,
    Document,
    DocumentEvent,
    Exclusion,
    IndexStatus,
    KnowledgeBase,
    ProviderKind,
    Source,
    SyncRun,
)
from knowledge.providers.registry import provider_for
from knowledge.services import reconcile, sources
from knowledge.services.ingest import kb_ref
from mnote.models import AuditEntry, Job, User
from tests.factories.knowledge import DocumentFactory, KnowledgeBaseFactory, SourceFactory
from tests.factories.mnote import UserFactory
from tests.knowledge.vault import Vault

MODELS = [DerivedArtifact, Document, DocumentEvent, Exclusion, KnowledgeBase, Source, SyncRun]
SECRET_WORDS = "The parrot is called Archibald."


@pytest.fixture
def boss(db: None) -> User:
    """An administrator who is a member of nothing."""
    return UserFactory(username="boss", is_staff=True, is_superuser=True)


@pytest.fixture
def client(boss: User) -> Client:
    client = Client()
    client.force_login(boss)
    return client


@pytest.fixture
def filled(vault: Vault) -> Vault:
    vault.write("notes/a.md", f"# A\n\n{SECRET_WORDS}\n")
    vault.write("notes/b.md", "# B\n\nOther words.\n")
    vault.level()
    sources.exclude(principal=vault.alice, kb=vault.kb, targets=[vault.row("notes/b.md")])
    Job.objects.all().delete()
    AuditEntry.objects.all().delete()
    return vault


def address(model: type, page: str, *args: object) -> str:
    return reverse(f"admin:knowledge_{model.__name__.lower()}_{page}", args=args)


def act(client: Client, name: str, *rows: Any) -> HttpResponse:
    body = {"action": name, "_selected_action": [row.pk for row in rows]}
    return client.post(address(type(rows[0]), "changelist"), body, follow=True)


@pytest.mark.parametrize("model", MODELS)
def test_every_table_is_listed_searched_and_shown(client: Client, filled: Vault, model: Any) -> None:
    row = model.objects.first()

    assert client.get(address(model, "changelist")).status_code == 200
    assert client.get(address(model, "changelist"), {"q": "a\\%_'"}).status_code == 200
    assert client.get(address(model, "change", row.pk)).status_code == 200


@pytest.mark.parametrize("model", MODELS)
def test_nothing_can_be_edited_added_or_deleted(client: Client, filled: Vault, model: Any) -> None:
    row = model.objects.first()

    assert client.get(address(model, "add")).status_code == 403
    assert client.post(address(model, "change", row.pk), {}).status_code == 403
    assert client.post(address(model, "delete", row.pk), {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("model", MODELS)
def test_no_content_of_a_file_is_shown(client: Client, filled: Vault, model: Any) -> None:
    assert any(SECRET_WORDS in row.content_text for row in DerivedArtifact.objects.all())

    for row in model.objects.all():
        assert "Archibald" not in client.get(address(model, "change", row.pk)).text
    assert "Archibald" not in client.get(address(model, "changelist")).text


@pytest.mark.parametrize("name", ["alice", "mallory"])
def test_admin_is_not_there_for_people_who_are_no_administrators(filled: Vault, name: str) -> None:
    assert filled.people.client(name).get(address(KnowledgeBase, "changelist"), follow=True).status_code == 404


@pytest.mark.parametrize("model", MODELS)
def test_lists_take_the_same_queries_for_many_rows(
    client: Client, filled: Vault, model: Any, django_assert_max_num_queries: Any
) -> None:
    for _number in range(15):
        kb = KnowledgeBaseFactory()
        source = SourceFactory(kb=kb)
        document = DocumentFactory(kb=kb, source=source)
        SyncRun.objects.create(kb=kb, source=source)
        DocumentEvent.objects.create(document=document, stage="read", state="done", started_at=timezone.now())
        Exclusion.objects.create(kb=kb, root=kb.root, path="x", path_key="x")

    with django_assert_max_num_queries(12):
        client.get(address(model, "changelist"))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"index_status__exact": "indexed"}, {"notes/a.md"}),
        ({"index_status__exact": "deleted"}, {"notes/b.md"}),
        ({"reason": "excluded_by_hand"}, {"notes/b.md"}),
        ({"reason": "encrypted"}, set()),
        ({"provider__exact": "local"}, {"notes/a.md", "notes/b.md"}),
        ({"q": "notes/a"}, {"notes/a.md"}),
    ],
)
def test_documents_are_filtered_and_found_by_path(
    client: Client, filled: Vault, query: dict[str, str], found: set[str]
) -> None:
    text = client.get(address(Document, "changelist"), query).text

    assert {path for path in ("notes/a.md", "notes/b.md") if path in text} == found


def test_reason_is_explained(client: Client, filled: Vault) -> None:
    text = client.get(address(Document, "change", filled.row("notes/b.md").pk)).text

    assert "Excluded from this knowledge base by hand. Include it again if wanted." in text


def test_syncing_a_knowledge_base_looks_at_its_sources(client: Client, boss: User, filled: Vault) -> None:
    assert "Done for 1 row." in act(client, "sync", filled.kb).text

    job = Job.objects.get(kind="knowledge.sync_source")
    assert (job.payload["source_id"], job.requested_by) == (filled.source.pk, boss)
    assert AuditEntry.objects.get(action="kb.sync").actor == boss


def test_report_says_what_differs_and_changes_nothing(client: Client, filled: Vault) -> None:
    provider = provider_for("local")
    provider.delete_document(kb_ref(filled.kb), filled.row("notes/a.md").provider_knowledge_id)  # type: ignore[arg-type]

    text = act(client, "show_report", filled.kb).text

    assert "1 listed here but not there." in text
    assert "held twice" not in text
    assert filled.states()["notes/a.md"] == IndexStatus.INDEXED
    assert not Job.objects.exists()


def test_report_of_what_is_level_says_so(client: Client, filled: Vault) -> None:
    reconcile.reconcile(kb=filled.kb, repair=True)

    assert "all as they should be." in act(client, "show_report", filled.kb).text


def test_report_of_a_service_that_is_not_there_says_so(client: Client, filled: Vault) -> None:
    KnowledgeBase.objects.update(provider=ProviderKind.LIGHTRAG_LEGACY)

    assert "The indexing service is not set up correctly" in act(client, "show_report", filled.kb).text


def test_mending_happens_in_the_background(client: Client, filled: Vault) -> None:
    act(client, "repair", filled.kb)

    assert Job.objects.get(kind="workspace_sanity_check").payload == {"kb_id": filled.kb.pk}


def test_archiving_hides_it_and_leaves_the_files(client: Client, filled: Vault) -> None:
    before = filled.checksums()

    act(client, "archive", filled.kb)
    again = act(client, "archive", filled.kb)

    assert KnowledgeBase.objects.get(pk=filled.kb.pk).archived_at is not None
    assert "The knowledge base is archived." in again.text
    assert Job.objects.filter(kind="knowledge.purge_kb").count() == 1
    assert filled.checksums() == before


def test_syncing_a_source_asks_for_a_look(client: Client, filled: Vault) -> None:
    act(client, "sync", filled.source)

    assert Job.objects.filter(kind="knowledge.sync_source").count() == 1


def test_frozen_source_is_not_looked_at(client: Client, filled: Vault) -> None:
    Source.objects.update(frozen_at=timezone.now())

    assert "It is frozen or paused." in act(client, "sync", filled.source).text
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("action", "before", "after"),
    [
        ("reindex", IndexStatus.INDEXED, IndexStatus.QUEUED),
        ("reindex", IndexStatus.FAILED, IndexStatus.QUEUED),
        ("reindex", IndexStatus.PARSING, IndexStatus.PARSING),
        ("reindex", IndexStatus.DELETED, IndexStatus.DELETED),
        ("retry", IndexStatus.FAILED, IndexStatus.QUEUED),
        ("retry", IndexStatus.INDEXED, IndexStatus.INDEXED),
        ("stop", IndexStatus.QUEUED, IndexStatus.FAILED),
        ("stop", IndexStatus.INDEXED, IndexStatus.INDEXED),
        ("leave_out", IndexStatus.INDEXED, IndexStatus.DELETED),
    ],
)
def test_acts_on_documents_depend_on_their_state(
    client: Client, filled: Vault, action: str, before: str, after: str
) -> None:
    Document.objects.filter(source_path="notes/a.md").update(index_status=before)

    text = act(client, action, filled.row("notes/a.md")).text

    assert filled.states()["notes/a.md"] == after
    assert ("Done for 1 row." in text) is (before != after)


def test_excluded_document_stays_out_and_its_exclusion_can_be_lifted(client: Client, filled: Vault) -> None:
    act(client, "leave_out", filled.row("notes/a.md"))
    filled.level()
    assert filled.states()["notes/a.md"] == IndexStatus.DELETED

    act(client, "lift", *Exclusion.objects.filter(path="notes/a.md"))
    filled.level()

    assert filled.states()["notes/a.md"] == IndexStatus.INDEXED


@pytest.mark.parametrize(("model", "action"), [(KnowledgeBase, "archive"), (Document, "reindex"), (Source, "sync")])
def test_acting_needs_the_permission_to_change(filled: Vault, model: Any, action: str) -> None:
    clerk = UserFactory(username="clerk", is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(codename=f"view_{model.__name__.lower()}"))
    client = Client()
    client.force_login(clerk)

    assert client.get(address(model, "changelist")).status_code == 200
    act(client, action, model.objects.order_by("pk").first())

    assert not Job.objects.exists()
    assert not AuditEntry.objects.exists()
