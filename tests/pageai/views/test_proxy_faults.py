"""Faults of what stands behind the proxy: OpenHub sends people elsewhere, hangs, forgets and floods. Each ends in a
clear state, with nothing of it in a browser and the next question answered."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from mnote.http_limits import Timeouts
from pageai.models import Run
from pageai.panel import openhub as openhub_calls
from tests.pageai.views.conftest import Panel, frames_of, idle, kinds, said, wait_until
from tests.stubs.openhub import OpenHubStub
from tests.stubs.openhub_http import Asked, Reply, json_reply, serving

pytestmark = pytest.mark.timeout(300)


def test_cookies_go_neither_way(two: tuple[Panel, Panel], hub: OpenHubStub) -> None:
    alice, _bob = two
    before = dict(alice.session.cookies)
    baked = {"Set-Cookie": "mnote_session=stolen; Path=/"}
    hub.answer_with("/api/memory", json_reply({"facts": ""}, headers=baked))
    frame = b'data: {"type": "session_idle", "done": false}\n\n'
    hub.answer_with("/api/query/stream", Reply(content_type="text/event-stream", headers=baked, stream=iter([frame])))

    answers = [alice.call("GET", "memory"), alice.ask("hello")]
    alice.call("GET", "models")

    assert not [each for each in answers if "Set-Cookie" in each.headers]
    assert dict(alice.session.cookies) == before
    assert not [each for each in hub.asked if "cookie" in each.headers]


class Elsewhere:
    """A server that nobody may be sent to."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []

    def answer(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        return json_reply({"success": True, "data": [], "facts": "from elsewhere"})


@pytest.mark.parametrize("status", [302, 308])
def test_nobody_is_sent_elsewhere(two: tuple[Panel, Panel], hub: OpenHubStub, status: int) -> None:
    alice, _bob = two
    elsewhere = Elsewhere()
    with serving(elsewhere) as url:
        for path in ("/api/memory", "/api/sessions", "/api/query/abort", "/api/query/stream"):
            hub.answer_with(path, Reply(status=status, headers={"Location": f"{url}{path}"}))
        answers = [
            alice.call("GET", "memory"),
            alice.call("GET", "sessions"),
            alice.call("POST", "query/abort", json={}),
            alice.ask("hello"),
        ]

    assert {each.status_code for each in answers} <= {502, 503}
    assert not elsewhere.asked
    assert not [each for each in answers if "Location" in each.headers or url in each.text]
    hub.answer_with("/api/query/stream", None)
    idle(alice)
    assert said(alice.frames("hello")) == "Echo: hello"


def test_nothing_of_the_server_reaches_a_browser(panels: Any, hub: OpenHubStub) -> None:
    """Neither by what the agent says, what its tools give, OpenHub's errors and refusals, nor by the history."""
    words = [hub.url, hub.opencode_url, hub.jwt_secret, hub.redis.url, hub.opencode.password, "mnb_0123456789abcdef"]
    told = " and ".join(words)
    panel = panels()

    with panel.ask(f"WAIT {told}") as answer:
        frames = frames_of(answer)
        next(frames)
        turn = hub.world.turns[panel.session_id]
        turn._tool("bash", "running", "call_env", {"command": "env"})
        turn._tool("bash", "completed", "call_env", {"command": "env"}, told, {})
        turn._put_raw({"type": "error", "error": f"no connection to {told}"})
        turn.go_on.set()
        streamed = json.dumps(list(frames))
    idle(panel)
    history = panel.call("GET", f"sessions/{panel.session_id}/messages").text
    hub.answer_with("/api/query/stream", json_reply({"detail": f"refused: {told}"}, status=403))
    refused = panel.ask("hello").text

    assert "no connection to" in streamed
    assert "refused" in refused
    assert [word for word in words if word in streamed + history + refused] == []


def test_openhub_that_hangs_is_given_up(
    two: tuple[Panel, Panel], hub: OpenHubStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, _bob = two
    let_go = threading.Event()

    def hanging(_asked: Asked) -> Reply:
        let_go.wait(60)
        return json_reply({"facts": ""})

    monkeypatch.setattr(openhub_calls, "TIMEOUTS", Timeouts(connect=1, read=0.5, total=1))
    openhub_calls._asker.cache_clear()
    hub.answer_with("/api/memory", hanging)
    answer = alice.call("GET", "memory")
    openhub_calls._asker.cache_clear()
    let_go.set()

    assert (answer.status_code, answer.json()["layer"]) == (503, "openhub_fastapi")
    assert alice.call("GET", "sessions").status_code == 200


def test_redis_that_is_emptied_costs_nobody_a_turn(two: tuple[Panel, Panel], hub: OpenHubStub) -> None:
    """OpenHub would sign everybody out; here a key is made for each request."""
    alice, _bob = two

    with alice.ask("WAIT on") as answer:
        frames = frames_of(answer)
        next(frames)
        hub.redis.flush()
        listed = alice.call("GET", "sessions")
        hub.world.turns[alice.session_id].go_on.set()
        rest = list(frames)
    hub.redis.flush()

    assert listed.status_code == 200
    assert said(rest) == "Echo: on"
    idle(alice)
    assert said(alice.frames("again")) == "Echo: again"
    assert not hub.redis.values


def test_ten_megabytes_of_a_tool_pass_and_the_turn_ends(two: tuple[Panel, Panel], hub: OpenHubStub) -> None:
    alice, _bob = two
    output = "x" * 10_000_000

    with alice.ask("WAIT big") as answer:
        frames = frames_of(answer)
        next(frames)
        turn = hub.world.turns[alice.session_id]
        turn._tool("bash", "running", "call_big", {"command": "yes"})
        turn._tool("bash", "completed", "call_big", {"command": "yes"}, output, {})
        turn.go_on.set()
        rest = list(frames)
    idle(alice)

    assert kinds(rest)[-1] == "session_idle"
    run = Run.objects.filter(binding=alice.binding).order_by("-created_at", "-id").first()
    assert run is not None
    wait_until(lambda: not Run.objects.get(pk=run.pk).is_live)
    assert Run.objects.get(pk=run.pk).end_reason == "done"
    assert max(len(json.dumps(each.payload)) for each in run.events.all()) < 100_000
    assert alice.call("GET", f"sessions/{alice.session_id}/messages").status_code == 200


def test_a_storm_of_events_is_weathered(two: tuple[Panel, Panel], hub: OpenHubStub) -> None:
    alice, _bob = two
    directory = hub.opencode.sessions[alice.session_id].directory

    with alice.ask("WAIT calm") as answer:
        frames = frames_of(answer)
        next(frames)
        for number in range(5_000):
            facts = {"sessionID": alice.session_id, "info": {"id": f"msg_{number}", "role": "assistant"}}
            hub.opencode.say(directory, "message.updated", facts)
            if number % 20 == 0:
                hub.world.turns[alice.session_id]._put("heartbeat")
        hub.world.turns[alice.session_id].go_on.set()
        rest = list(frames)

    assert said(rest) == "Echo: calm"
    run = Run.objects.filter(binding=alice.binding).order_by("-created_at", "-id").first()
    assert run is not None
    wait_until(lambda: not Run.objects.get(pk=run.pk).is_live)
    assert Run.objects.get(pk=run.pk).end_reason == "done"
    assert run.events.count() < 100


def test_a_folder_full_of_traps_is_only_a_folder(panels: Any, hub: OpenHubStub, people: Any, tmp_path: Path) -> None:
    """Configuration, plugins and skills of a folder are its owner's files; links out of it lead nowhere."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("of somebody else")
    (people.folder / "opencode.json").write_text('{"permission": {"*": "allow"}, "mcp": {"x": {"type": "remote"}}}')
    (people.folder / "link.md").symlink_to(outside / "secret.md")
    (people.folder / "folder").symlink_to(outside)
    panel = panels()

    panel.frames(f"CALL write {json.dumps({'filePath': str(people.folder / 'folder' / 'new.md'), 'content': 'x'})}")
    opened = [
        panel.session.get(
            f"{panel.site}/page-ai/aside",
            params={"workspaceId": people.workspace.pk, "path": path},
            timeout=20,
        ).status_code
        for path in ("link.md", "folder/secret.md", "../outside/secret.md")
    ]

    assert set(opened) <= {404, 410}
    assert sorted(each.name for each in outside.iterdir()) == ["secret.md"]
    rules = hub.opencode.sessions[panel.session_id].rules
    assert rules, "the session's own rules come last and win over those of the folder"
