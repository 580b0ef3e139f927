from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from pageai.panel.drafts import Draft, size_of
from pageai.panel.frames import Frame
from pageai.panel.opencode import Request
from pageai.panel.scribe import Scribe, Snapshot
from pageai.panel.scrubbing import Scrub

SESSION, FOLDER = "ses_1", "/srv/notes"


def scribe(**more: Any) -> Scribe:
    return Scribe(Scrub(FOLDER, {}), session_id=SESSION, directory=FOLDER, **more)


class Agent:
    """opencode's side of one turn: tells events, and has the messages."""

    def __init__(self) -> None:
        self.events: list[Frame] = []
        self.messages: list[dict[str, Any]] = []

    def tell(self, kind: str, **facts: Any) -> None:
        properties = json.loads(json.dumps({"sessionID": SESSION} | facts))
        self.events.append(Frame(raw=b"", data={"type": kind, "properties": properties}))

    def message(self, message_id: str, role: str, **more: Any) -> dict[str, Any]:
        made = {"info": {"id": message_id, "role": role, "sessionID": SESSION} | more, "parts": []}
        self.messages.append(made)
        self.tell("message.updated", info=made["info"])
        return made

    def part(self, message: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
        whole = {"messageID": message["info"]["id"], "sessionID": SESSION} | part
        message["parts"].append(whole)
        self.tell("message.part.updated", part=whole)
        return whole

    def say(self, message: dict[str, Any], part_id: str, text: str, *, size: int = 5) -> None:
        part = self.part(message, {"id": part_id, "type": "text", "text": ""})
        for start in range(0, len(text), size):
            piece = text[start : start + size]
            part["text"] += piece
            facts = {"messageID": part["messageID"], "partID": part_id, "field": "text", "delta": piece}
            self.tell("message.part.delta", **facts)
        self.tell("message.part.updated", part=part)

    def call(self, message: dict[str, Any], tool: str, given: Any, output: str, **more: Any) -> None:
        known = {"id": f"prt_{tool}", "type": "tool", "tool": tool, "callID": f"call_{tool}"}
        part = self.part(message, {**known, "state": {"status": "pending", "input": {}}})
        for state in ({"status": "running", "input": given}, {"status": "completed", "input": given, "output": output}):
            part["state"] = state | (more if state["status"] == "completed" else {})
            self.tell("message.part.updated", part=part)

    def snapshot(self, **more: Any) -> Snapshot:
        return Snapshot(messages=self.messages, **more)


def turn() -> Agent:
    agent = Agent()
    asked = agent.message("msg_1", "user")
    agent.part(asked, {"id": "prt_q", "type": "text", "text": "What stands in the note?"})
    first = agent.message("msg_2", "assistant")
    agent.say(first, "prt_a", "Let me look. ")
    agent.call(first, "read", {"filePath": f"{FOLDER}/a.md"}, "# The whole page\n" * 50)
    second = agent.message("msg_3", "assistant", finish="stop", time={"completed": 1})
    agent.say(second, "prt_b", "Three months, as /srv/notes/a.md says. " * 40)
    agent.tell("session.idle")
    return agent


def heard(keeper: Scribe, events: list[Frame]) -> list[Draft]:
    drafts = [draft for each in events for draft in keeper.hear(each)]
    return [*drafts, *keeper.flush(is_all=True)]


def text_of(drafts: list[Draft]) -> str:
    return "".join(each.payload["text"] for each in drafts if each.kind == "message.delta")


def kinds(drafts: list[Draft]) -> list[str]:
    return [each.kind for each in drafts if each.kind != "message.delta"]


def test_a_turn_becomes_events() -> None:
    keeper = scribe()

    drafts = heard(keeper, turn().events)

    assert kinds(drafts) == ["tool.started", "tool.completed"]
    assert text_of(drafts) == "Let me look. " + "Three months, as a.md says. " * 40
    assert (keeper.anchor, keeper.is_idle, keeper.is_finished) == ("msg_1", True, True)


def test_words_are_put_together() -> None:
    drafts = heard(scribe(), turn().events)

    assert len([each for each in drafts if each.kind == "message.delta"]) <= 6


def test_neither_question_nor_page_text_is_written() -> None:
    drafts = heard(scribe(), turn().events)

    told = json.dumps([dict(each.payload) for each in drafts])
    assert "What stands" not in told
    assert "The whole page" not in told
    assert FOLDER not in told


@pytest.mark.parametrize("seed", range(60))
def test_gaps_anywhere_lose_and_repeat_nothing(seed: int) -> None:
    """Events are lost in any number of gaps; after each, opencode is looked at, as far as it had come by then."""
    chance = random.Random(seed)
    agent = turn()
    keeper, drafts, lost = scribe(), [], False
    for number, event in enumerate(agent.events):
        if chance.random() < 0.1:
            lost = not lost
            if not lost:
                keeper.reconnected()
                drafts += keeper.look(after(agent, number))
        if not lost:
            drafts += keeper.hear(event)
        if chance.random() < 0.1:
            drafts += keeper.flush()
    drafts += [*keeper.look(agent.snapshot()), *keeper.flush(is_all=True)]

    whole = heard(scribe(), agent.events)
    assert by_part(drafts) == by_part(whole)
    assert sorted(kinds(drafts)) == sorted(kinds(whole))


def after(agent: Agent, number: int) -> Snapshot:
    """What opencode has stored after some events: whole parts as they were last told."""
    messages: dict[str, dict[str, Any]] = {}
    for event in agent.events[:number]:
        facts = event.data["properties"]
        if event.type == "message.updated":
            messages.setdefault(facts["info"]["id"], {"info": facts["info"], "parts": {}})
        elif event.type == "message.part.updated":
            messages[facts["part"]["messageID"]]["parts"][facts["part"]["id"]] = facts["part"]
    return Snapshot(messages=[each | {"parts": list(each["parts"].values())} for each in messages.values()])


def by_part(drafts: list[Draft]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for each in drafts:
        if each.kind == "message.delta":
            texts[each.payload["partId"]] = texts.get(each.payload["partId"], "") + each.payload["text"]
    return texts


def test_a_journal_is_gone_on_with_where_it_was_left() -> None:
    agent = turn()
    first = scribe()
    before = [draft for event in agent.events[:12] for draft in first.hear(event)] + list(first.flush())

    second = scribe(anchor="msg_1")
    taken = {
        each.payload["partId"]: (each.payload["messageId"], each.payload["offset"] + each.payload["length"])
        for each in before
        if each.kind == "message.delta"
    }
    second.restore(taken=taken, told=[each.key for each in before if each.kind != "message.delta"])
    rest = [*second.look(agent.snapshot()), *second.flush(is_all=True)]

    assert by_part([*before, *rest]) == by_part(heard(scribe(), agent.events))
    assert kinds([*before, *rest]) == ["tool.started", "tool.completed"]


def test_an_earlier_turn_is_not_taken_for_this_one() -> None:
    agent = turn()
    agent.message("msg_8", "user")
    later = agent.message("msg_9", "assistant")
    agent.say(later, "prt_z", "Another answer.")

    keeper = scribe(anchor="msg_1")
    drafts = [*keeper.look(agent.snapshot()), *keeper.flush(is_all=True)]

    assert "Another answer" not in text_of(drafts)


def test_ten_megabytes_of_output_are_cut_with_a_mark() -> None:
    agent = Agent()
    agent.call(agent.message("msg_2", "assistant"), "bash", {"command": "yes"}, "y\n" * 5_000_000)

    (ended,) = [each for each in heard(scribe(), agent.events) if each.kind == "tool.completed"]

    assert (ended.payload["outputBytes"], ended.payload["outputCut"]) == (10_000_000, True)
    assert size_of(ended.payload) < 2_000


def test_a_storm_of_the_same_event_is_one_event() -> None:
    agent = Agent()
    message = agent.message("msg_2", "assistant")
    agent.call(message, "bash", {"command": "ls"}, "a.md")
    storm = agent.events * 2_000

    assert kinds(heard(scribe(), storm)) == ["tool.started", "tool.completed"]


def test_a_storm_of_other_events_has_an_end() -> None:
    agent = Agent()
    for number in range(25_000):
        agent.tell("permission.asked", id=f"per_{number}", permission="bash", patterns=["*"], metadata={})
    keeper = scribe()

    drafts = heard(keeper, agent.events)

    assert (len(drafts), keeper.dropped) == (20_000, 5_000)


def test_changed_files_are_named_below_the_root() -> None:
    agent = Agent()
    diff = "--- a\n+++ b\n@@ -1 +1,2 @@\n-old\n+new\n+more\n"
    given = {"filePath": f"{FOLDER}/b/c.md", "content": "new text of the page"}
    metadata = {"filepath": f"{FOLDER}/b/c.md", "diff": diff}
    agent.call(agent.message("msg_2", "assistant"), "write", given, "Wrote file.", metadata=metadata)

    drafts = heard(scribe(), agent.events)

    (changed,) = [each for each in drafts if each.kind == "changed_files"]
    assert changed.payload["files"] == [{"path": "b/c.md", "added": 2, "removed": 1}]
    assert "new text" not in json.dumps([dict(each.payload) for each in drafts])


def test_citations_of_our_tools_become_evidence() -> None:
    agent = Agent()
    place = {"rootUri": "file:///srv/notes", "resourcePath": "a.md", "kind": "lines", "lineStart": 3, "quote": "secret"}
    found = {
        "evidenceId": "ev_1",
        "title": "A",
        "source": place,
        "citationUrl": "/w/x/open/a.md",
        "citationLabel": "A · 3",
    }
    agent.call(agent.message("msg_2", "assistant"), "kb_1_mnote_evidence_search", {}, json.dumps({"results": [found]}))

    (ended,) = [each for each in heard(scribe(), agent.events) if each.kind == "tool.completed"]

    assert ended.payload["evidenceIds"] == ["ev_1"]
    assert ended.payload["evidence"][0]["locator"] == {"kind": "lines", "resourcePath": "a.md", "lineStart": 3}
    assert "secret" not in json.dumps(ended.payload)


def test_requests_are_asked_and_answered_once() -> None:
    agent = Agent()
    facts = {"id": "per_1", "permission": "edit", "patterns": ["a.md"], "metadata": {"filepath": f"{FOLDER}/a.md"}}
    for _each in range(2):
        agent.tell("permission.asked", **facts)
    keeper = scribe()
    asked = heard(keeper, agent.events)
    waits = dict(keeper.open_requests)
    agent.tell("permission.replied", requestID="per_1", reply="reject")

    answered = heard(keeper, agent.events)

    assert (kinds(asked), kinds(answered)) == (["permission.requested"], ["permission.answered"])
    assert asked[0].payload["path"] == "a.md"
    assert answered[0].payload == {"requestId": "per_1", "answer": "declined"}
    assert (waits, keeper.open_requests) == ({"per_1": "permission"}, {})


def test_a_request_that_is_gone_after_a_restart_is_closed() -> None:
    keeper = scribe()
    list(keeper.look(Snapshot(requests=[Request(id="per_1", session_id=SESSION, permission="bash")])))

    (closed,) = keeper.look(Snapshot())

    assert closed.payload == {"requestId": "per_1", "answer": "gone"}
    assert not keeper.open_requests


@pytest.mark.parametrize(
    ("error", "is_aborted"),
    [
        ({"name": "MessageAbortedError", "data": {"message": "Aborted"}}, True),
        ({"name": "APIError", "data": {}}, False),
    ],
)
def test_errors_and_aborts_are_told_apart(error: dict[str, Any], is_aborted: bool) -> None:
    agent = Agent()
    agent.tell("session.error", error=error)
    keeper = scribe()

    drafts = heard(keeper, agent.events)

    assert (keeper.was_aborted, bool(keeper.error)) == (is_aborted, not is_aborted)
    assert kinds(drafts) == ([] if is_aborted else ["error"])


@pytest.mark.parametrize(
    "properties",
    [None, [], "x", {}, {"sessionID": "ses_other", "part": {}}, {"sessionID": SESSION, "part": None},
     {"sessionID": SESSION, "info": []}, {"sessionID": SESSION, "part": {"type": "tool", "state": 3}},
     {"sessionID": SESSION, "part": {"type": "text", "messageID": "msg_2", "text": 7}},
     {"sessionID": SESSION, "partID": 4, "delta": {}}, {"sessionID": SESSION, "id": None, "questions": 1},
     {"sessionID": SESSION, "todos": {"a": 1}}, {"sessionID": SESSION, "error": "x", "status": "y"}],
)  # fmt: skip
@pytest.mark.parametrize(
    "kind",
    ["message.updated", "message.part.updated", "message.part.delta", "permission.asked", "permission.replied",
     "question.asked", "todo.updated", "session.error", "session.status", "", "server.heartbeat"],
)  # fmt: skip
def test_events_of_another_form_break_nothing(kind: str, properties: Any) -> None:
    for each in heard(scribe(), [Frame(raw=b"", data={"type": kind, "properties": properties})]):
        assert size_of(each.payload) < 1_000


def test_a_recorded_turn_of_opencode_reads_the_same_live_and_looked_up() -> None:
    folder = Path(__file__).parents[2] / "data" / "openhub"
    recorded = folder / "opencode-turn.json"
    given = json.loads(recorded.read_text())
    session = given["messages"][0]["info"]["sessionID"]

    live = Scribe(Scrub("/srv/lab/ws2", {}), session_id=session, directory="/srv/lab/ws2")
    looked = Scribe(Scrub("/srv/lab/ws2", {}), session_id=session, directory="/srv/lab/ws2")
    events = [Frame(raw=b"", data=each) for each in given["events"]]
    found = [*looked.look(Snapshot(messages=given["messages"])), *looked.flush(is_all=True)]

    assert by_part(heard(live, events)) == by_part(found) != {}
    assert live.is_finished
    assert looked.is_finished
