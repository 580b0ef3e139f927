"""opencode as MNote and OpenHub use it, with state: pinned sessions, what waits for a person, an event bus."""

from __future__ import annotations

import base64
import fnmatch
import itertools
import json
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.stubs.openhub_http import Asked, BrokenOff, Reply, json_reply

VERSION = "1.18.33"


@dataclass(slots=True)
class Session:
    id: str
    directory: str
    title: str = ""
    rules: list[dict[str, str]] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    is_busy: bool = False

    def action_for(self, permission: str, pattern: str) -> str:
        """The last rule that matches decides; without one everything is allowed."""
        action = "allow"
        for rule in self.rules:
            if fnmatch.fnmatchcase(permission, rule["permission"]) and fnmatch.fnmatchcase(pattern, rule["pattern"]):
                action = rule["action"]
        return action


@dataclass(slots=True)
class Pending:
    """A question or a permission request that waits for a person."""

    kind: str
    session: Session
    facts: dict[str, Any]
    answered: threading.Event = field(default_factory=threading.Event)
    answer: Any = None


class OpencodeStub:
    """`heartbeat_seconds` is the pause between signs of life on the event bus, which it lacks when it `is_deaf`.
    `lands_in` is where sessions work whatever was asked for. `work` answers a question that it is asked itself, `stop`
    ends that. `pending_seconds` is how long it takes to say what waits for a person."""

    def __init__(self, *, password: str = "oc-password") -> None:
        self.password = password
        self.asked: list[Asked] = []
        self.sessions: dict[str, Session] = {}
        self.pending: dict[str, Pending] = {}
        self.mcp_servers: dict[str, dict[str, Any]] = {}
        self.is_down = self.is_deaf = False
        self.pending_seconds = 0.0
        self.lands_in = ""
        self.work: Callable[[Session, str], None] = lambda _session, _text: None
        self.stop: Callable[[Session], None] = lambda _session: None
        self.heartbeat_seconds = 10.0
        self._numbers = itertools.count(1)
        self._listeners: list[tuple[str, queue.Queue[dict[str, Any]]]] = []
        self._lock = threading.Lock()

    def new_id(self, prefix: str) -> str:
        return f"{prefix}_{next(self._numbers):012x}StubStubStubSt"

    def answer(self, asked: Asked) -> Reply:
        if self.is_down:
            return Reply(status=502, body=b"Bad Gateway", content_type="text/plain")
        if (
            asked.headers.get("authorization")
            != "Basic " + base64.b64encode(f"opencode:{self.password}".encode()).decode()
        ):
            return Reply(status=401, headers={"WWW-Authenticate": 'Basic realm="Secure Area"'})
        directory = asked.query.get("directory", "/")
        parts = asked.path.strip("/").split("/")
        if parts[0] in {"permission", "question"}:
            time.sleep(self.pending_seconds)
            return self._of_pending(asked, parts, directory)
        if parts[0] == "session" and len(parts) > 1 and parts[1] in self.sessions:
            return self._session(asked, self.sessions[parts[1]], parts[2:])
        return self._of_server(asked, parts, directory)

    def _of_server(self, asked: Asked, parts: list[str], directory: str) -> Reply:
        match asked.method, parts:
            case "GET", ["global", "health"]:
                return json_reply({"healthy": True, "version": VERSION})
            case "GET", ["path"]:
                return json_reply({"worktree": "/", "directory": directory, "home": "/root", "state": "", "config": ""})
            case "POST", ["session"]:
                return json_reply(self._described(self.create(directory, asked.json())))
            case "GET", ["session", "status"]:
                return json_reply({each.id: {"type": "busy"} for each in self._of(directory) if each.is_busy})
            case "GET", ["event"] if not self.is_deaf:
                return Reply(content_type="text/event-stream", stream=self._events(directory))
            case "POST", ["mcp"]:
                return self._add_mcp(asked.json())
        return json_reply({"name": "NotFoundError", "data": {"message": "Session not found"}}, status=404)

    def _of_pending(self, asked: Asked, parts: list[str], directory: str) -> Reply:
        match asked.method, parts:
            case "GET", [kind]:
                return json_reply([one.facts for one in self._pending_in(kind, directory)])
            case "POST", [kind, wanted, "reply"]:
                return self._reply(kind, wanted, directory, asked.json())
            case "POST", [kind, wanted, "reject"]:
                return self._reply(kind, wanted, directory, {"reply": "reject"})
        return json_reply({"name": "NotFoundError", "data": {"message": "no such route"}}, status=404)

    def create(self, directory: str, wanted: dict[str, Any] | None = None) -> Session:
        given = wanted or {}
        made = Session(
            id=self.new_id("ses"),
            directory=self.lands_in or directory,
            title=given.get("title", ""),
            rules=given.get("permission", []),
        )
        self.sessions[made.id] = made
        return made

    def add_message(self, session: Session, role: str, parts: list[dict[str, Any]], **info: Any) -> dict[str, Any]:
        message_id = self.new_id("msg")
        owned = [{"id": self.new_id("prt"), "sessionID": session.id, "messageID": message_id} | each for each in parts]
        message = {"info": {"id": message_id, "sessionID": session.id, "role": role} | info, "parts": owned}
        session.messages.append(message)
        self.say(session.directory, "message.updated", {"sessionID": session.id, "info": dict(message["info"])})
        return message

    def add_part(self, session: Session, message: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
        """Begin a part of a message, and tell the bus."""
        made = {"id": self.new_id("prt"), "sessionID": session.id, "messageID": message["info"]["id"]} | part
        message["parts"].append(made)
        self.tell_part(session, made)
        return made

    def add_text(self, session: Session, part: dict[str, Any], delta: str) -> None:
        """Let a text grow. The bus is told the new piece only, and no place."""
        part["text"] += delta
        facts = {"messageID": part["messageID"], "partID": part["id"], "field": "text", "delta": delta}
        self.say(session.directory, "message.part.delta", {"sessionID": session.id} | facts)

    def tell_part(self, session: Session, part: dict[str, Any]) -> None:
        self.say(session.directory, "message.part.updated", {"sessionID": session.id, "part": dict(part)})

    def hang_up(self) -> None:
        """Break off every event stream."""
        with self._lock:
            for _directory, listener in self._listeners:
                listener.put({"type": "break"})

    def restart(self) -> None:
        """Forget whatever was going on: the sessions and their messages stay, nothing runs or waits."""
        self.pending.clear()
        for session in self.sessions.values():
            session.is_busy = False
        self.hang_up()

    def ask(self, kind: str, session: Session, facts: dict[str, Any]) -> Pending:
        """Open a request and tell the bus; the caller waits for `answered`."""
        wanted = self.new_id("per" if kind == "permission" else "que")
        one = Pending(kind=kind, session=session, facts={"id": wanted, "sessionID": session.id} | facts)
        self.pending[wanted] = one
        self.say(session.directory, f"{kind}.asked", one.facts)
        return one

    def say(self, directory: str, kind: str, properties: dict[str, Any]) -> None:
        event = {"id": self.new_id("evt"), "type": kind, "properties": properties}
        with self._lock:
            for wanted, listener in self._listeners:
                if wanted == directory:
                    listener.put(event)

    def said_to(self, session: Session) -> list[str]:
        """The texts that the host added to a session without asking the model."""
        return [
            part["text"] for message in session.messages for part in message["parts"] if part.get("synthetic") is True
        ]

    def _session(self, asked: Asked, session: Session, rest: list[str]) -> Reply:
        match asked.method, rest:
            case "GET", []:
                return json_reply(self._described(session))
            case "PATCH", []:
                session.rules = asked.json().get("permission", session.rules)
                return json_reply(self._described(session))
            case "GET", ["message"]:
                return json_reply(session.messages)
            case "POST", ["message"] if asked.json().get("noReply"):
                return json_reply(self.add_message(session, "user", asked.json()["parts"]))
            case "POST", ["prompt_async"]:
                self.work(session, "".join(each["text"] for each in asked.json()["parts"]))
                return Reply(status=204)
            case "POST", ["abort"]:
                self.stop(session)
                return json_reply(value=True)
            case "GET", ["diff"]:
                return json_reply(self._diff(session, asked.query.get("messageID", "")))
        return json_reply({"name": "BadRequest", "data": {"message": "not in this stub"}}, status=400)

    def _reply(self, kind: str, wanted: str, directory: str, given: dict[str, Any]) -> Reply:
        one = self.pending.get(wanted)
        if one is None or one.kind != kind or one.session.directory != directory:
            name = "PermissionNotFoundError" if kind == "permission" else "QuestionNotFoundError"
            body = {"_tag": name, "requestID": wanted, "message": f"{kind.title()} request not found: {wanted}"}
            return json_reply(body, status=404)
        del self.pending[wanted]
        one.answer = given
        self.say(directory, f"{kind}.replied", {"sessionID": one.session.id, "requestID": wanted} | given)
        one.answered.set()
        return json_reply(value=True)

    def _add_mcp(self, given: dict[str, Any]) -> Reply:
        self.mcp_servers[given["name"]] = given["config"]
        return json_reply({name: {"status": "connected"} for name in self.mcp_servers})

    def _events(self, directory: str) -> Iterator[bytes]:
        listener: queue.Queue[dict[str, Any]] = queue.Queue()
        entry = (directory, listener)
        with self._lock:
            self._listeners.append(entry)
        try:
            yield _event({"id": self.new_id("evt"), "type": "server.connected", "properties": {}})
            while True:
                try:
                    event = listener.get(timeout=self.heartbeat_seconds)
                    if event["type"] == "break":
                        raise BrokenOff
                    yield _event(event)
                except queue.Empty:
                    yield _event({"id": self.new_id("evt"), "type": "server.heartbeat", "properties": {}})
        finally:
            with self._lock:
                self._listeners.remove(entry)

    def _pending_in(self, kind: str, directory: str) -> list[Pending]:
        return [each for each in self.pending.values() if each.kind == kind and each.session.directory == directory]

    def _of(self, directory: str) -> list[Session]:
        return [each for each in self.sessions.values() if each.directory == directory]

    @staticmethod
    def _diff(session: Session, message_id: str) -> list[dict[str, Any]]:
        found = [each["info"].get("summary", {}) for each in session.messages if each["info"]["id"] == message_id]
        return found[0].get("diffs", []) if found else []

    @staticmethod
    def _described(session: Session) -> dict[str, Any]:
        return {
            "id": session.id,
            "slug": "stub",
            "projectID": "global",
            "directory": session.directory,
            "path": session.directory.strip("/"),
            "title": session.title,
            "version": VERSION,
            "permission": session.rules,
            "time": {"created": 1795995026404, "updated": 1795995026404},
        }


def _event(value: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()
