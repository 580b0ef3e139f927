"""OpenHub on a real socket, with state: built from recorded exchanges (tests/data/openhub) and checked against them.

with openhub_stub(tmp_path) as hub:
    hub.url, hub.opencode_url, hub.redis.url, hub.jwt_secret
    hub.world.turns[session_id].go_on.set()        # let a question that WAITs go on
    hub.answer_with("/api/models", Reply(…))       # misbehave on one path
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.stubs.openhub_http import Asked, Reply, json_reply, serving
from tests.stubs.openhub_opencode import OpencodeStub
from tests.stubs.openhub_redis import RedisStub, redis_stub
from tests.stubs.openhub_turns import Prompt, Turn
from tests.stubs.openhub_world import MODELS, World

OPERATIONS = json.loads((Path(__file__).parent.parent / "data" / "openhub" / "operations.json").read_text())
_STREAM_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
_OPEN = frozenset({"/", "/api/health", "/docs", "/redoc", "/openapi.json", "/docs/oauth2-redirect", "/api/auth/login"})
_DENIED = {"detail": "认证失败，请重新登录"}

Claims = dict[str, Any]
Answer = Reply | Callable[[Asked], Reply]


class OpenHubStub:
    """`asked` holds every request that reached it; `reached` the operations of its OpenAPI that answered."""

    def __init__(self, folder: Path, redis: RedisStub, opencode: OpencodeStub) -> None:
        self.url = ""
        self.opencode_url = ""
        self.redis = redis
        self.opencode = opencode
        self.world = World(folder, opencode)
        self.jwt_secret = "stub-jwt-secret-of-openhub-0123456789"
        self.asked: list[Asked] = []
        self.reached: list[str] = []
        self.guard: Reply | None = json_reply({"snapshots": "off", "proof": "no repository appeared"})
        self._overrides: dict[str, Answer] = {}

    def answer_with(self, path: str, answer: Answer | None) -> None:
        """Answer one path in another way from now on; None makes it behave again."""
        if answer is None:
            self._overrides.pop(path, None)
        else:
            self._overrides[path] = answer

    def answer(self, asked: Asked) -> Reply:
        if asked.path in self._overrides:
            found = self._overrides[asked.path]
            return found if isinstance(found, Reply) else found(asked)
        operation = _operation(asked)
        if operation is None:
            return json_reply({"detail": "Not Found"}, status=404)
        self.reached.append(operation)
        if asked.path in _OPEN:
            return self._open(asked)
        if self.redis.is_down:
            return Reply(status=500, body=b"Internal Server Error", content_type="text/plain; charset=utf-8")
        claims = self._claims(asked)
        if claims is None:
            status = 401 if "authorization" in asked.headers else 403
            return json_reply(_DENIED if status == 401 else {"detail": "Not authenticated"}, status=status)
        if asked.path == "/api/mnote/snapshots":
            return self.guard or json_reply({"detail": "Not Found"}, status=404)
        if asked.path.startswith("/api/admin/"):
            return self._admin(asked) if claims["is_admin"] else json_reply({"detail": "无管理员权限"}, status=403)
        return self._of_person(asked, claims)

    def _open(self, asked: Asked) -> Reply:
        match asked.path:
            case "/api/health":
                return json_reply({"status": "healthy", "opencode": {"healthy": True, "version": "1.18.33"}})
            case "/":
                return json_reply({"message": "Opencode Agent 平台 API 服务", "version": "1.0.0", "docs": "/docs"})
            case "/openapi.json":
                return json_reply({"openapi": "3.1.0", "paths": _paths()})
            case "/api/auth/login":
                return json_reply({"detail": "用户名或密码错误"}, status=401)
        return Reply(body=b"<!doctype html><title>docs</title>", content_type="text/html")

    def _claims(self, asked: Asked) -> Claims | None:
        token = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if self.redis.get(f"token:{token}") is None:
            return None
        head, _dot, signature = token.rpartition(".")
        expected = hmac.new(self.jwt_secret.encode(), head.encode(), hashlib.sha256).digest()
        if not hmac.compare_digest(_unpacked(signature), expected):
            return None
        claims: Claims = json.loads(_unpacked(head.partition(".")[2]))
        return claims if claims["exp"] > time.time() else None

    def _of_person(self, asked: Asked, claims: Claims) -> Reply:
        parts = asked.path.split("/")[2:]
        found = self._of_turns(asked, parts, claims["id"]) or self._of_sessions(asked, parts, claims["id"])
        return found or self._of_settings(asked, parts, claims)

    def _of_turns(self, asked: Asked, parts: list[str], user_id: int) -> Reply | None:
        match asked.method, parts:
            case "POST", ["query", "stream"]:
                return self._prompt(user_id, asked.json())
            case "GET", ["query", "stream", "reconnect"]:
                return self._reconnect(asked.query.get("session_id", ""))
            case "POST", ["query", "abort"]:
                return self._abort(asked.json().get("conversation_id") or "")
            case "POST", ["question", question, "reply"]:
                return self._reply(question)
            case "POST", ["sessions", wanted, "retry"]:
                return self._retry(user_id, wanted)
        return None

    def _of_sessions(self, asked: Asked, parts: list[str], user_id: int) -> Reply | None:
        match asked.method, parts:
            case "GET", ["sessions"]:
                return json_reply(_page(self.world.listed(user_id), asked))
            case "GET", ["sessions", wanted, "messages"]:
                return self._messages(user_id, wanted)
            case "DELETE", ["sessions", wanted, "messages", "last-turn"]:
                return json_reply(self.world.undo(wanted))
            case "GET", ["images", wanted]:
                return self._image(wanted)
        return None

    def _of_settings(self, asked: Asked, parts: list[str], claims: Claims) -> Reply:
        user = self.world.users.get(claims["id"])
        match asked.method, parts:
            case "GET", ["auth", "me"]:
                facts = {"username": claims["sub"], "is_admin": claims["is_admin"]}
                return json_reply({"success": True, "data": facts})
            case "GET", ["models"]:
                return json_reply({"success": True, "data": self._models(claims["id"])})
            case "GET", ["skills"]:
                skills = user.skills.items() if user else ()
                return json_reply({"success": True, "data": [_skill(*each) for each in skills]})
            case "PUT", ["skills", name] if user:
                user.skills[name] = asked.query.get("enabled") == "true"
                return json_reply({"success": True})
            case "GET", ["memory"]:
                return json_reply({"facts": "# MEMORY.md\n", "preferences": "# USER.md\n"})
            case "GET", ["snapshots"]:
                return json_reply({"snapshots": [], "total": 0})
        return json_reply({"success": True, "data": [], "reached": asked.path})

    def _models(self, user_id: int) -> dict[str, Any]:
        models = self.world.permitted_models(user_id)
        if not models:
            return {"models": [], "default": None}
        first = {key: models[0][key] for key in ("modelID", "providerID", "currentUsage", "monthlyLimit")}
        return {"models": models, "default": first, "defaultBuild": first, "defaultPlan": first}

    def _prompt(self, user_id: int, given: dict[str, Any]) -> Reply:
        if not given.get("question"):
            return json_reply({"detail": [{"loc": ["body", "question"], "type": "missing"}]}, status=422)
        model = given.get("model")
        if model and (model.get("providerID"), model.get("modelID")) not in self.world.users[user_id].models:
            return json_reply({"detail": f"无权使用模型 {model.get('modelID')}"}, status=403)
        prompt = Prompt(
            question=given["question"],
            agent=given.get("agent") or "build",
            model=model,
            images=tuple(given.get("images") or ()),
        )
        return _stream(self.world.prompt(user_id, given.get("conversation_id") or "", prompt))

    def _reconnect(self, session_id: str) -> Reply:
        turn = self.world.turns.get(session_id)
        if turn is None:
            idle = {"type": "session_idle", "conversation_id": session_id, "done": False}
            body = f"data: {json.dumps(idle)}\n\n".encode()
            return Reply(content_type="text/event-stream; charset=utf-8", headers=_STREAM_HEADERS, stream=iter([body]))
        return _stream(turn, {"type": "session_reconnected", "conversation_id": session_id, "done": False})

    def _abort(self, session_id: str) -> Reply:
        turn = self.world.turns.get(session_id)
        if turn is None:
            return json_reply({"success": False, "message": "会话不在处理中"})
        turn.aborted.set()
        return json_reply({"success": True, "message": "会话已中止"})

    @staticmethod
    def _reply(question: str) -> Reply:
        error = (
            f'opencode 返回错误：404 - {{"_tag":"QuestionNotFoundError","requestID":"{question}",'
            f'"message":"Question request not found: {question}"}}'
        )
        return json_reply({"success": False, "message": None, "error": error})

    def _messages(self, user_id: int, session_id: str) -> Reply:
        known = self.world.sessions.get(session_id)
        if known is None:
            return json_reply({"detail": "会话不存在"}, status=404)
        if known["user_id"] != user_id:
            return json_reply({"detail": "无权访问该会话"}, status=403)
        is_processing = session_id in self.world.turns
        return json_reply({"success": True, "data": self.world.messages(session_id), "is_processing": is_processing})

    def _retry(self, user_id: int, session_id: str) -> Reply:
        if session_id in self.world.turns:
            return json_reply({"detail": "会话正在处理中"}, status=409)
        turn = self.world.retry(user_id, session_id)
        return _stream(turn) if turn else json_reply({"detail": "没有可重试的消息"}, status=400)

    def _image(self, wanted: str) -> Reply:
        found = self.world.images.get(int(wanted)) if wanted.isdigit() else None
        if found is None:
            return json_reply({"detail": "图片不存在"}, status=404)
        data = {"id": int(wanted), "filename": found["filename"], "mime_type": "image/png", "base64": found["base64"]}
        return json_reply({"success": True, "data": data | {"size": len(found["base64"])}})

    def _admin(self, asked: Asked) -> Reply:
        world = self.world
        match asked.method, asked.path.split("/")[3:]:
            case "GET", ["users"]:
                return json_reply({"success": True, "data": [_user(each) for each in world.users.values()]})
            case "POST", ["users"]:
                username = asked.json()["username"]
                if world.add_user(username) is None:
                    return json_reply({"detail": f"用户名 '{username}' 已存在"}, status=409)
                return json_reply({"success": True, "message": "用户创建成功"})
            case "PUT", ["users", number, "models"]:
                listed = asked.json()["models"]
                world.users[int(number)].models = {
                    (each["providerID"], each["modelID"]): each.get("monthlyLimit", 0)
                    for each in listed
                    if each["enabled"]
                }
                return json_reply({"success": True, "message": "模型权限已更新"})
            case "PUT", ["users", number]:
                world.users[int(number)].disabled = asked.json().get("disabled", False)
                return json_reply({"success": True, "message": "用户更新成功"})
            case "GET", ["models"]:
                return json_reply({"success": True, "data": list(MODELS)})
            case "PUT", ["system-config"]:
                world.config[asked.json()["key"]] = asked.json()["value"]
                return json_reply({"success": True, "message": "配置已保存"})
        return json_reply({"success": True, "data": [], "reached": asked.path})


@contextmanager
def openhub_stub(folder: Path) -> Iterator[OpenHubStub]:
    """Run OpenHub, its Redis and its opencode, each on a free port of 127.0.0.1; `folder` holds its own workspaces."""
    with ExitStack() as stack:
        redis = stack.enter_context(redis_stub())
        opencode = OpencodeStub()
        hub = OpenHubStub(folder, redis, opencode)
        hub.opencode_url = stack.enter_context(serving(opencode))
        hub.url = stack.enter_context(serving(hub))
        yield hub
        for turn in list(hub.world.turns.values()):
            turn.aborted.set()


def _operation(asked: Asked) -> str | None:
    """Find the operation of OpenHub's own OpenAPI that a request means; fixed names go before parameters."""
    if asked.path == "/api/mnote/snapshots" and asked.method == "GET":
        return "GET /api/mnote/snapshots"
    fitting = [
        each["path"]
        for each in OPERATIONS
        if each["method"] == asked.method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", each["path"]), asked.path)
    ]
    return f"{asked.method} {min(fitting, key=lambda path: path.count('{'))}" if fitting else None


def _paths() -> dict[str, dict[str, Any]]:
    paths: dict[str, dict[str, Any]] = {}
    for each in OPERATIONS:
        paths.setdefault(each["path"], {})[each["method"].lower()] = {}
    return paths


def _stream(turn: Turn, first: dict[str, Any] | None = None) -> Reply:
    return Reply(content_type="text/event-stream; charset=utf-8", headers=_STREAM_HEADERS, stream=turn.read(first))


def _page(rows: list[dict[str, Any]], asked: Asked) -> dict[str, Any]:
    page, size = int(asked.query.get("page", 1)), int(asked.query.get("page_size", 10))
    shown = rows[(page - 1) * size : page * size]
    pagination = {"page": page, "page_size": size, "total": len(rows), "has_more": page * size < len(rows)}
    return {"success": True, "data": shown, "pagination": pagination}


def _user(user: Any) -> dict[str, Any]:
    return {
        "id": user.id,
        "username": user.username,
        "disabled": int(user.disabled),
        "is_admin": int(user.is_admin),
        "created_at": "2026-11-29T23:08:07",
        "updated_at": "2026-11-29T23:08:07",
        "workspace_path": user.workspace_path,
    }


def _skill(name: str, is_on: bool) -> dict[str, Any]:
    return {"skill_name": name, "description": "", "globally_enabled": 1, "user_enabled": is_on, "has_override": 1}


def _unpacked(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
