"""OpenHub, its Redis and its opencode on the loopback, only as much of them as a question passes on its way.

A question is "COUNT PAUSE": so many frames, with so many seconds between two. Each frame carries the moment it left.
"""

from __future__ import annotations

import itertools
import json
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

FOLDER = "/var/empty/openhub"
SECRET = "a-secret-of-the-measurement-0123456789"
_MODEL = {"providerID": "bench", "modelID": "none", "name": "None", "providerName": "Bench"}
_USER = {"id": 1, "username": "", "workspace_path": FOLDER}
_sessions = itertools.count(1)


class _Handler(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True  # a head and its body would wait 40 ms for each other
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def handle_any(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        given = json.loads(self.rfile.read(length) or b"{}")
        parts = urlsplit(self.path)
        if parts.path == "/api/query/stream":
            count, pause = given["question"].split()
            self._stream(_frames(int(count), float(pause)))
        elif parts.path == "/event":
            self._stream(_heartbeats())
        else:
            self._answer(_said(self.command, parts.path, parse_qs(parts.query), given))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815 the names of the library

    def _answer(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, frames: Iterator[dict[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for frame in frames:
                self.wfile.write(f"data: {json.dumps(frame)}\n\n".encode())
        except OSError:  # whoever listened has left
            return


def _frames(count: int, pause: float) -> Iterator[dict[str, Any]]:
    for _ in range(count):
        yield {"type": "text", "content": "some words of an answer ", "at": time.monotonic(), "done": False}
        if pause:
            time.sleep(pause)
    yield {"type": "session_idle", "done": False}


def _heartbeats() -> Iterator[dict[str, Any]]:
    while True:
        yield {"type": "server.heartbeat", "properties": {}}
        time.sleep(1)


def _said(method: str, path: str, query: dict[str, list[str]], given: dict[str, Any]) -> Any:
    match method, path.strip("/").split("/"):
        case "GET", ["api", "admin", "users"]:
            return {"success": True, "data": [_USER] if _USER["username"] else []}
        case "POST", ["api", "admin", "users"]:
            _USER["username"] = given["username"]
        case "GET", ["api", "admin", "models"]:
            return {"success": True, "data": [_MODEL]}
        case "GET", ["path"]:
            return {"worktree": "/"}
        case "POST", ["session"]:
            return {"id": f"ses_{next(_sessions)}", "directory": query["directory"][0]}
        case "POST", ["mcp"]:
            return {given["name"]: {"status": "connected"}}
        case "GET", ["session", "status"]:
            return {}
        case "GET", ["session", _, "message"] | ["permission"] | ["question"]:
            return []
    return {"success": True, "data": {}}


class _Redis(socketserver.StreamRequestHandler):
    """Says yes to everything: the one who is asked for a token here does not look."""

    def handle(self) -> None:
        while head := self.rfile.readline():
            for _ in range(int(head[1:])):
                self.rfile.readline()
                self.rfile.readline()
            self.wfile.write(b"+OK\r\n")


@contextmanager
def serving() -> Iterator[tuple[str, str]]:
    """Give the addresses of OpenHub, which is opencode as well, and of its Redis."""
    web = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    redis = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Redis)
    web.daemon_threads = redis.daemon_threads = True
    for each in (web, redis):
        threading.Thread(target=each.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{web.server_address[1]}", f"redis://127.0.0.1:{redis.server_address[1]}/3"
    finally:
        web.shutdown()
        redis.shutdown()
