"""One turn of OpenHub: the agent's work in a thread of its own, its frames in one queue that every reader shares.

What the agent does is written in the question:

    [please] THINK …           reasoning, then an answer
    [SAYFIRST] CALL tool {…}   a tool call; `write` and `edit` change real files, `question` waits for an answer
    WAIT …, SLEEPn …           nothing until `go_on` is set
    HANG                       no frame at all, only heartbeats, until aborted
    DIE                        the connection breaks in the middle
    FAIL                       an error frame
    anything else              "Echo: …"
"""

from __future__ import annotations

import difflib
import json
import queue
import re
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.stubs.openhub_http import BrokenOff
from tests.stubs.openhub_opencode import Pending, Session

if TYPE_CHECKING:
    from tests.stubs.openhub_world import World

_SCRIPT = re.compile(
    r"(?P<first>SAYFIRST )?(please )?(?P<what>THINK|CALL|WAIT|SLEEP|HANG|DIE|FAIL)\d*\b ?(?P<rest>.*)", re.DOTALL
)
_END: dict[str, Any] = {"end": True}
_CHANGING = frozenset({"write", "edit"})


class Aborted(Exception):
    """The person stopped the turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    question: str
    agent: str = "build"
    model: dict[str, str] | None = None
    images: tuple[dict[str, str], ...] = ()
    turn_id: str = field(default_factory=lambda: uuid.uuid4().hex)


class Turn:
    """A running turn. `frames` is shared: a second reader takes frames away from the first, as in OpenHub."""

    def __init__(self, world: World, session: Session, user_id: int, prompt: Prompt) -> None:
        self.world = world
        self.session = session
        self.user_id = user_id
        self.prompt = prompt
        self.frames: queue.Queue[dict[str, Any]] = queue.Queue()
        self.go_on = threading.Event()
        self.aborted = threading.Event()
        self._message: dict[str, Any] | None = None

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def read(self, first: dict[str, Any] | None = None) -> Iterator[bytes]:
        """Yield frames as server-sent events until the turn ends."""
        if first is not None:
            yield sse(first)
        while True:
            try:
                frame = self.frames.get(timeout=self.world.heartbeat_seconds)
            except queue.Empty:
                frame = {"type": "heartbeat"}
            if frame == _END:
                return
            if frame.get("type") == "break":
                raise BrokenOff
            yield sse(frame)

    def _run(self) -> None:
        self.session.is_busy = True
        try:
            self._work()
        except Aborted:
            if self.aborted.is_set():
                self._tell_abort()
            self._put("aborted", done=True)
        finally:
            self.session.is_busy = False
            self.world.turns.pop(self.session.id, None)
            self._put("message_complete", message_id=self._message["info"]["id"] if self._message else "", done=True)
            self._put("session_idle")
            self.frames.put(_END)
            self.world.opencode.say(self.session.directory, "session.idle", {"sessionID": self.session.id})

    def _tell_abort(self) -> None:
        error = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
        if self._message is not None:
            self._message["info"]["error"] = error
        facts = {"sessionID": self.session.id, "error": error}
        self.world.opencode.say(self.session.directory, "session.error", facts)

    def _work(self) -> None:
        prompt = self.prompt
        asked = self.world.opencode.add_message(
            self.session, "user", [{"type": "text", "text": prompt.question}], summary={"diffs": []}
        )
        self.world.note_message(self, "user", prompt.question, message_id=asked["info"]["id"])
        self._put("session", conversation_id=self.session.id, agent=prompt.agent)
        found = _SCRIPT.fullmatch(prompt.question)
        what, rest = (found["what"], found["rest"]) if found else ("", prompt.question)
        self._begin_message()
        self._put("step-start")
        if found and found["first"]:
            self._say("Let me use a tool. ")
        self._act(what, rest)
        self._put("step-finish")
        self._note()

    def _act(self, what: str, rest: str) -> None:
        match what:
            case "THINK":
                self._think()
            case "CALL":
                self._call(rest)
            case "WAIT" | "SLEEP":
                self._wait(self.go_on)
                self._say(f"Echo: {rest}")
            case "HANG":
                self._wait(threading.Event())
            case "DIE":
                self._say("Echo: half an ans")
                self._put("break")
                raise Aborted
            case "FAIL":
                self._put_raw({"error": "所有模型均不可用，请稍后重试", "type": "error"})
            case _:
                self._say(f"Echo: {rest}")

    def _think(self) -> None:
        reasoning = "I am thinking hard about this."
        for start in range(0, len(reasoning), 8):
            self._put("text", content=reasoning[start : start + 8])
        for start in range(0, len(reasoning), 10):
            self._put("reasoning", content=reasoning[start : start + 10])
        self._say("The answer is 42.")

    def _call(self, text: str) -> None:
        tool, _space, given = text.partition(" ")
        arguments = json.loads(given or "{}")
        call_id = f"call_{uuid.uuid4().hex[:13]}"
        self._tool(tool, "pending", call_id, {})
        question = self._ask(arguments) if tool == "question" else None
        self._tool(tool, "running", call_id, arguments)
        state, output, metadata = self._answered(question) if question else self._do(tool, call_id, arguments)
        self._tool(tool, state, call_id, arguments, output, metadata)
        self._put("step-finish")
        self._note("tool-calls")
        self._put("message_complete", message_id=self._message["info"]["id"] if self._message else "", done=True)
        message = self._begin_message()
        self._put("message_start", message_id=message["info"]["id"])
        self._put("step-start")
        self._say(f"Done. Tool said: {output}")

    def _ask(self, arguments: dict[str, Any]) -> Pending:
        tool = {"messageID": self._message["info"]["id"] if self._message else "", "callID": "call_1"}
        facts = {"questions": arguments["questions"], "tool": tool}
        pending = self.world.opencode.ask("question", self.session, facts)
        self._put_raw({"type": "question.asked"} | pending.facts | {"done": False})
        return pending

    def _answered(self, pending: Pending) -> tuple[str, str, dict[str, Any]]:
        self._wait(pending.answered)
        chosen = ", ".join(pending.answer.get("answers", [[]])[0]) or "Unanswered"
        return "completed", f'User has answered your questions: "{chosen}"', {}

    def _do(self, tool: str, call_id: str, arguments: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
        if tool in _CHANGING:
            return self._change(call_id, arguments)
        return "completed", f"{tool} ran", {}

    def _change(self, call_id: str, arguments: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
        target = Path(self.session.directory, arguments["filePath"])
        before = target.read_text(encoding="utf-8") if target.exists() else ""
        after = arguments.get(
            "content", before.replace(arguments.get("oldString", "\0"), arguments.get("newString", ""))
        )
        pattern = str(target).lstrip("/")
        lines = difflib.unified_diff(
            before.splitlines(keepends=True), after.splitlines(keepends=True), str(target), str(target)
        )
        diff = "".join(lines)
        action = self.session.action_for("edit", pattern)
        if action == "ask":
            facts = {
                "permission": "edit",
                "patterns": [pattern],
                "metadata": {"filepath": str(target), "diff": diff},
                "always": ["*"],
                "tool": {"messageID": self._message["info"]["id"] if self._message else "", "callID": call_id},
            }
            pending = self.world.opencode.ask("permission", self.session, facts)
            self._wait(pending.answered)
            action = "deny" if pending.answer["reply"] == "reject" else "allow"
        if action != "allow":
            return "error", "The user rejected permission to use this specific tool call.", {}
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(after, encoding="utf-8")
        return "completed", "Wrote file successfully.", {"filepath": str(target), "diff": diff, "exists": bool(before)}

    def _wait(self, event: threading.Event) -> None:
        while not event.wait(0.01):
            if self.aborted.is_set():
                raise Aborted

    def _say(self, text: str) -> None:
        assert self._message is not None
        part = self.world.opencode.add_part(self.session, self._message, {"type": "text", "text": ""})
        for start in range(0, len(text), 12):
            if self.world.pause_seconds:
                time.sleep(self.world.pause_seconds)
            self.world.opencode.add_text(self.session, part, text[start : start + 12])
            self._put("text", content=text[start : start + 12])
        self.world.opencode.tell_part(self.session, part)

    def _tool(
        self, tool: str, state: str, call_id: str, arguments: dict[str, Any], output: str = "", metadata: Any = None
    ) -> None:
        facts = {"status": state, "input": arguments} | ({"output": output, "metadata": metadata} if output else {})
        part = {
            "type": "tool",
            "tool": tool,
            "callID": call_id,
            "state": facts,
            "messageID": "",
            "sessionID": self.session.id,
        }
        if state in {"completed", "error"} and self._message is not None:
            self._message["parts"].append(part)
        self.world.opencode.say(
            self.session.directory, "message.part.updated", {"sessionID": self.session.id, "part": part}
        )
        shown = output if state == "completed" else ""
        self._put(
            "tool", tool=tool, state=state, input=arguments, output=shown, call_id=call_id, description="", title=""
        )

    def _begin_message(self) -> dict[str, Any]:
        self._message = self.world.opencode.add_message(self.session, "assistant", [])
        return self._message

    def _complete(self, finish: str) -> None:
        assert self._message is not None
        info = self._message["info"]
        info |= {"finish": finish, "time": {"created": 1795993680148, "completed": 1795993680625}}
        self.world.opencode.say(
            self.session.directory, "message.updated", {"sessionID": self.session.id, "info": dict(info)}
        )

    def _note(self, finish: str = "stop") -> None:
        assert self._message is not None
        self._complete(finish)
        self.world.note_answer(self, self._message)

    def _put(self, kind: str, *, done: bool = False, **facts: Any) -> None:
        self._put_raw({"type": kind} | facts | {"done": done})

    def _put_raw(self, frame: dict[str, Any]) -> None:
        self.frames.put(frame)


def sse(frame: dict[str, Any]) -> bytes:
    """Write a frame as OpenHub does: one data line of ASCII JSON."""
    return f"data: {json.dumps(frame)}\n\n".encode()
