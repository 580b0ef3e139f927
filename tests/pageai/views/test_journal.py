from __future__ import annotations

import json
import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from mnote.models import Access
from mnote.services import users
from pageai.models import EndReason, Run, RunEvent, RunStatus, ToolCall
from pageai.panel.drafts import Draft
from pageai.services import runs, settling, turns
from pageai.views import running
from tests.factories.mnote import GrantFactory
from tests.pageai.views.conftest import Panel, frames_of, wait_until
from tests.pageai.views.run_streams import Browser
from tests.people import People
from tests.stubs.openhub import OpenHubStub
from tests.stubs.openhub_http import Reply

#: How often a browser's stream is killed; more of it with MNOTE_STREAM_KILLS=200.
KILLS = int(os.environ.get("MNOTE_STREAM_KILLS", "12"))


def the_run() -> Run:
    return Run.objects.get()


def ended(reason: str) -> bool:
    return Run.objects.filter(end_reason=reason).exists()


def kinds(run: Run) -> list[str]:
    found = list(RunEvent.objects.filter(run=run).order_by("seq").values_list("kind", flat=True))
    return [kind for number, kind in enumerate(found) if number == 0 or found[number - 1] != kind]


def payloads(kind: str) -> list[dict[str, Any]]:
    return list(RunEvent.objects.filter(kind=kind).order_by("seq").values_list("payload", flat=True))


def answer_of() -> str:
    return "".join(each["text"] for each in payloads("message.delta"))


def settled() -> bool:
    """Settle as the worker does, until nothing is left to look at."""
    left = [settling.settle(pk) for pk in settling.unattended().values_list("pk", flat=True)]
    return True not in left


def everything() -> str:
    rows = RunEvent.objects.values_list("payload", flat=True)
    return json.dumps([*rows, *Run.objects.values()], default=str, ensure_ascii=False)


def test_a_question_becomes_a_run(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()

    panel.frames("hello " * 30)
    wait_until(lambda: ended("done"))

    run = the_run()
    assert kinds(run) == ["run.created", "message.delta", "end", "run.completed"]
    assert answer_of() == "Echo: " + "hello " * 30
    assert (run.status, run.session_id, run.title) == ("completed", panel.session_id, ("hello " * 30)[:119] + "…")
    assert run.provider_run_id.startswith("msg_")
    assert len(run.target_hash) == len(run.capability_hash) == 64


def test_each_question_is_a_run_of_its_own(panels: Any) -> None:
    panel = panels()
    for question in ("one", "two", "three"):
        panel.frames(question)
    wait_until(lambda: Run.objects.filter(end_reason="done").count() == 3)

    heard: dict[str, str] = {}
    for event in RunEvent.objects.filter(kind="message.delta").order_by("run__created_at", "seq"):
        heard[event.run_id] = heard.get(event.run_id, "") + event.payload["text"]
    assert list(heard.values()) == ["Echo: one", "Echo: two", "Echo: three"]


def test_the_same_click_is_one_run(panels: Any, hub: OpenHubStub) -> None:
    panel, other = panels(), panels()
    for each in (panel, other):
        each.session.headers["X-MNote-Request-ID"] = "click-0001"

    with panel.ask("WAIT once") as answer:
        next(frames_of(answer))
        with other.ask("WAIT once") as again:
            hub.world.turns[panel.session_id].go_on.set()
            list(frames_of(again))

    wait_until(lambda: ended("done"))
    assert (the_run().request_id, kinds(the_run()).count("run.created")) == ("click-0001", 1)


def test_tools_changes_and_answers_are_written_without_the_page(panels: Any, hub: OpenHubStub, people: People) -> None:
    GrantFactory(root=people.root, user=people.alice, access=Access.WRITE)
    panel = panels()
    target = people.folder / "new.md"
    question = f"SAYFIRST CALL write {json.dumps({'filePath': str(target), 'content': 'text of the page'})}"

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(panel.frames, question)
        wait_until(lambda: RunEvent.objects.filter(kind="permission.requested").exists())
        waits = the_run().status
        (pending,) = hub.opencode.pending
        allowed = panel.session.post(
            f"{panel.site}/page-ai/{panel.binding.pk}/asks/{pending}", data={"decision": "allow"}, timeout=20
        )
        answer.result()
    wait_until(lambda: ended("done"))

    assert (waits, allowed.status_code) == (RunStatus.INTERRUPTED, 204)
    assert kinds(the_run()) == [
        "run.created", "message.delta", "tool.started", "permission.requested", "permission.answered",
        "tool.completed", "changed_files", "message.delta", "end", "run.completed",
    ]  # fmt: skip
    assert payloads("permission.answered") == [{"requestId": pending, "answer": "allowed"}]
    assert payloads("changed_files")[0]["files"] == [{"path": "new.md", "added": 1, "removed": 0}]
    told = [
        payload for kind in ("tool.started", "tool.completed", "permission.requested") for payload in payloads(kind)
    ]
    assert "text of the page" not in json.dumps(told)
    assert str(people.folder) not in everything()


def test_nothing_of_the_server_is_in_a_journal(panels: Any, hub: OpenHubStub, people: People) -> None:
    words = [str(people.folder), hub.url, hub.opencode_url, hub.jwt_secret, hub.redis.url, hub.opencode.password]

    panels().frames("echo " + " and ".join(words))
    wait_until(lambda: ended("done"))

    assert [word for word in words if word in everything()] == []


def test_a_question_of_the_agent_is_written_with_its_answer(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()
    asked = {"questions": [{"question": "Which colour?", "options": [{"label": "Red"}, {"label": "Blue"}]}]}

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(panel.frames, f"CALL question {json.dumps(asked)}")
        wait_until(lambda: RunEvent.objects.filter(kind="question.asked").exists())
        (wanted,) = hub.opencode.pending
        panel.call("POST", f"question/{wanted}/reply", json={"answers": [["Blue"]]})
        answer.result()
    wait_until(lambda: ended("done"))

    (question,) = payloads("question.asked")
    assert question["questions"] == [{"text": "Which colour?", "choices": ["Red", "Blue"]}]
    assert payloads("question.answered") == [{"requestId": wanted, "answer": "answered"}]


@pytest.mark.parametrize(("question", "reason", "status"), [("FAIL", "failed", "failed"), ("DIE", "cut", "failed")])
def test_a_run_that_goes_wrong_says_how(panels: Any, question: str, reason: str, status: str) -> None:
    panels().frames(question)

    wait_until(lambda: settled() and ended(reason))
    assert the_run().status == status
    assert kinds(the_run())[-1] == f"run.{status}"


def test_stopping_ends_the_run_as_cancelled(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()
    with panel.ask("HANG") as answer:
        frames = frames_of(answer)
        next(frames)
        stopped = panel.session.post(f"{panel.site}/api/page-ai/runs/{the_run().pk}/cancel", timeout=20)
        list(frames)

    wait_until(lambda: ended("cancelled"))
    assert stopped.status_code == 200
    assert the_run().status == "cancelled"


@pytest.mark.parametrize(
    ("reply", "detail"),
    [
        (Reply(status=401, body=b'{"detail": "no"}'), "openhub-401"),
        (Reply(status=500, body=b"Internal Server Error", content_type="text/plain"), "openhub-500"),
        (Reply(status=403, body='{"detail": "本月调用次数已达上限"}'.encode()), "openhub-403"),
    ],
)
def test_a_question_that_openhub_refuses_is_a_failed_run(
    panels: Any, hub: OpenHubStub, reply: Reply, detail: str
) -> None:
    hub.answer_with("/api/query/stream", reply)

    panels().ask("hello")

    wait_until(lambda: ended("failed"))
    assert payloads("run.failed")[0]["detail"] == detail


def test_openhub_that_dies_in_the_middle_leaves_the_run_to_be_settled(panels: Any, hub: OpenHubStub) -> None:
    """The agent works on: what it says after the break is found out from opencode."""
    panel = panels()
    with panel.ask("WAIT long") as answer:
        frames = frames_of(answer)
        [next(frames), next(frames)]
        turn = hub.world.turns[panel.session_id]
        turn._put("break")
        rest = list(frames)
    wait_until(lambda: not turns.standing(binding_id=panel.binding.pk).is_running)
    is_left = [settling.settle(the_run().pk), the_run().status]
    turn.go_on.set()

    wait_until(lambda: settled() and ended("done"))

    assert rest[-1]["type"] == "error"
    assert is_left == [True, RunStatus.INTERRUPTED]
    assert answer_of() == "Echo: long"


def test_opencode_that_restarts_with_a_request_open_ends_the_run(
    panels: Any, hub: OpenHubStub, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_GONE_SECONDS", 1.0)
    GrantFactory(root=people.root, user=people.alice, access=Access.WRITE)
    panel = panels()
    question = f"CALL write {json.dumps({'filePath': str(people.folder / 'new.md'), 'content': 'x'})}"

    with panel.ask(question) as answer:
        frames = frames_of(answer)
        next(frames)
        wait_until(lambda: RunEvent.objects.filter(kind="permission.requested").exists())
        hub.opencode.restart()
        rest = list(frames)

    wait_until(lambda: settled() and not the_run().is_live, seconds=30)
    assert rest[-1]["type"] == "error"
    assert payloads("permission.answered")[0]["answer"] == "gone"
    assert the_run().end_reason in {"cut", "lost"}
    assert not (people.folder / "new.md").exists()
    hub.world.turns[panel.session_id].aborted.set()


def test_events_of_opencode_that_break_off_are_looked_up(panels: Any, hub: OpenHubStub) -> None:
    hub.world.pause_seconds = 0.01
    panel = panels()

    with panel.ask("many words " * 60) as answer:
        frames = frames_of(answer)
        for number, _each in enumerate(frames):
            if number % 10 == 0:
                hub.opencode.hang_up()
    wait_until(lambda: ended("done"))

    assert answer_of() == "Echo: " + "many words " * 60


def test_without_any_event_of_opencode_the_journal_is_whole_in_the_end(panels: Any, hub: OpenHubStub) -> None:
    hub.opencode.is_deaf = True

    panels().frames("SAYFIRST CALL bash {}")
    wait_until(lambda: ended("done"))

    assert kinds(the_run()) == [
        "run.created", "message.delta", "tool.started", "tool.completed", "message.delta", "end", "run.completed"
    ]  # fmt: skip
    assert answer_of() == "Let me use a tool. Done. Tool said: bash ran"


def test_an_account_that_is_closed_ends_run_and_stream(panels: Any, hub: OpenHubStub, people: People) -> None:
    panel = panels("bob")
    with panel.ask("HANG") as answer:
        frames = frames_of(answer)
        next(frames)
        with watch(panel, the_run()) as stream:
            lines = stream.iter_lines(chunk_size=1)
            wait_until(lambda: b"id: " in next(lines))
            users.deactivate(people.bob)
            told = list(lines)
        list(frames)

    wait_until(lambda: ended("signed_out"))
    assert b"event: end" in told
    assert the_run().status == "cancelled"


def test_signing_out_ends_the_stream_and_not_the_run(panels: Any, hub: OpenHubStub) -> None:
    panel, other = panels(), panels()
    with panel.ask("WAIT on") as answer:
        frames = frames_of(answer)
        next(frames)
        with watch(other, the_run()) as stream:
            lines = stream.iter_lines(chunk_size=1)
            wait_until(lambda: b"id: " in next(lines))
            other.session.post(f"{other.site}/sign-out/", timeout=20)
            told = list(lines)
        hub.world.turns[panel.session_id].go_on.set()
        list(frames)

    wait_until(lambda: ended("done"))
    assert json.loads(told[-2].removeprefix(b"data: ")) == {"code": "not-authenticated"}


def test_a_run_that_no_process_reads_is_settled(panels: Any, hub: OpenHubStub) -> None:
    """As after the end of the process that read it: opencode knows how it went."""
    panel = panels()
    panel.frames("first")
    wait_until(lambda: not turns.standing(binding_id=panel.binding.pk).is_running)
    run = runs.begin(binding=panel.binding, wanted=runs.Wanted(title="orphan"))
    session = hub.opencode.sessions[panel.session_id]
    asked = hub.opencode.add_message(session, "user", [{"type": "text", "text": "orphan"}])
    runs.append(run_id=run.pk, drafts=[], provider_run_id=asked["info"]["id"])
    session.is_busy = True

    first = settling.settle(run.pk)
    done = {"time": {"completed": 1}, "finish": "stop"}
    hub.opencode.add_message(session, "assistant", [{"type": "text", "text": "The answer."}], **done)
    session.is_busy = False
    second = settling.settle(run.pk)

    run.refresh_from_db()
    assert (first, second, run.end_reason) == (True, False, EndReason.DONE)
    assert RunEvent.objects.get(run=run, kind="message.delta").payload["text"] == "The answer."


def test_a_run_whose_opencode_stays_away_is_lost(panels: Any, hub: OpenHubStub, settings: Any) -> None:
    panel = panels()
    panel.frames("first")
    wait_until(lambda: not turns.standing(binding_id=panel.binding.pk).is_running)
    run = runs.begin(binding=panel.binding, wanted=runs.Wanted())
    hub.opencode.is_down = True

    first = settling.settle(run.pk)
    Run.objects.filter(pk=run.pk).update(updated_at=run.created_at - settling._UNREACHABLE)
    second = settling.settle(run.pk)

    run.refresh_from_db()
    assert (first, second, run.end_reason, run.status) == (True, False, EndReason.LOST, "failed")
    hub.opencode.is_down = False


def test_a_new_question_finds_no_run_left_open(panels: Any, hub: OpenHubStub) -> None:
    panel = panels()
    panel.frames("first")
    wait_until(lambda: not turns.standing(binding_id=panel.binding.pk).is_running)
    left = runs.begin(binding=panel.binding, wanted=runs.Wanted())

    panel.frames("second")
    wait_until(lambda: Run.objects.filter(end_reason="done").count() >= 2)

    left.refresh_from_db()
    assert not left.is_live


def test_calls_of_tools_name_their_run(panels: Any, hub: OpenHubStub) -> None:
    panels().frames("hello")

    (config,) = hub.opencode.mcp_servers.values()
    assert config["headers"]["X-MNote-Run"] == the_run().pk
    assert not ToolCall.objects.exists()


def test_streams_killed_anywhere_replay_byte_for_byte(panels: Any) -> None:
    """A browser whose stream is killed at random points, while the run goes on, has at the end what one has that was
    never disturbed."""
    panel = panels()
    run = runs.begin(binding=panel.binding, wanted=runs.Wanted(title="kill me"))
    browser, over = Browser(panel, run.pk), threading.Event()

    def write() -> None:
        number = 0
        while not over.wait(0.02):
            number += 1
            drafts = [Draft(kind="message.delta", payload={"text": "字 word " * random.randint(1, 40), "n": number})]
            runs.append(run_id=run.pk, drafts=drafts * random.randint(1, 3))
        runs.end(run_id=run.pk, reason=EndReason.DONE)
        connections.close_all()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while browser.kills < KILLS:
            browser.read(at_most=random.randint(0, 6_000))
    finally:
        over.set()
        writer.join()
    browser.read()

    undisturbed = Browser(panel, run.pk)
    undisturbed.read()
    run.refresh_from_db()
    assert b"".join(browser.received) == b"".join(undisturbed.received)
    assert [int(each[4:22]) for each in browser.received] == list(range(1, run.last_seq + 1))
    assert browser.read() == 204


def test_a_real_turn_whose_streams_are_killed_replays_byte_for_byte(panels: Any, hub: OpenHubStub) -> None:
    hub.world.pause_seconds = 0.02
    panel = panels()
    with panel.ask("SAYFIRST CALL bash " + json.dumps({"command": "x" * 3_000})) as answer:
        next(frames_of(answer))
    run = the_run()
    browser = Browser(panel, run.pk)
    for _each in range(8):
        browser.read(at_most=random.randint(0, 1_500))
    browser.read()

    undisturbed = Browser(panel, run.pk)
    undisturbed.read()
    assert browser.received == undisturbed.received
    assert json.loads(browser.received[-1].split(b"data: ")[1])["kind"] == "run.completed"


def watch(panel: Panel, run: Run) -> Any:
    headers = {"Accept": "text/event-stream"}
    return panel.session.get(f"{panel.site}/api/page-ai/runs/{run.pk}/events", headers=headers, stream=True, timeout=20)
