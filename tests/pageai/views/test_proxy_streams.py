from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
from django.db import connection
from django.test import Client

from mnote.exceptions import NotAuthenticated
from mnote.models import Access
from mnote.services import users
from pageai.models import ArtifactIndex, ArtifactKind
from pageai.services import binding_tokens, turns
from pageai.views import running
from tests.factories.mnote import GrantFactory
from tests.pageai.views.conftest import Panel, frames_of, kinds, said, wait_until
from tests.people import People
from tests.stubs.openhub import OpenHubStub
from tests.stubs.openhub_http import Reply
from tests.stubs.openhub_turns import Prompt


def test_question_is_answered_in_the_root(panels: Any, hub: OpenHubStub, people: People) -> None:
    panel = panels()

    frames = panel.frames("hello")

    assert kinds(frames) == ["session", "step-start", "text", "step-finish", "message_complete", "session_idle"]
    assert said(frames) == "Echo: hello"
    assert hub.opencode.sessions[panel.session_id].directory == str(people.folder)


def test_second_question_goes_on_with_the_same_conversation(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()
    panel.frames("one")

    panel.frames("two")

    assert list(hub.world.sessions) == [panel.session_id]


def test_stream_says_what_a_stream_has_to_say_to_proxies(panels: Any) -> None:
    with panels().ask("hello") as answer:
        headers = answer.headers

        assert headers["Content-Type"].startswith("text/event-stream")
        assert headers["X-Accel-Buffering"] == "no"
        assert "no-transform" in headers["Cache-Control"]
        assert not {"Set-Cookie", "Access-Control-Allow-Origin", "Content-Encoding"} & set(headers)


def test_words_reach_the_browser_while_the_turn_still_runs(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()

    with panel.ask("WAIT now") as answer:
        frames = frames_of(answer)
        first = [next(frames)["type"], next(frames)["type"]]
        is_running = panel.session_id in hub.world.turns
        hub.world.turns[panel.session_id].go_on.set()
        rest = list(frames)

    assert (first, is_running) == (["session", "step-start"], True)
    assert said(rest) == "Echo: now"


def test_upstream_never_hears_of_the_browser(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()

    given = {"Authorization": "Bearer host-managed", "X-Forwarded-For": "10.0.0.1", "Origin": panel.site}
    panel.session.headers.update(given)
    panel.frames("hello")

    (asked,) = [each for each in hub.asked if each.path == "/api/query/stream"]
    assert not {"cookie", "origin", "referer", "x-csrftoken", "x-forwarded-for"} & set(asked.headers)
    assert asked.headers["authorization"] != "Bearer host-managed"


def test_no_token_outlives_its_request(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()

    panel.frames("hello")
    panel.call("GET", "sessions")

    assert not hub.redis.values


def test_session_model_and_session_id_are_those_of_the_host(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()

    panel.frames("hello", directory="/etc", user_id=1)

    (asked,) = [each for each in hub.asked if each.path == "/api/query/stream"]
    assert asked.json() == {
        "question": "hello",
        "conversation_id": panel.session_id,
        "agent": "build",
        "model": {"providerID": "fake", "modelID": "fake-1"},
    }


def test_model_that_is_not_permitted_is_refused_before_anything_is_asked(panels: Any, hub: OpenHubStub) -> None:
    answer = panels().ask("hello", model={"providerID": "opencode", "modelID": "big-pickle"})

    assert (answer.status_code, answer.json()["code"]) == (403, "model-not-permitted")
    assert not [each for each in hub.asked if each.path == "/api/query/stream"]


def test_one_question_at_a_time(panels: Any, hub: OpenHubStub) -> None:
    panel, other = panels(), panels()

    with panel.ask("WAIT first") as answer:
        frames = frames_of(answer)
        next(frames)
        refused = other.ask("second")
        hub.world.turns[panel.session_id].go_on.set()
        list(frames)

    assert (refused.status_code, refused.json()["code"]) == (409, "turn-running")
    assert [each.content for each in hub.world.rows if each.role == "user"] == ["WAIT first"]


def test_the_same_question_asked_again_joins_the_running_turn(panels: Any, hub: OpenHubStub) -> None:
    panel, other = panels(), panels()

    with panel.ask("WAIT once") as answer:
        next(frames_of(answer))
        with other.ask("WAIT once") as again:
            hub.world.turns[panel.session_id].go_on.set()
            frames = list(frames_of(again))

    assert said(frames) == "Echo: once"
    assert len([each for each in hub.asked if each.path == "/api/query/stream"]) == 1


def test_stream_cut_by_openhub_ends_with_an_error_and_is_not_asked_again(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()

    frames = panel.frames("DIE")

    assert said(frames) == "Echo: half an ans"
    assert (frames[-1]["type"], frames[-1]["done"]) == ("error", True)
    assert len([each for each in hub.asked if each.path == "/api/query/stream"]) == 1


def test_after_a_cut_the_next_question_is_answered(panels: Any) -> None:
    panel = panels()
    panel.frames("DIE")

    wait_until(lambda: not turns.standing(binding_id=panel.binding.pk).is_running)

    assert said(panel.frames("hello")) == "Echo: hello"


def test_turn_goes_on_to_its_end_when_the_browser_leaves(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()
    with panel.ask("WAIT long words in several pieces") as answer:
        frames = frames_of(answer)
        [next(frames), next(frames)]
    hub.world.turns[panel.session_id].go_on.set()
    wait_until(lambda: not turns.standing(binding_id=panel.binding.pk).is_running)

    rows = panel.call("GET", f"sessions/{panel.session_id}/messages").json()["data"]

    assert [each["content"] for each in rows] == [
        "WAIT long words in several pieces",
        "Echo: long words in several pieces",
    ]
    assert len([each for each in hub.asked if each.path == "/api/query/stream"]) == 1


def test_end_of_a_turn_that_nobody_saw_waits_for_the_browser_that_comes_back(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()
    with panel.ask("WAIT unseen") as answer:
        frames = frames_of(answer)
        [next(frames), next(frames)]
    wait_until(lambda: not running.turn_of(panel.binding.pk).relay.is_watched)
    hub.world.turns[panel.session_id].go_on.set()
    wait_until(lambda: not turns.standing(binding_id=panel.binding.pk).is_running)

    with panel.reconnect() as again:
        rest = list(frames_of(again))

    assert said(rest) == "Echo: unseen"


def test_reconnecting_while_the_turn_runs_goes_on_where_the_browser_left(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()
    with panel.ask("WAIT more") as answer:
        frames = frames_of(answer)
        [next(frames), next(frames)]

    with panel.reconnect() as again:
        hub.world.turns[panel.session_id].go_on.set()
        rest = list(frames_of(again))

    assert said(rest) == "Echo: more"
    assert len([each for each in hub.asked if "reconnect" in each.path]) == 0


def test_reconnecting_when_nothing_runs_is_idle(panels: Any) -> None:
    panel = panels()
    panel.frames("hello")
    wait_until(lambda: not turns.standing(binding_id=panel.binding.pk).is_running)

    with panel.reconnect() as answer:
        frames = list(frames_of(answer))

    assert [each["type"] for each in frames] == ["session_idle"]


def test_turn_that_openhub_still_runs_after_a_restart_is_taken_up(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()
    panel.frames("hello")
    wait_until(lambda: not turns.standing(binding_id=panel.binding.pk).is_running)
    orphan = hub.world.prompt(2, panel.session_id, Prompt(question="WAIT orphan"))

    with panel.reconnect() as answer:
        frames = frames_of(answer)
        first = next(frames)["type"]
        orphan.go_on.set()
        rest = list(frames)

    assert first == "session_reconnected"
    assert said(rest) == "Echo: orphan"


def test_abort_ends_the_turn(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()
    with panel.ask("HANG") as answer:
        frames = frames_of(answer)
        next(frames)
        stopped = panel.call("POST", "query/abort", json={"question": "abort", "conversation_id": panel.session_id})
        rest = list(frames)

    assert stopped.json()["success"] is True
    assert "aborted" in kinds(rest)


def test_retry_asks_the_last_question_again(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()
    panel.frames("hello")
    wait_until(lambda: not turns.standing(binding_id=panel.binding.pk).is_running)

    with panel.call("POST", f"sessions/{panel.session_id}/retry", stream=True) as answer:
        frames = list(frames_of(answer))

    assert said(frames) == "Echo: hello"


@pytest.mark.parametrize(
    ("reply", "status", "code"),
    [
        (Reply(body=b"<html>nginx</html>", content_type="text/html"), 503, "panel-unavailable"),
        (Reply(status=502, body=b"<html>", content_type="text/html"), 503, "panel-unavailable"),
        (Reply(status=500, body=b"Internal Server Error", content_type="text/plain"), 503, "panel-unavailable"),
        (Reply(status=302, headers={"Location": "http://evil.example/"}), 503, "panel-unavailable"),
        (Reply(status=403, body='{"detail": "本月调用次数已达上限"}'.encode()), 403, "panel-refused"),
    ],
)
def test_answer_that_is_no_stream_is_told_plainly(
    panels: Any, hub: OpenHubStub, reply: Reply, status: int, code: str
) -> None:
    panel = panels()
    hub.answer_with("/api/query/stream", reply)

    answer = panel.ask("hello")

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert "evil" not in answer.text
    hub.answer_with("/api/query/stream", None)
    wait_until(lambda: not turns.standing(binding_id=panel.binding.pk).is_running)
    assert said(panel.frames("hello")) == "Echo: hello"


def test_stream_that_falls_silent_ends_with_an_error(panels: Any, hub: OpenHubStub, settings: Any) -> None:
    settings.MNOTE_OPENHUB_SILENCE_SECONDS = 1.0

    frames = panels().frames("HANG")

    assert frames[-1]["type"] == "error"


def test_heartbeats_keep_a_quiet_turn_alive(panels: Any, hub: OpenHubStub, settings: Any) -> None:
    settings.MNOTE_OPENHUB_SILENCE_SECONDS = 1.0
    hub.world.heartbeat_seconds = 0.2
    panel = panels()

    with panel.ask("WAIT slow") as answer:
        frames = frames_of(answer)
        beats = [next(each for each in frames if each["type"] == "heartbeat") for _each in range(8)]
        hub.world.turns[panel.session_id].go_on.set()
        rest = list(frames)

    assert len(beats) == 8
    assert said(rest) == "Echo: slow"


def test_closing_the_account_ends_stream_and_turn_at_once(panels: Any, hub: OpenHubStub, people: People) -> None:
    panel = panels("bob")

    with panel.ask("HANG") as answer:
        frames = frames_of(answer)
        next(frames)
        users.deactivate(people.bob)
        rest = list(frames)

    assert rest[-1]["type"] == "error"
    wait_until(lambda: not hub.world.turns)


def test_signing_out_ends_the_stream(panels: Any, hub: OpenHubStub, people: People) -> None:
    panel = panels("bob")
    name = "mnote_session"
    client = Client()
    client.cookies[name] = panel.session.cookies[name]

    with panel.ask("HANG") as answer:
        frames = frames_of(answer)
        next(frames)
        client.logout()
        rest = list(frames)

    assert rest[-1]["type"] == "error"


@pytest.mark.parametrize("how", ["signed out", "closed"])
def test_who_is_gone_has_no_open_stream_and_no_key(panels: Any, hub: OpenHubStub, people: People, how: str) -> None:
    panel = panels("bob")
    events = f"{panel.site}/page-ai/{panel.binding.pk}/events"

    with panel.ask("WAIT on") as answer, panel.session.get(events, stream=True, timeout=20) as news:
        frames, lines = frames_of(answer), news.iter_lines(chunk_size=1)
        next(frames)
        next(lines)
        (server,) = hub.opencode.mcp_servers.values()
        key = server["headers"]["Authorization"].removeprefix("Bearer ")
        assert binding_tokens.authenticate(key).binding_id == panel.binding.pk
        cookie = panel.session.cookies["mnote_session"]
        if how == "closed":
            users.deactivate(people.bob)
        else:
            panel.session.post(f"{panel.site}/sign-out/", timeout=20)
        rest, told = list(frames), list(lines)

    assert rest[-1]["type"] == "error"
    assert b"event: end" in told
    with pytest.raises(NotAuthenticated):
        binding_tokens.authenticate(key)
    panel.session.cookies.set("mnote_session", cookie)
    again = [panel.call("GET", "sessions"), panel.session.get(events, timeout=20), panel.session.get(f"{panel.base}/")]
    assert [each.status_code for each in again] == [401] * 3
    assert not hub.redis.values
    if how == "signed out":  # the turn itself goes to its end, as when a browser leaves
        hub.world.turns[panel.session_id].go_on.set()
    wait_until(lambda: not hub.world.turns)
    wait_until(lambda: not turns.standing(binding_id=panel.binding.pk).is_running)


def test_one_person_holds_so_many_streams_of_news_and_no_more(
    panels: Any, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnote.api.events._STREAMS_PER_USER", 2)
    alice, bob = panels("alice"), panels("bob")

    def news(panel: Panel) -> requests.Response:
        url = f"{panel.site}/page-ai/{panel.binding.pk}/events"
        return panel.session.get(url, stream=True, timeout=20)

    with news(alice) as first, news(alice) as second:
        lines = [each.iter_lines(chunk_size=1) for each in (first, second)]  # kept: without them the streams end
        for each in lines:
            next(each)
        third = news(alice)
        with news(bob) as other:
            found = [first.status_code, second.status_code, third.status_code, other.status_code]
    wait_until(lambda: news(alice).status_code == 200)

    assert found == [200, 200, 429, 200]


def test_losing_the_right_to_the_root_ends_stream_and_turn(panels: Any, hub: OpenHubStub, people: People) -> None:
    panel = panels("bob")

    with panel.ask("HANG") as answer:
        frames = frames_of(answer)
        next(frames)
        GrantFactory(root=people.root, user=people.bob, access=Access.NONE)
        rest = list(frames)

    assert rest[-1]["type"] == "error"
    wait_until(lambda: not hub.world.turns)


def test_two_people_at_once_see_nothing_of_each_other(panels: Any, hub: OpenHubStub) -> None:
    hub.world.pause_seconds = 0.005
    people_at = {name: panels(name) for name in ("alice", "bob", "carol")}

    with ThreadPoolExecutor(3) as pool:
        answers = {name: pool.submit(panel.frames, f"{name} " * 30) for name, panel in people_at.items()}
        heard = {name: said(each.result()) for name, each in answers.items()}

    assert heard == {name: "Echo: " + f"{name} " * 30 for name in people_at}
    assert len({panel.session_id for panel in people_at.values()}) == 3


def test_changed_files_are_noted_and_shown_by_their_path_below_the_root(
    panels: Any, hub: OpenHubStub, people: People
) -> None:
    GrantFactory(root=people.root, user=people.alice, access=Access.WRITE)
    panel = panels()
    target = people.folder / "草稿 & #1 100%.md"
    question = f"CALL write {json.dumps({'filePath': str(target), 'content': 'new'})}"

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(panel.frames, question)
        wait_until(lambda: hub.opencode.pending)
        (pending,) = hub.opencode.pending.values()
        pending.answer = {"reply": "once"}
        pending.answered.set()
        frames = answer.result()

    assert str(people.folder) not in json.dumps(frames, ensure_ascii=False)
    wait_until(ArtifactIndex.objects.exists)
    (noted,) = ArtifactIndex.objects.all()
    assert noted.kind == ArtifactKind.CHANGED_FILE
    assert (noted.payload_json["path"], noted.payload_json["added"]) == (target.name, 1)


def test_agent_may_not_write_without_a_grant(panels: Any, hub: OpenHubStub, people: People) -> None:
    target = people.folder / "new.md"

    panels("carol").frames(f"CALL write {json.dumps({'filePath': str(target), 'content': 'new'})}")

    assert not target.exists()
    assert not hub.opencode.pending


def test_agent_is_told_its_page_once_and_never_in_the_question(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()

    panel.frames("one")
    panel.frames("two")

    notes = hub.opencode.said_to(hub.opencode.sessions[panel.session_id])
    assert len(notes) == 1
    assert '"local-md:a.md"' in notes[0]
    assert [each.content for each in hub.world.rows if each.role == "user"] == ["one", "two"]


def test_agent_is_told_anew_what_was_selected(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()
    panel.frames("one")
    turns.select(binding=panel.binding, text="three months")

    panel.frames("two")

    notes = hub.opencode.said_to(hub.opencode.sessions[panel.session_id])
    assert ["three months" in note for note in notes] == [False, True]


def test_agent_gets_a_key_for_the_tools_of_this_conversation_only(panels: Any, hub: OpenHubStub) -> None:
    alice, bob = panels("alice"), panels("bob")

    alice.frames("one")
    bob.frames("two")

    servers = hub.opencode.mcp_servers
    assert len(servers) == 2
    assert len({each["headers"]["Authorization"] for each in servers.values()}) == 2


def test_no_database_connection_is_held_while_streaming(panels: Any, hub: OpenHubStub) -> None:
    """On SQLite a connection that reads on would keep the log from being written back."""
    panel = panels()

    with panel.ask("HANG") as answer:
        next(frames_of(answer))
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                assert cursor.fetchone()[0] == 0
            else:
                cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'")
                assert cursor.fetchone()[0] == 0
        panel.call("POST", "query/abort", json={"conversation_id": panel.session_id})


@pytest.mark.parametrize("layer", ["openhub_redis", "opencode"])
def test_layer_that_is_down_is_named(panels: Any, hub: OpenHubStub, layer: str) -> None:
    panel = panels()
    hub.redis.is_down, hub.opencode.is_down = layer == "openhub_redis", layer == "opencode"

    answer = panel.ask("hello")

    assert (answer.status_code, answer.json()["code"], answer.json()["layer"]) == (503, "panel-unavailable", layer)
    hub.redis.is_down = hub.opencode.is_down = False
    assert said(panel.frames("hello")) == "Echo: hello"
