from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import HttpResponse

from mnote.models import Access
from mnote.services import users
from pageai.models import OpenHubBinding
from tests.factories.mnote import GrantFactory
from tests.library import Library

URL = "/api/page-ai/bootstrap"
SCOPES = [
    "mnoteUserId", "workspaceId", "rootUri", "openhubUserKey", "openhubWorkspaceKey", "openhubSessionScope",
    "opencodeSessionScope", "skillScope", "toolPermissionScope", "weknoraToolScope",
]  # fmt: skip
LAYERS = [
    "openhub_fastapi", "openhub_redis", "opencode", "weknora", "local", "session_binding", "mnote_bridge",
    "mcp_facade",
]  # fmt: skip


def opened(library: Library, name: str, **more: Any) -> HttpResponse:
    body = {**library.scope, "pagePath": "guide/contracts.md", **more}
    return library.people.client(name).post(URL, body, content_type="application/json")


def test_bootstrap_names_identities_scopes_and_context(library: Library) -> None:
    body = opened(library, "carol", pageTitle="Contracts", selection="thirty days").json()

    assert all(body[name] for name in SCOPES)
    assert body["mnoteUserId"] == str(library.people.carol.pk)
    assert body["weknoraToolScope"]["knowledgeBaseIds"] == [library.kb.pk]
    assert body["context"]["page"] == {
        "title": "Contracts",
        "path": "guide/contracts.md",
        "resourceId": "local-md:guide~2Fcontracts.md",
        "ownerDocumentId": "local-md:guide~2Fcontracts.md",
    }
    assert body["context"]["selection"] == "thirty days"
    assert body["panelUrl"] is None


def test_bootstrap_tells_no_secret_and_no_page(library: Library) -> None:
    text = json.dumps({**opened(library, "carol").json(), "rootUri": ""})

    assert "Either party" not in text
    assert "mnb_" not in text
    assert "mnote_session" not in text
    assert str(library.people.folder) not in text.replace(library.root.root_uri, "")


def test_a_reload_resumes_the_binding(library: Library) -> None:
    first = opened(library, "carol").json()["binding"]
    query = {**library.scope, "pageResourceId": "local-md:guide~2Fcontracts.md"}

    again = library.people.client("carol").get(URL, query).json()["binding"]

    assert (again["bindingId"], first["isResumed"], again["isResumed"]) == (first["bindingId"], False, True)
    assert OpenHubBinding.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"pagePath": "../guide/contracts.md"}, 404),
        ({"pagePath": "guide"}, 404),
        ({"pagePath": ""}, 400),
        ({"selection": "x" * 2_001}, 400),
        ({"rootUri": "file:///etc"}, 404),
        ({"workspaceId": "ws_none"}, 404),
    ],
)
def test_bootstrap_refuses_what_is_no_page(library: Library, change: dict[str, Any], status: int) -> None:
    assert opened(library, "carol", **change).status_code == status
    assert not OpenHubBinding.objects.exists()


def test_bootstrap_tells_what_is_closed(library: Library) -> None:
    GrantFactory(root=library.root, user=library.people.carol, prefix="private", access=Access.NONE)
    GrantFactory(root=library.root, user=library.people.carol, prefix="guide", access=Access.WRITE)

    context = opened(library, "carol").json()["context"]

    assert (context["closedPaths"], context["writablePaths"]) == (["private"], ["guide"])
    assert context["allowedRoots"] == ["", "guide"]


def test_two_people_share_no_scope(library: Library) -> None:
    one, other = opened(library, "carol").json(), opened(library, "bob").json()

    shared = {name for name in SCOPES if one[name] == other[name]}
    assert shared == {"workspaceId", "rootUri", "openhubWorkspaceKey"}
    assert one["binding"]["bindingId"] != other["binding"]["bindingId"]


def test_every_layer_speaks_in_words(library: Library) -> None:
    body = library.people.client("carol").get("/api/page-ai/health").json()

    assert list(body) == LAYERS
    for name in ("openhub_fastapi", "openhub_redis", "opencode"):
        assert (body[name]["configured"], body[name]["reachable"], body[name]["sentence"]) == (
            False,
            False,
            "Not set up here.",
        )
    for name in ("local", "mnote_bridge", "mcp_facade", "session_binding"):
        assert body[name]["reachable"] is True, name


def test_a_layer_that_is_down_says_so_and_names_no_address(library: Library, settings: Any) -> None:
    settings.MNOTE_OPENHUB_URL = settings.MNOTE_OPENCODE_URL = "http://127.0.0.1:1"
    settings.MNOTE_OPENHUB_REDIS_URL, settings.MNOTE_OPENHUB_JWT_SECRET = "redis://127.0.0.1:1/0", "x" * 40

    response = library.people.client("carol").get("/api/page-ai/health")

    for name, sentence in {
        "openhub_fastapi": "OpenHub does",
        "openhub_redis": "OpenHub's Redis",
        "opencode": "opencode",
    }.items():
        found = response.json()[name]
        assert (found["configured"], found["reachable"], found["ok"]) == (True, False, False)
        assert found["sentence"].startswith(sentence)
    assert b"127.0.0.1" not in response.content


def test_the_facade_says_that_knowledge_is_off(library: Library) -> None:
    users.set_preferences(user=library.people.carol, values={"ai.common.knowledge": False})

    body = library.people.client("carol").get("/api/page-ai/health").json()

    assert "switched off" in body["mcp_facade"]["sentence"]
