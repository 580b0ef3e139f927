"""An OpenAI-compatible model on loopback that does what a test's script says, and remembers what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """A final answer. Of one with `until` the first half comes at once, the rest when that is set."""

    text: str
    until: threading.Event | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A call of a tool."""

    name: str
    arguments: Mapping[str, Any]


#: From a request of the client to the next step. What it raises is answered with status 500.
Script = Callable[[Body], Say | Use]


@dataclass(slots=True)
class ChatModel:
    port: int
    script: Script
    asked: list[Body] = field(default_factory=list)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


@contextmanager
def chat_model(script: Script) -> Iterator[ChatModel]:
    """Run a model on a free port of 127.0.0.1."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.model = ChatModel(port=server.server_address[1], script=script)  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.model  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def text_of(message: Body) -> str:
    """Return the text of a message, whose content may be one text or several parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)


def tool_results(body: Body) -> list[str]:
    """Return what tools answered so far, in order."""
    return [text_of(message) for message in body["messages"] if message["role"] == "tool"]


def tool_names(body: Body) -> list[str]:
    """Return the names of the tools that the model is offered."""
    return [each["function"]["name"] for each in body.get("tools", ())]


class _Handler(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True  # a head and its body would wait 40 ms for each other
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        model: ChatModel = self.server.model  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        model.asked.append(body)
        try:
            step = model.script(body)
        except Exception as error:  # noqa: BLE001 a broken script shows in the test
            self._send(500, "application/json", json.dumps({"error": {"message": repr(error)}}).encode())
            return
        if isinstance(step, Say) and step.until is not None:
            self._send_slowly(step.text, step.until)
            return
        chunks = [_chunk(delta, reason) for delta, reason in _deltas(step)]
        stream = "".join(f"data: {json.dumps(each)}\n\n" for each in chunks) + "data: [DONE]\n\n"
        self._send(200, "text/event-stream", stream.encode())

    def _send_slowly(self, text: str, until: threading.Event) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        half = len(text) // 2
        for piece, reason in ((text[:half], None), (text[half:], None), ("", "stop")):
            self.wfile.write(f"data: {json.dumps(_chunk({'content': piece}, reason))}\n\n".encode())
            self.wfile.flush()
            until.wait(60)
        self.close_connection = True

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


def _deltas(step: Say | Use) -> Iterator[tuple[Body, str | None]]:
    yield {"role": "assistant", "content": ""}, None
    if isinstance(step, Say):
        yield {"content": step.text}, None
        yield {}, "stop"
        return
    function = {"name": step.name, "arguments": json.dumps(step.arguments)}
    yield {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}, None
    yield {}, "tool_calls"


def _chunk(delta: Body, reason: str | None) -> Body:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    chunk = {"id": "chunk", "object": "chat.completion.chunk", "created": 0, "model": "scripted", "choices": [choice]}
    return chunk | ({"usage": usage} if reason else {})
