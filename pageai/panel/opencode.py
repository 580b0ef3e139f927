"""opencode as the host uses it beside OpenHub: sessions pinned to a folder, what waits for a person, what was changed.

OpenHub forgets to name the folder when it answers a question and drops permission requests altogether, so the host
answers both here. Always with `directory`: without it opencode looks in the folder that it was started in.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from mnote.http import build_client
from mnote.http_limits import Timeouts
from pageai.panel.asking import SHORT, TIMEOUTS, Asker, as_list
from pageai.panel.connection import Endpoint
from pageai.panel.errors import PanelProtocolError, PanelRefused

LAYER = "opencode"
_CHANGING_TOOLS = frozenset({"edit", "write", "apply_patch", "patch", "multiedit"})
_MAX_DIFF = 200_000
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
#: A call of one of our tools ends before this long.
_TOOL_MS = 30_000
#: Between a question and the first sign of work on it.
_BEGINS_SECONDS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One permission rule. Of the rules that match, the last decides."""

    permission: str
    pattern: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A permission request. `path` is the absolute file that would change, "" when it is about something else."""

    id: str
    session_id: str
    permission: str
    patterns: tuple[str, ...] = ()
    path: str = ""
    diff: str = ""
    command: str = ""
    call_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    label: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question of a question request."""

    text: str
    header: str = ""
    choices: tuple[Choice, ...] = ()
    may_choose_more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRequest:
    id: str
    session_id: str
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A file that a tool call changed, by its absolute path; `diff` is a unified diff, "" when opencode tells none."""

    call_id: str
    tool: str
    path: str
    diff: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A finished tool call: its name and its output."""

    call_id: str
    tool: str
    output: str = field(repr=False, default="")


class Opencode:
    """One opencode. Every call may raise PanelUnavailable, PanelProtocolError, PanelRefused."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._asker = _asker(endpoint)

    def create_session(self, *, directory: str, title: str, rules: Sequence[Rule]) -> str:
        """Make a session that works in `directory` for good, and return its id."""
        made = self._asker.mapping(
            "POST", "/session", params={"directory": directory}, json={"title": title, "permission": _written(rules)}
        )
        if made.get("directory") != directory:
            raise PanelProtocolError(layer=LAYER, reason="the session is in another folder")
        return _id_of(made, "ses_")

    def knows(self, session_id: str, *, directory: str) -> bool:
        """Say whether it has a session, shortly: a page waits for it."""
        at = f"/session/{session_id}"
        answer = self._asker.ask("GET", at, params={"directory": directory}, timeouts=SHORT)
        return answer.status != 404

    def set_rules(self, session_id: str, *, directory: str, rules: Sequence[Rule]) -> None:
        """Replace the permission rules of a session."""
        self._on(session_id, "PATCH", "", directory, json={"permission": _written(rules)})

    def worktree(self, directory: str) -> str:
        """Return the folder that patterns of rules are relative to: the top of a git repository, else "/"."""
        found = self._asker.mapping("GET", "/path", params={"directory": directory}).get("worktree")
        return found if isinstance(found, str) and found.startswith("/") else "/"

    def version(self) -> str:
        """Return its version: it answers."""
        return str(self._asker.mapping("GET", "/global/health", timeouts=SHORT).get("version", ""))

    def folder(self, directory: str) -> str:
        """Return the folder in which it works when asked for `directory`."""
        return str(self._asker.mapping("GET", "/path", params={"directory": directory}).get("directory", ""))

    def configuration(self, directory: str) -> Mapping[str, Any]:
        """Return what it works by in a folder. Holds keys of models: never to be shown or logged."""
        return self._asker.mapping("GET", "/config", params={"directory": directory})

    def add_note(self, session_id: str, *, directory: str, text: str) -> None:
        """Tell a session something that belongs to no turn; no model is asked."""
        note = {"noReply": True, "parts": [{"type": "text", "text": text, "synthetic": True}]}
        self._on(session_id, "POST", "/message", directory, json=note)

    def prompt(self, session_id: str, *, directory: str, text: str) -> None:
        """Ask a question; the answer is told by events. Nobody says here whether a model can be asked."""
        self._on_quietly(session_id, "/prompt_async", directory, {"parts": [{"type": "text", "text": text}]})

    def is_busy(self, session_id: str, *, directory: str) -> bool:
        return session_id in self._statuses(directory)

    def is_anything_busy(self, *, directory: str) -> bool:
        """Say whether any session of a folder works, or waits for its person."""
        return bool(self._statuses(directory))

    def abort(self, session_id: str, *, directory: str) -> None:
        self._on(session_id, "POST", "/abort", directory)

    def permission_requests(self, *, directory: str, is_patient: bool = True) -> list[Request]:
        """Return what waits for leave. Whoever has a page wait for it is not patient."""
        listed = self._asker.json("GET", "/permission", params={"directory": directory}, timeouts=_within(is_patient))
        return [request_of(each) for each in as_list(listed, LAYER)]

    def question_requests(self, *, directory: str, is_patient: bool = True) -> list[QuestionRequest]:
        """Return what waits for an answer; see `permission_requests`."""
        listed = self._asker.json("GET", "/question", params={"directory": directory}, timeouts=_within(is_patient))
        return [question_request_of(each) for each in as_list(listed, LAYER)]

    def allow_once(self, request_id: str, *, directory: str) -> bool:
        """Allow one request. False when it no longer waits."""
        return self._reply("permission", request_id, directory, {"reply": "once"})

    def decline(self, request_id: str, *, directory: str, message: str) -> bool:
        """Decline one request; with a message the agent goes on without. False when it no longer waits."""
        return self._reply("permission", request_id, directory, {"reply": "reject", "message": message})

    def answer(self, request_id: str, *, directory: str, answers: Sequence[Sequence[str]]) -> bool:
        """Answer a question request. False when it no longer waits."""
        return self._reply("question", request_id, directory, {"answers": [list(each) for each in answers]})

    def dismiss(self, request_id: str, *, directory: str) -> bool:
        """Leave a question request unanswered. False when it no longer waits."""
        return self._post(f"/question/{request_id}/reject", directory, None)

    def add_mcp_server(self, name: str, *, directory: str, url: str, token: str, run_id: str = "") -> bool:
        """Let the agents of a folder use an MCP server, and say whether it is connected. `run_id` goes with calls."""
        config = {
            "type": "remote",
            "url": url,
            "enabled": True,
            "headers": {"Authorization": f"Bearer {token}"} | ({"X-MNote-Run": run_id} if run_id else {}),
            # Else a refused token is followed by requests to addresses of our own that carry it.
            "oauth": False,
            "timeout": _TOOL_MS,
        }
        states = self._asker.mapping(
            "POST", "/mcp", params={"directory": directory}, json={"name": name, "config": config}
        )
        state = states.get(name)
        return isinstance(state, dict) and state.get("status") == "connected"

    def messages(self, session_id: str, *, directory: str, limit: int = 0) -> list[Mapping[str, Any]]:
        """Return the messages of a session as opencode keeps them, the oldest first; the newest `limit` of them."""
        what = f"/message?limit={limit}" if limit else "/message"
        return as_list(self._on(session_id, "GET", what, directory), LAYER)

    def last_turn(self, session_id: str, *, directory: str) -> tuple[list[Change], list[ToolCall]]:
        """Return what the tool calls after the newest message of the person changed and gave, in their order."""
        listed = self.messages(session_id, directory=directory)
        parts = [part for message in turn_of(listed) for part in tool_parts_of(message)]
        return [each for part in parts for each in changes_of(part)], [
            each for part in parts for each in _calls_of(part)
        ]

    def _statuses(self, directory: str) -> Mapping[str, Any]:
        return self._asker.mapping("GET", "/session/status", params={"directory": directory})

    def line_counts(self, session_id: str, *, directory: str) -> Mapping[str, tuple[int, int]]:
        """Return added and removed lines by file, for what changed after the newest message of the person. opencode
        knows only where it keeps snapshots of a git repository, and only when asked for one message; else nothing."""
        turn = turn_of(as_list(self._on(session_id, "GET", "/message", directory), LAYER))
        asked = str(info_of(turn[0]).get("id", "")) if turn else ""
        params = {"directory": directory, "messageID": asked}
        listed = as_list(self._asker.json("GET", f"/session/{session_id}/diff", params=params), LAYER)
        return {str(each.get("file", "")): (_count(each, "additions"), _count(each, "deletions")) for each in listed}

    def _on(self, session_id: str, method: str, what: str, directory: str, **parts: Any) -> Any:
        return self._asker.json(method, f"/session/{session_id}{what}", params={"directory": directory}, **parts)

    def _on_quietly(self, session_id: str, what: str, directory: str, body: Mapping[str, Any]) -> None:
        """Post what is answered without a body."""
        answer = self._asker.ask("POST", f"/session/{session_id}{what}", params={"directory": directory}, json=body)
        if not answer.is_ok:
            raise PanelRefused(layer=LAYER, status=answer.status)

    def _reply(self, kind: str, request_id: str, directory: str, body: Mapping[str, Any]) -> bool:
        return self._post(f"/{kind}/{request_id}/reply", directory, body)

    def _post(self, path: str, directory: str, body: Mapping[str, Any] | None) -> bool:
        try:
            self._asker.json("POST", path, params={"directory": directory}, json=body or {})
        except PanelRefused as error:
            if error.status != 404:
                raise
            return False
        return True


def _within(is_patient: bool) -> Timeouts:  # noqa: FBT001 it is one thing
    return TIMEOUTS if is_patient else SHORT


def _written(rules: Sequence[Rule]) -> list[dict[str, str]]:
    return [{"permission": each.permission, "pattern": each.pattern, "action": each.action} for each in rules]


def _id_of(made: Mapping[str, Any], prefix: str) -> str:
    found = made.get("id")
    if not isinstance(found, str) or not found.startswith(prefix):
        raise PanelProtocolError(layer=LAYER, reason="no id")
    return found


def request_of(given: Mapping[str, Any]) -> Request:
    """Read a permission request, of a list or of an event."""
    metadata = given.get("metadata")
    facts = metadata if isinstance(metadata, dict) else {}
    patterns = given.get("patterns")
    return Request(
        id=str(given.get("id", "")),
        session_id=str(given.get("sessionID", "")),
        permission=str(given.get("permission", "")),
        patterns=tuple(map(str, patterns)) if isinstance(patterns, list) else (),
        path=str(facts.get("filepath") or ""),
        diff=str(facts.get("diff") or "")[:_MAX_DIFF],
        command=str(facts.get("command") or "")[:2000],
        call_id=str(_mapping(given.get("tool")).get("callID") or ""),
    )


def question_request_of(given: Mapping[str, Any]) -> QuestionRequest:
    """Read a question request, of a list or of an event."""
    listed = given.get("questions")
    questions = [_question_of(each) for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return QuestionRequest(
        id=str(given.get("id", "")), session_id=str(given.get("sessionID", "")), questions=tuple(questions)
    )


def _question_of(given: Mapping[str, Any]) -> Question:
    options = given.get("options")
    listed = [each for each in options if isinstance(each, dict)] if isinstance(options, list) else []
    return Question(
        text=str(given.get("question", "")),
        header=str(given.get("header", "")),
        choices=tuple(
            Choice(label=str(each.get("label", "")), description=str(each.get("description", ""))) for each in listed
        ),
        may_choose_more=given.get("multiple") is True,
    )


def turn_of(messages: Sequence[Mapping[str, Any]], anchor: str = "") -> Sequence[Mapping[str, Any]]:
    """Return the messages of one turn: from the question `anchor`, else from the newest one, to the next question."""
    infos = [info_of(each) for each in messages]
    asked = [index for index, info in enumerate(infos) if info.get("role") == "user"]
    named = [index for index in asked if anchor and infos[index].get("id") == anchor]
    if not (asked if not anchor else named):
        return ()
    begins = (named or asked)[-1]
    ends = next((index for index in asked if index > begins), len(messages))
    return messages[begins:ends]


def has_just_been_asked(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether the newest message is a question of the last seconds, on which work is about to begin. A note of
    ours counts as well: it goes before a question, which opencode may not have listed yet."""
    newest = info_of(messages[-1]) if messages else {}
    made = _mapping(newest.get("time")).get("created")
    return newest.get("role") == "user" and isinstance(made, int) and time.time() - made / 1000 < _BEGINS_SECONDS


def said_in(message: Mapping[str, Any]) -> str:
    """Return the text of a message, without what the host added to it."""
    return "\n\n".join(str(each.get("text", "")) for each in _texts_of(message) if each.get("synthetic") is not True)


def _texts_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = message.get("parts")
    listed = found if isinstance(found, list) else []
    return [each for each in listed if isinstance(each, dict) and each.get("type") == "text"]


def info_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a message says of itself."""
    found = message.get("info")
    return found if isinstance(found, dict) else {}


def tool_parts_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tool calls of a message."""
    found = message.get("parts")
    return (
        [each for each in found if isinstance(each, dict) and each.get("type") == "tool"]
        if isinstance(found, list)
        else []
    )


def changes_of(part: Mapping[str, Any]) -> list[Change]:
    """Return the files that the tool call of a part changed."""
    state = part.get("state")
    if not isinstance(state, dict) or state.get("status") != "completed" or part.get("tool") not in _CHANGING_TOOLS:
        return []
    metadata, given = _mapping(state.get("metadata")), _mapping(state.get("input"))
    files = metadata.get("files")
    if isinstance(files, list):  # a patch over several files
        told = [
            (_mapping(each).get("filePath"), _mapping(each).get("patch") or _mapping(each).get("diff"))
            for each in files
        ]
    else:
        told = [(metadata.get("filepath") or given.get("filePath"), metadata.get("diff"))]
    return [
        Change(call_id=str(part.get("callID", "")), tool=str(part["tool"]), path=path, diff=str(diff or "")[:_MAX_DIFF])
        for path, diff in told
        if isinstance(path, str) and path
    ]


def told_changes_of(part: Mapping[str, Any]) -> list[Change]:
    """The same for people to read: of a file that was written whole opencode tells no diff, but what was written."""
    given = _mapping(_mapping(part.get("state")).get("input"))
    text = given.get("content") if part.get("tool") == "write" else None
    whole = "".join(f"+{line}\n" for line in text[:_MAX_DIFF].splitlines()) if isinstance(text, str) else ""
    return [each if each.diff else replace(each, diff=whole) for each in changes_of(part)]


def lines_of(diff: str) -> str:
    """Return which lines of the changed file the first change of a unified diff stands on, "3-5"; "" for none."""
    number, changed = 0, list[int]()
    for line in diff.splitlines():
        if head := _HUNK.match(line):
            if changed:
                break
            number = int(head[1])
        elif number and line.startswith("+"):
            changed.append(number)
            number += 1
        elif number and line.startswith(" "):
            if changed:
                break
            number += 1
    return f"{changed[0]}-{changed[-1]}" if changed else ""


def _count(given: Mapping[str, Any], name: str) -> int:
    found = given.get(name)
    return found if isinstance(found, int) else 0


def counts(diff: str) -> dict[str, int]:
    """Count the lines that a unified diff adds and takes away."""
    lines = diff.splitlines()
    added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    return {"added": added, "removed": removed}


def _calls_of(part: Mapping[str, Any]) -> list[ToolCall]:
    state = _mapping(part.get("state"))
    if state.get("status") != "completed":
        return []
    return [
        ToolCall(
            call_id=str(part.get("callID", "")), tool=str(part.get("tool", "")), output=str(state.get("output") or "")
        )
    ]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


@lru_cache(maxsize=32)
def _asker(endpoint: Endpoint) -> Asker:
    headers = {"Authorization": endpoint.authorization}
    client = build_client(endpoint.url, role="opencode", timeouts=TIMEOUTS, headers=headers, tries=2)
    return Asker(client=client, layer=LAYER)
