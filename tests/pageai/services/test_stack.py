"""What `check_stack` says of Page AI, with OpenHub as a stub behind it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils.html import escape

from knowledge.models import ProviderKind
from pageai.services import bindings, health
from tests.factories.knowledge import KnowledgeBaseFactory, ProviderProfileFactory
from tests.pageai.panel.settings import connect
from tests.pageai.panel.visits import bind
from tests.people import People, make_people
from tests.stubs.openhub import OpenHubStub, openhub_stub
from tests.stubs.openhub_app import write_app
from tests.stubs.openhub_http import Reply, json_reply

pytestmark = pytest.mark.django_db

NAMES = ["openhub", "openhub_redis", "opencode", "snapshots", "panel_pages", "session_binding"]
KNOWLEDGE = ["local", "providers"]


@pytest.fixture
def hub(tmp_path: Path, settings: Any) -> Iterator[OpenHubStub]:
    with openhub_stub(tmp_path / "openhub") as stub:
        connect(settings, stub, write_app(tmp_path / "app"))
        yield stub


@pytest.fixture
def people(tmp_path: Path) -> People:
    return make_people(tmp_path / "notes")


def reports() -> dict[str, dict[str, Any]]:
    out = StringIO()
    with contextlib.suppress(SystemExit):
        call_command("check_stack", json=True, stdout=out, stderr=StringIO())
    return {each["name"]: each for each in json.loads(out.getvalue()) if each["name"] in NAMES + KNOWLEDGE}


def broken() -> list[str]:
    return [name for name, each in reports().items() if not each["is_ok"]]


def test_all_is_well(hub: OpenHubStub) -> None:
    found = reports()

    assert [name for name in found if name not in KNOWLEDGE] == NAMES
    assert not broken()
    assert found["opencode"]["version"] == "1.18.33"
    assert {found[name]["sentence"] for name in NAMES} == {"", "No page has a conversation yet."}


def test_what_nobody_set_up_is_not_broken() -> None:
    found = reports()

    assert not broken()
    assert {found[name]["sentence"] for name in NAMES[:-1]} == {"Not set up here."}


def openhub_fails(hub: OpenHubStub) -> None:
    hub.answer_with("/api/auth/me", Reply(status=500, body=b"Internal Server Error", content_type="text/plain"))


def redis_is_down(hub: OpenHubStub) -> None:
    hub.redis.is_down = True


def opencode_is_down(hub: OpenHubStub) -> None:
    hub.opencode.is_down = True


def folders_are_committed(hub: OpenHubStub) -> None:
    hub.guard = json_reply({"snapshots": "on", "proof": "a snapshot was taken"})


def nothing_proves_it(hub: OpenHubStub) -> None:
    hub.guard = None


@pytest.mark.parametrize(
    ("happens", "names", "sentence"),
    [
        (openhub_fails, ["openhub"], "OpenHub does not answer. Reading, search and citations work"),
        # Without it OpenHub signs nobody in, so it cannot be asked for its proof either.
        (redis_is_down, ["openhub", "openhub_redis", "snapshots"], "OpenHub's Redis does not answer"),
        (opencode_is_down, ["opencode"], "opencode does not answer. Conversations can be read"),
        (folders_are_committed, ["snapshots"], "OpenHub commits people's folders. Start it with"),
        (nothing_proves_it, ["snapshots"], "OpenHub cannot prove that it commits no folder."),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_broken_layer_is_named(
    hub: OpenHubStub, happens: Callable[[OpenHubStub], None], names: list[str], sentence: str
) -> None:
    happens(hub)

    assert broken() == names
    assert sentence in " ".join(each["sentence"] for each in reports().values())


def conversation_is_lost(hub: OpenHubStub, people: People, settings: Any) -> None:
    session = hub.opencode.create(str(people.folder))
    bindings.attach_sessions(binding=bind(people), openhub_session_id=session.id, opencode_session_id=session.id)
    assert not broken()
    hub.opencode.sessions.clear()


def index_cannot_be_written(hub: OpenHubStub, people: People, settings: Any) -> None:
    blocked = people.folder.parent / "a file"
    blocked.write_text("where a folder is wanted")
    settings.MNOTE_INDEX_DIR = blocked / "indexes"


def weknora_is_down(hub: OpenHubStub, people: People, settings: Any) -> None:
    profile = ProviderProfileFactory(base_url="http://127.0.0.1:1", name="Library", workspaces=[people.workspace])
    KnowledgeBaseFactory(owner=people.alice, root=people.root, provider=ProviderKind.WEKNORA, profile=profile)


#: What happens, the layer of check_stack and of the health answer that says so, and how the panel names it.
_HAPPENS = [
    (lambda hub, _people, _settings: openhub_fails(hub), "openhub", "openhub_fastapi", "OpenHub"),
    (lambda hub, _people, _settings: redis_is_down(hub), "openhub_redis", "openhub_redis", "Redis"),
    (lambda hub, _people, _settings: opencode_is_down(hub), "opencode", "opencode", "opencode"),
    (conversation_is_lost, "session_binding", "session_binding", "Conversation"),
    (index_cannot_be_written, "local", "local", "Index"),
    (weknora_is_down, "providers", "weknora", "WeKnora"),
]


@pytest.mark.parametrize(("happens", "layer", "key", "shown"), _HAPPENS, ids=[each[1] for each in _HAPPENS])
def test_check_health_and_panel_say_the_same_of_a_broken_layer(
    hub: OpenHubStub, people: People, settings: Any, happens: Any, layer: str, key: str, shown: str
) -> None:
    path = page(people)
    happens(hub, people, settings)

    said = reports()[layer]
    alice = people.client("alice")
    told = alice.get("/api/page-ai/health").json()[key]
    panel = alice.get("/page-ai/aside", {"workspaceId": people.workspace.pk, "path": path}).content.decode()

    assert said["is_ok"] is told["ok"] is False
    assert said["sentence"]
    assert said["sentence"] == told["sentence"]
    assert f"<b>{shown}</b> {escape(said['sentence'])}" in panel
    assert "127.0.0.1" not in said["sentence"]
    assert str(people.folder.parent) not in said["sentence"]


def test_pages_of_an_unknown_version_are_named(hub: OpenHubStub, settings: Any, tmp_path: Path) -> None:
    (tmp_path / "app" / "index.html").write_text("<!doctype html><title>another product</title>")

    assert broken() == ["panel_pages"]


def test_redis_that_is_also_ours_is_an_error_in_every_place(hub: OpenHubStub, people: People, settings: Any) -> None:
    settings.CELERY_BROKER_URL = hub.redis.url.replace("127.0.0.1", "localhost")

    assert "OpenHub's Redis is MNote's own" in reports()["openhub_redis"]["sentence"]
    assert "openhub_redis" in broken()
    told = people.client("alice").get("/api/page-ai/health").json()["openhub_redis"]
    assert (told["reachable"], told["ok"]) == (True, False)
    assert "a database number of its own" in told["sentence"]
    panel = people.client("alice").get("/page-ai/aside", {"workspaceId": people.workspace.pk, "path": page(people)})
    assert "Redis is MNote" in panel.content.decode()


def page(people: People) -> str:
    (people.folder / "a.md").write_text("# A\n")
    return "a.md"


def test_redis_with_another_number_is_not_ours(hub: OpenHubStub, settings: Any) -> None:
    settings.CELERY_BROKER_URL = hub.redis.url.replace("/3", "/4")

    assert not broken()


def test_only_what_is_a_redis_is_compared(settings: Any) -> None:
    settings.CELERY_BROKER_URL = "folder://localhost/"
    settings.CACHES = {**settings.CACHES, "other": {"LOCATION": "rediss://cache.example/1"}}

    assert health.own_redis_urls() == {"rediss://cache.example/1"}
