"""What OpenHub keeps: users, permissions, sessions, messages, running turns. Its checks are as weak as the real ones:
any user may prompt into, read the stream of, abort, retry and undo any session whose id they know."""

from __future__ import annotations

import itertools
import json
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.stubs.openhub_opencode import OpencodeStub, Session
from tests.stubs.openhub_turns import Prompt, Turn

MODELS = (
    {"modelID": "fake-1", "name": "Fake 1", "providerID": "fake", "providerName": "Fake"},
    {"modelID": "fake-2", "name": "Fake 2", "providerID": "fake", "providerName": "Fake"},
    {"modelID": "big-pickle", "name": "Big Pickle", "providerID": "opencode", "providerName": "OpenCode Zen"},
)
_AT = "2026-11-29T23:10:17"


@dataclass(slots=True, kw_only=True)
class User:
    id: int
    username: str
    workspace_path: str
    is_admin: bool = False
    disabled: bool = False
    models: dict[tuple[str, str], int] = field(default_factory=dict)
    skills: dict[str, bool] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Row:
    """A stored message."""

    db_id: int
    session_id: str
    role: str
    content: str
    agent: str
    model: dict[str, str]
    message_id: str
    turn_id: str
    metadata: dict[str, Any] | None = None
    is_visible: bool = True

    def shown(self) -> dict[str, Any]:
        return {
            "role": self.role,
            "agent": self.agent,
            "model": json.dumps(self.model),
            "content": self.content,
            "metadata": self.metadata,
            "created_at": _AT,
            "opencode_message_id": self.message_id,
            "turn_id": self.turn_id,
            "db_id": self.db_id,
        }


class World:
    """`heartbeat_seconds`: the silence after which a stream shows that it lives. `pause_seconds`: between words."""

    def __init__(self, folder: Path, opencode: OpencodeStub) -> None:
        self.folder = folder
        self.opencode = opencode
        self.heartbeat_seconds = 130.0
        self.pause_seconds = 0.0
        self.turns: dict[str, Turn] = {}
        self.sessions: dict[str, dict[str, Any]] = {}
        self.rows: list[Row] = []
        self.images: dict[int, dict[str, Any]] = {}
        self.config: dict[str, str] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self.users: dict[int, User] = {}
        self.add_user("admin", is_admin=True)
        opencode.work, opencode.stop = self._asked_itself, self._stopped

    def _asked_itself(self, session: Session, question: str) -> None:
        """Work on a question that opencode was asked without OpenHub, which keeps nothing of it."""
        turn = Turn(self, session, 0, Prompt(question=question))
        self.turns[session.id] = turn
        session.is_busy = True
        turn.start()

    def _stopped(self, session: Session) -> None:
        if session.id in self.turns:
            self.turns[session.id].aborted.set()

    def add_user(self, username: str, *, is_admin: bool = False) -> User | None:
        """Make a user; None when there is one of that name, as the database has it."""
        workspace = self.folder / "workspace" / username
        workspace.mkdir(parents=True, exist_ok=True)
        with self._lock:
            if self.user_named(username):
                return None
            number = len(self.users) + 1
            user = User(id=number, username=username, workspace_path=str(workspace), is_admin=is_admin)
            self.users[number] = user
        return user

    def user_named(self, username: str) -> User | None:
        return next((each for each in self.users.values() if each.username == username), None)

    def permitted_models(self, user_id: int) -> list[dict[str, Any]]:
        limits = self.users[user_id].models if user_id in self.users else {}
        return [
            model | {"currentUsage": 0, "monthlyLimit": limits[model["providerID"], model["modelID"]]}
            for model in MODELS
            if (model["providerID"], model["modelID"]) in limits
        ]

    def default_model(self) -> dict[str, str]:
        provider, _bar, model = self.config.get("default_build_model", "minimax|MiniMax-M2.7").partition("|")
        return {"providerID": provider, "modelID": model}

    def prompt(self, user_id: int, session_id: str, prompt: Prompt) -> Turn:
        """Start a turn. Without a session OpenHub makes one, in its own workspace of that user."""
        session = self.opencode.sessions.get(session_id) or self._new_session(user_id)
        known = self.sessions.setdefault(session.id, {"user_id": user_id, "status": 0})
        known["title"] = prompt.question if len(prompt.question) <= 50 else f"{prompt.question[:50]}..."
        turn = Turn(self, session, user_id, prompt)
        self.turns[session.id] = turn
        turn.start()
        return turn

    def listed(self, user_id: int) -> list[dict[str, Any]]:
        rows = [
            (key, each) for key, each in self.sessions.items() if each["user_id"] == user_id and each["status"] == 0
        ]
        return [
            {
                "session_id": key,
                "title": each["title"],
                "created_at": _AT,
                "updated_at": _AT,
                "is_processing": key in self.turns,
            }
            for key, each in reversed(rows)
        ]

    def messages(self, session_id: str) -> list[dict[str, Any]]:
        """The stored messages; those of one second come back in another order, as from MariaDB."""
        rows = [each for each in self.rows if each.session_id == session_id and each.is_visible]
        return [each.shown() for each in sorted(rows, key=lambda row: (row.role == "assistant", row.db_id))]

    def note_message(self, turn: Turn, role: str, content: str, *, message_id: str, metadata: Any = None) -> None:
        images = [dict(each) for each in turn.prompt.images] if role == "user" else []
        for image in images:
            self.images[len(self.images) + 1] = image | {"session_id": turn.session.id}
        self.rows.append(
            Row(
                db_id=next(self._numbers),
                session_id=turn.session.id,
                role=role,
                content=content,
                agent=turn.prompt.agent,
                model=turn.prompt.model or self.default_model(),
                message_id=message_id,
                turn_id=turn.prompt.turn_id,
                metadata={"images": images} if images else metadata,
            )
        )

    def note_answer(self, turn: Turn, message: dict[str, Any]) -> None:
        parts = message["parts"]
        content = "".join(each["text"] for each in parts if each["type"] == "text")
        tools = {
            f"{each['tool']}_{each['callID']}": {
                "tool": each["tool"],
                "state": each["state"]["status"],
                "input": each["state"]["input"],
                "output": each["state"].get("output", ""),
                "call_id": each["callID"],
                "part_id": "",
            }
            for each in parts
            if each["type"] == "tool"
        }
        self.note_message(
            turn, "assistant", content, message_id=message["info"]["id"], metadata={"tools": tools} if tools else None
        )

    def undo(self, session_id: str) -> dict[str, Any]:
        rows = [each for each in self.rows if each.session_id == session_id and each.is_visible]
        if not rows:
            return {"success": False, "error": "没有可撤销的消息"}
        turn_id = rows[-1].turn_id
        gone = [each for each in rows if each.turn_id == turn_id]
        self._forget(session_id, gone)
        said = next((each.content for each in gone if each.role == "user"), "")
        return {"success": True, "turn_id": turn_id, "deleted_count": len(gone), "deleted_user_content": said}

    def retry(self, user_id: int, session_id: str) -> Turn | None:
        rows = [each for each in self.rows if each.session_id == session_id and each.is_visible]
        question = next((each for each in reversed(rows) if each.role == "user"), None)
        if question is None:
            return None
        self._forget(
            session_id, [each for each in rows if each.turn_id == question.turn_id and each.role == "assistant"]
        )
        return self.prompt(user_id, session_id, Prompt(question=question.content, turn_id=question.turn_id))

    def _forget(self, session_id: str, rows: list[Row]) -> None:
        gone = {each.message_id for each in rows}
        for each in rows:
            each.is_visible = False
        session = self.opencode.sessions.get(session_id)
        if session is not None:
            session.messages = [each for each in session.messages if each["info"]["id"] not in gone]

    def _new_session(self, user_id: int) -> Session:
        user = self.users.get(user_id)
        return self.opencode.create(user.workspace_path if user else "/")
