"""The stub answers as the real OpenHub did: the same statuses, the same shapes, the same order of frames."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests

from pageai.panel.connection import Connection
from pageai.panel.openhub import OpenHub
from tests.stubs.openhub import OpenHubStub
from tests.stubs.openhub_turns import Prompt

_EXCHANGES = json.loads((Path(__file__).parents[2] / "data" / "openhub" / "exchanges.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("recorded", _EXCHANGES, ids=[each["name"] for each in _EXCHANGES])
def test_stub_answers_like_the_recording(recorded: dict[str, Any], hub: OpenHubStub, connection: Connection) -> None:
    scene = Scene(hub, connection)
    scene.prepare(recorded["name"])

    answer = scene.replay(recorded)

    assert answer.status_code == recorded["status"]
    if "frames" in recorded:
        frames = scene.frames_of(answer, recorded["name"])
        assert order_of(frames) == order_of(recorded["frames"])
        assert shapes_of(frames) == shapes_of(recorded["frames"])
    else:
        assert answer.headers["Content-Type"].split(";")[0] == recorded["content_type"].split(";")[0]
        is_json = recorded["content_type"].startswith("application/json")
        given = answer.json() if is_json else answer.text
        assert_fits(given, recorded["body"])


class Scene:
    """Alice's session with a turn in it, bob, and an administrator: what the recordings start from."""

    def __init__(self, hub: OpenHubStub, connection: Connection) -> None:
        self.hub = hub
        self.openhub = OpenHub(connection)
        self.ids: dict[str, str] = {}

    def prepare(self, name: str) -> None:
        world = self.hub.world
        if name in {"create a user", "who am I", "no model permitted", "no sessions"}:
            return
        for username in ("alice", "bob"):
            world.add_user(username).models = {("fake", "fake-1"): 0, ("fake", "fake-2"): 2}
        world.config["default_build_model"] = "fake|fake-1"
        session = self.hub.opencode.create(world.users[2].workspace_path)
        self.ids["ses"] = session.id
        if name not in {"a first prompt", "messages of no session"}:
            self._turns(session.id, name)
        self.hub.redis.is_down = False

    def _turns(self, session_id: str, name: str) -> None:
        written = 'SAYFIRST CALL write {"filePath": "notes.md", "content": "# Notes\\nline two\\n"}'
        list(self.hub.world.prompt(2, session_id, Prompt(question=written)).read())
        session = self.hub.opencode.sessions[session_id]
        if name in {"pending questions", "answer straight"}:
            options = [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]
            question = {"question": "Which colour?", "header": "Colour", "options": options}
            tool = {"messageID": "msg_1", "callID": "call_1"}
            self.ids["que"] = self.hub.opencode.ask("question", session, {"questions": [question], "tool": tool}).facts[
                "id"
            ]
        if name in {"pending permissions", "allow once"}:
            facts = {
                "permission": "bash",
                "patterns": ["echo asked"],
                "metadata": {"command": "echo asked"},
                "always": ["echo *"],
                "tool": {"messageID": "msg_1", "callID": "call_1"},
            }
            self.ids["per"] = self.hub.opencode.ask("permission", session, facts).facts["id"]
        if name == "abort by another user":
            self.hub.world.prompt(2, session_id, Prompt(question="HANG"))

    def replay(self, recorded: dict[str, Any]) -> requests.Response:
        request = recorded["request"]
        is_opencode = recorded["server"] == "opencode"
        base = self.hub.opencode_url if is_opencode else self.hub.url
        headers = {} if is_opencode else self._headers(request["as"])
        if recorded["name"].startswith("redis down"):
            self.hub.redis.is_down = True
        return requests.request(
            request["method"],
            base + self._with_ids(request["path"]),
            params=self._pinned(request.get("query")),
            json=self._body(request.get("json")),
            headers=headers,
            auth=("opencode", self.hub.opencode.password) if is_opencode else None,
            stream=True,
            timeout=10,
        )

    def frames_of(self, answer: requests.Response, name: str) -> list[dict[str, Any]]:
        """Read a stream to its end, doing meanwhile what the person did."""
        frames = []
        for line in answer.iter_lines():
            if line.startswith(b"data: "):
                frames.append(json.loads(line[6:]))
                self._react(frames[-1], name)
        return frames

    def _react(self, frame: dict[str, Any], name: str) -> None:
        if name == "aborted" and frame["type"] == "step-start":
            self.hub.world.turns[self.ids["ses"]].aborted.set()
        if frame["type"] == "question.asked":
            pending = self.hub.opencode.pending[frame["id"]]
            pending.answer = {"answers": [["Blue"]]}
            pending.answered.set()

    def _headers(self, person: str) -> dict[str, str]:
        if person == "nobody":
            return {}
        if person == "forger":
            return {"Authorization": "Bearer made.up.token"}
        number = {"admin": 1, "alice": 2, "bob": 3}[person]
        now = datetime.now(UTC)
        is_admin = person == "admin"
        token = self.openhub.token_for(user_id=number, username=person, now=now, is_admin=is_admin)
        return {"Authorization": f"Bearer {token}"}

    def _with_ids(self, path: str) -> str:
        return re.sub(r"\b(ses|que|per)_(?!nope)\w+", lambda found: self.ids.get(found[1], found[0]), path)

    def _pinned(self, query: dict[str, str] | None) -> dict[str, str]:
        at = self.hub.world.users[2].workspace_path if 2 in self.hub.world.users else "/"
        return {name: at if name == "directory" else value for name, value in (query or {}).items()}

    def _body(self, body: Any) -> Any:
        if not isinstance(body, dict):
            return body
        text = self._with_ids(json.dumps(body))
        if "SLEEP" in text:
            text = text.replace("SLEEP20 hello", "HANG")
        return json.loads(text.replace("/ws/alice/", ""))


def order_of(frames: list[dict[str, Any]]) -> list[str]:
    """The types in their order, equal neighbours once; of tools also the state."""
    names = [each["type"] + (f":{each['state']}" if each["type"] == "tool" else "") for each in frames]
    return [name for index, name in enumerate(names) if index == 0 or names[index - 1] != name]


def shapes_of(frames: list[dict[str, Any]]) -> dict[str, set[str]]:
    return {each["type"]: set(each) for each in frames}


def assert_fits(given: Any, recorded: Any, at: str = "body") -> None:
    """Fail unless both have the same keys and types all the way down. Of lists the first items are compared."""
    assert type(given) is type(recorded), f"{at}: {given!r} is not like {recorded!r}"
    if isinstance(recorded, dict):
        missing = {key for key, _value in _important(recorded)} - set(given)
        assert not missing, f"{at}: {missing} missing"
        for key, value in _important(recorded):
            assert_fits(given[key], value, f"{at}.{key}")
    if isinstance(recorded, list) and recorded:
        assert given, f"{at}: empty"
        assert_fits(given[0], recorded[0], f"{at}[0]")


def _important(recorded: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Counters of money and tokens are nothing that the host looks at."""
    yield from ((key, value) for key, value in recorded.items() if key not in {"cost", "tokens", "ms"})
