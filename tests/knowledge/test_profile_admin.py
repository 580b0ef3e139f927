"""The administrator's page of provider profiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from knowledge.models import ProviderProfile
from knowledge.services import profile_checks
from knowledge.services.providers import connection_of
from mnote.models import AuditEntry, Workspace
from tests.factories.knowledge import ProviderProfileFactory
from tests.factories.mnote import UserFactory, WorkspaceFactory
from tests.stubs.weknora import WeKnoraStub, weknora_stub

LIST, ADD = "admin:knowledge_providerprofile_changelist", "admin:knowledge_providerprofile_add"
CHANGE = "admin:knowledge_providerprofile_change"


@pytest.fixture
def stub() -> Iterator[WeKnoraStub]:
    with weknora_stub() as stub:
        yield stub


@pytest.fixture
def client(db: None) -> Client:
    client = Client()
    client.force_login(UserFactory(username="boss", is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def workspace(db: None) -> Workspace:
    return WorkspaceFactory()


def form(stub: WeKnoraStub, workspace: Workspace, **changes: Any) -> dict[str, Any]:
    return {
        "name": "Library", "kind": "weknora", "base_url": stub.url, "tenant_id": "1", "key": stub.key, "key_name": "",
        "embedding_model_id": stub.model.id, "isolation_domain": "here", "workspaces": [workspace.pk],
    } | changes  # fmt: skip


def shows_secrets(response: HttpResponse, stub: WeKnoraStub) -> bool:
    return any(secret.encode() in response.content for secret in (stub.key, stub.url, str(stub.port)))


def test_new_profile_is_checked_at_once_and_shows_no_secret(
    client: Client, stub: WeKnoraStub, workspace: Workspace
) -> None:
    data = form(stub, workspace, _continue="1")

    page = client.post(reverse(ADD), data, follow=True)

    profile = ProviderProfile.objects.get()
    assert "everything that was asked is good" in page.text
    assert "256 dimensions" in page.text
    assert list(profile.workspaces.all()) == [workspace]
    assert profile.edition == "lite"
    assert not shows_secrets(page, stub)
    assert not shows_secrets(client.get(reverse(LIST)), stub)
    logged = f"{list(LogEntry.objects.values_list())} {list(AuditEntry.objects.values_list())}"
    assert not [secret for secret in (stub.key, stub.url) if secret in logged]
    assert AuditEntry.objects.filter(action="profile.create").exists()


def test_saving_without_secrets_keeps_them(client: Client, stub: WeKnoraStub, workspace: Workspace) -> None:
    profile = ProviderProfileFactory(stub=stub, workspaces=[workspace])

    client.post(reverse(CHANGE, args=[profile.pk]), form(stub, workspace, base_url="", key="", name="Archive"))

    profile.refresh_from_db()
    assert profile.name == "Archive"
    assert (connection_of(profile)["url"], connection_of(profile)["key"]) == (stub.url, stub.key)


def test_what_cannot_be_saved_is_said_beside_its_field(client: Client, stub: WeKnoraStub, workspace: Workspace) -> None:
    ProviderProfileFactory(stub=stub, workspaces=[workspace], isolation_domain="elsewhere", tenant_id="9")

    page = client.post(reverse(ADD), form(stub, workspace))

    assert "has a profile of another isolation domain" in page.text
    assert not shows_secrets(page, stub)
    assert ProviderProfile.objects.count() == 1


def test_address_of_a_new_profile_that_was_not_saved_is_not_called_stored(
    client: Client, stub: WeKnoraStub, workspace: Workspace
) -> None:
    page = client.post(reverse(ADD), form(stub, workspace, embedding_model_id="", key="enc:v1:c2VhbGVk"))

    assert page.text.count("not set") == 2
    assert not ProviderProfile.objects.exists()


def test_sealed_form_of_a_key_is_told_from_the_key(client: Client, stub: WeKnoraStub, workspace: Workspace) -> None:
    page = client.post(reverse(ADD), form(stub, workspace, key="enc:v1:c2VhbGVk"))

    assert "the key as the server stores it" in page.text
    assert "c2VhbGVk" not in page.text


def test_broken_server_is_saved_and_told(client: Client, stub: WeKnoraStub, workspace: Workspace) -> None:
    page = client.post(reverse(ADD), form(stub, workspace, key="sk-wrong"), follow=True)

    assert "The server does not take the key" in page.text
    assert ProviderProfile.objects.get().check_json["checks"]


def act(client: Client, name: str, profile: ProviderProfile) -> HttpResponse:
    return client.post(reverse(LIST), {"action": name, "_selected_action": [profile.pk]}, follow=True)


def test_actions_check_archive_and_restore(client: Client, stub: WeKnoraStub) -> None:
    profile = ProviderProfileFactory(stub=stub, checked_at=None)

    assert "everything that was asked is good" in act(client, "check_now", profile).text
    act(client, "archive", profile)
    profile.refresh_from_db()
    assert profile.archived_at is not None
    assert "It is archived already" in act(client, "archive", profile).text
    act(client, "restore", profile)
    profile.refresh_from_db()
    assert profile.archived_at is None


def test_page_says_what_was_seen_by_itself_and_when(client: Client, stub: WeKnoraStub) -> None:
    profile = ProviderProfileFactory(stub=stub)
    page = reverse(CHANGE, args=[profile.pk])
    assert "Not asked yet." in client.get(page).text

    profile_checks.look(lambda: None)
    assert "It answers and takes the key." in client.get(page).text

    stub.world.keys = {}
    ProviderProfile.objects.update(seen_at=None)
    profile_checks.look(lambda: None)
    said = client.get(page)
    assert "The server does not take the key" in said.text
    assert not shows_secrets(said, stub)


def test_profiles_are_filtered_and_searched_and_never_deleted(client: Client, stub: WeKnoraStub) -> None:
    profile = ProviderProfileFactory(stub=stub, archived_at=timezone.now())

    assert profile.name in client.get(reverse(LIST), {"q": profile.name, "archived_at__isempty": "0"}).text
    assert client.get(reverse("admin:knowledge_providerprofile_delete", args=[profile.pk])).status_code == 403


def test_profiles_are_no_business_of_others(stub: WeKnoraStub, db: None) -> None:
    client = Client()
    client.force_login(UserFactory(is_staff=True))

    assert client.get(reverse(LIST)).status_code == 403


def test_form_has_one_button_to_check(client: Client, stub: WeKnoraStub, workspace: Workspace) -> None:
    profile = ProviderProfileFactory(stub=stub, workspaces=[workspace], checked_at=None)
    page = client.get(reverse(CHANGE, args=[profile.pk])).text

    assert page.count('name="_continue"') == 1
    assert "Save and check" in page

    data = form(stub, workspace, base_url="", key="", _continue="Save and check")
    answer = client.post(reverse(CHANGE, args=[profile.pk]), data, follow=True)

    profile.refresh_from_db()
    assert profile.checked_at is not None
    assert "everything that was asked is good" in answer.text
