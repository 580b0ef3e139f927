"""What the panel needs of an OpenHub, asked through MNote's own proxy: of the stub, and of real ones that are named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from pageai.models import PanelIdentity, PanelPolicy
from pageai.panel import routes
from pageai.panel.openhub import OpenHub, Snapshots
from pageai.services import turns
from tests.conformance.openhubs import HUBS, Hub
from tests.pageai.views.conftest import Panel, frames_of, kinds, said, wait_until
from tests.people import People, make_people

pytestmark = [pytest.mark.conformance, pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

#: Long enough for a real model.
_PATIENCE = 240.0


@pytest.fixture(params=HUBS, ids=str)
def hub(request: pytest.FixtureRequest, tmp_path: Path, settings: Any, transactional_db: None) -> Iterator[Hub]:
    with HUBS[request.param](tmp_path) as found:
        at = found.connection
        settings.MNOTE_OPENHUB_URL, settings.MNOTE_OPENCODE_URL = at.openhub_url, at.opencode_url
        settings.MNOTE_OPENHUB_JWT_SECRET, settings.MNOTE_OPENHUB_REDIS_URL = at.jwt_secret, at.redis_url
        settings.MNOTE_OPENCODE_USERNAME = at.opencode_username
        settings.MNOTE_OPENCODE_PASSWORD = at.opencode_password
        yield found
        for identity in PanelIdentity.objects.all():
            OpenHub(at).close(identity.openhub_user_id, now=timezone.now())


@pytest.fixture
def people(hub: Hub) -> People:
    return make_people(hub.folder / "notes")


def settled(panel: Panel) -> None:
    wait_until(lambda: not turns.standing(binding_id=panel.binding.pk).is_running, seconds=_PATIENCE)


def talked(panels: Any, name: str = "alice", path: str = "a.md") -> Panel:
    """A conversation with one finished turn."""
    panel: Panel = panels(name, path=path)
    with panel.ask("Say hello in one word. Use no tool.") as answer:
        assert answer.status_code == 200, answer.text
        frames = list(frames_of(answer))
    assert said(frames).strip(), frames
    settled(panel)
    return panel


def rows(panel: Panel) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = panel.call("GET", f"sessions/{panel.session_id}/messages").json()["data"]
    return found


def test_it_proves_that_no_folder_is_committed(hub: Hub) -> None:
    assert OpenHub(hub.connection).snapshots(now=timezone.now()) is Snapshots.OFF


def test_a_user_is_made_once_and_has_a_folder_of_its_own(hub: Hub, panels: Any, people: People) -> None:
    panel = panels()
    first = [panel.call("GET", path).status_code for path in ("auth/me", "models", "skills", "memory")]

    (identity,) = PanelIdentity.objects.all()
    again = OpenHub(hub.connection).ensure_user(identity.openhub_username, now=timezone.now())

    assert first == [200] * 4
    assert again.id == identity.openhub_user_id
    assert Path(again.workspace_path).is_absolute()
    assert not Path(again.workspace_path).is_relative_to(people.folder)


def test_models_are_those_of_the_policy(hub: Hub, panels: Any, people: People) -> None:
    [first, *_] = OpenHub(hub.connection).reachable_models(now=timezone.now())
    PanelPolicy.objects.create(workspace=people.workspace, models_json=[{"model": first.name}])

    found = panels().call("GET", "models").json()["data"]["models"]

    assert [(each["providerID"], each["modelID"]) for each in found] == [(first.provider_id, first.model_id)]


def test_a_token_counts_until_it_is_dropped(hub: Hub, panels: Any) -> None:
    panels().call("GET", "auth/me")
    identity, openhub = PanelIdentity.objects.get(), OpenHub(hub.connection)
    token = openhub.token_for(user_id=identity.openhub_user_id, username=identity.openhub_username, now=timezone.now())

    before = openhub.ask("GET", "/api/auth/me", token=token).status
    openhub.drop_token(token)

    assert (before, openhub.ask("GET", "/api/auth/me", token=token).status) == (200, 401)


def test_a_question_is_streamed_to_its_end_in_the_root(hub: Hub, panels: Any, people: People) -> None:
    panel = panels()

    with panel.ask("Say hello in one word. Use no tool.") as answer:
        frames = list(frames_of(answer))

    names = kinds(frames)
    assert (names[0], names[-1]) == ("session", "session_idle")
    assert "message_complete" in names
    assert said(frames).strip()
    assert frames[0]["conversation_id"] == panel.session_id
    assert hub.session(panel.session_id, str(people.folder))["directory"] == str(people.folder)


def test_history_has_what_was_said_and_goes_on(hub: Hub, panels: Any) -> None:
    panel = talked(panels)
    session_id = panel.session_id
    with panel.ask("And once more.") as answer:
        list(frames_of(answer))
    settled(panel)

    found, listed = rows(panel), panel.call("GET", "sessions").json()["data"]

    assert panel.session_id == session_id
    assert [each["content"] for each in found if each["role"] == "user"] == [
        "Say hello in one word. Use no tool.",
        "And once more.",
    ]
    assert all(each["content"] for each in found if each["role"] == "assistant")
    assert [each["db_id"] for each in found] == sorted(each["db_id"] for each in found)
    assert [each["session_id"] for each in listed] == [session_id]


def test_a_turn_is_stopped_and_the_next_question_answered(hub: Hub, panels: Any) -> None:
    panel = panels()
    with panel.ask(hub.slow) as answer:
        frames = frames_of(answer)
        next(each for each in frames if each["type"] == "step-start")
        stopped = panel.call("POST", "query/abort", json={"question": "abort", "conversation_id": panel.session_id})
        rest = list(frames)
    settled(panel)

    assert stopped.json()["success"] is True
    assert "aborted" in kinds(rest)
    with panel.ask("Say hello in one word. Use no tool.") as answer:
        assert said(list(frames_of(answer))).strip()


def test_the_last_turn_is_asked_again_and_taken_back(hub: Hub, panels: Any) -> None:
    panel = talked(panels)

    with panel.call("POST", f"sessions/{panel.session_id}/retry", stream=True) as answer:
        frames = list(frames_of(answer))
    settled(panel)
    undone = panel.call("DELETE", f"sessions/{panel.session_id}/messages/last-turn")

    assert said(frames).strip()
    assert undone.json()["success"] is True
    assert rows(panel) == []


def test_coming_back_to_a_finished_turn_is_idle(hub: Hub, panels: Any) -> None:
    panel = talked(panels)

    with panel.reconnect() as answer:
        assert [each["type"] for each in frames_of(answer)] == ["session_idle"]


def test_what_is_not_allowed_does_not_exist(hub: Hub, panels: Any) -> None:
    panel = panels()
    values = {"session_id": "ses_none", "question_id": "que_none", "image_id": "1", "skill_name": "demo"}
    tried = [
        (method, re.sub(r"\{(\w+)(:path)?\}", lambda found: values.get(found[1], "1"), path))
        for method, path in hub.operations()
        if path.startswith("/api/")
    ]
    refused = [(method, path) for method, path in tried if routes.match(method, path) is None]

    answers = {panel.call(method, path.removeprefix("/api/"), json={}).status_code for method, path in refused}

    assert len(refused) > 80
    assert answers == {404}


def test_two_people_have_nothing_in_common(hub: Hub, panels: Any, people: People) -> None:
    alice, bob = talked(panels, "alice"), talked(panels, "bob")
    theirs, before = alice.session_id, rows(alice)
    calls = [
        ("GET", f"sessions/{theirs}/messages", {}),
        ("POST", f"sessions/{theirs}/retry", {}),
        ("DELETE", f"sessions/{theirs}/messages/last-turn", {}),
        ("GET", "query/stream/reconnect", {"params": {"session_id": theirs}}),
        ("POST", "query/stream", {"json": {"question": "hello", "conversation_id": theirs}}),
        ("POST", "query/abort", {"json": {"question": "abort", "conversation_id": theirs}}),
        ("POST", "session/archive", {"json": {"session_id": theirs}}),
    ]

    answers = [bob.call(method, path, **parts).status_code for method, path, parts in calls]

    assert answers == [404] * len(calls)
    assert rows(alice) == before
    assert [each["session_id"] for each in bob.call("GET", "sessions").json()["data"]] == [bob.session_id]


def test_their_users_at_openhub_are_two(hub: Hub, panels: Any, people: People) -> None:
    alice, _bob = talked(panels, "alice"), talked(panels, "bob")
    identities, openhub = {each.user: each for each in PanelIdentity.objects.all()}, OpenHub(hub.connection)
    bobs = identities[people.bob]
    token = openhub.token_for(user_id=bobs.openhub_user_id, username=bobs.openhub_username, now=timezone.now())

    answer = openhub.ask("GET", f"/api/sessions/{alice.session_id}/messages", token=token)
    openhub.drop_token(token)

    assert len({each.openhub_user_id for each in identities.values()}) == 2
    assert answer.status in {403, 404}
