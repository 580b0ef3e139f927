from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from mnote.exceptions import NotAuthenticated
from pageai.mcp import calls
from pageai.models import BindingStatus, OpenHubBinding
from pageai.services import binding_tokens, bindings, callers, pages
from tests.library import Library


@pytest.fixture
def binding(library: Library) -> OpenHubBinding:
    principal = library.people.principal("carol")
    page = pages.locate(principal=principal, root=library.root, path="notes.txt")
    return bindings.open_binding(principal=principal, page=page).binding


@pytest.fixture
def administrator(library: Library) -> Client:
    alice = library.people.alice
    alice.is_staff = alice.is_superuser = True
    alice.save()
    return library.people.client("alice")


@pytest.mark.parametrize("model", ["openhubbinding", "bindingtoken", "toolcall", "artifactindex", "run", "runevent"])
def test_the_pages_show_and_change_nothing(administrator: Client, binding: OpenHubBinding, model: str) -> None:
    secret = binding_tokens.issue(binding=binding)[1]
    calls.perform(callers.authenticate(secret), "mnote.weknora.search", {"query": "thirty days"})

    page = administrator.get(reverse(f"admin:pageai_{model}_changelist"), {"q": "carol"})

    assert page.status_code == 200
    assert secret.encode() not in page.content
    assert administrator.get(reverse(f"admin:pageai_{model}_add")).status_code == 403


def act(administrator: Client, binding: OpenHubBinding, action: str) -> None:
    data = {"action": action, "_selected_action": [binding.pk]}
    assert administrator.post(reverse("admin:pageai_openhubbinding_changelist"), data).status_code == 302


@pytest.mark.parametrize(
    ("action", "status"), [("archive", BindingStatus.ARCHIVED), ("revoke_tokens", BindingStatus.ACTIVE)]
)
def test_an_administrator_ends_what_a_binding_opens(
    administrator: Client, binding: OpenHubBinding, action: str, status: str
) -> None:
    secret = binding_tokens.issue(binding=binding)[1]

    act(administrator, binding, action)

    binding.refresh_from_db()
    assert binding.status == status
    with pytest.raises(NotAuthenticated):
        binding_tokens.authenticate(secret)
