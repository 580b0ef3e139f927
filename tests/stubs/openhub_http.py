"""A small HTTP server on loopback whose answers may be streams, may hang, and may break off in the middle."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit


class BrokenOff(Exception):
    """Raised by a stream to close the connection without an end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request that came in. `path` is decoded, `target` is what stood in the request line."""

    method: str
    target: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body or b"null")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer: a body, or a stream of pieces sent as they come."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: Iterator[bytes] | None = None


def json_reply(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply(status=status, body=json.dumps(value, ensure_ascii=False).encode(), headers=headers or {})


class Answering(Protocol):
    asked: list[Asked]

    def answer(self, asked: Asked) -> Reply: ...


@contextmanager
def serving(stub: Answering) -> Iterator[str]:
    """Serve a stub on a free port of 127.0.0.1 and give its address."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.stub = stub
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    stub: Answering

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away in the middle are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True  # a head and its body would wait 40 ms for each other
    protocol_version = "HTTP/1.1"
    server: _Server

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        split = urlsplit(self.path)
        asked = Asked(
            method=self.command,
            target=self.path,
            path=unquote(split.path),
            query=dict(parse_qsl(split.query, keep_blank_values=True)),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=body,
        )
        self.server.stub.asked.append(asked)
        reply = self.server.stub.answer(asked)
        self._send(reply)

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.stream is None:
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._send_stream(reply.stream)

    def _send_stream(self, stream: Iterator[bytes]) -> None:
        try:
            for piece in stream:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
        except (BrokenOff, OSError):
            self.close_connection = True
        finally:
            close = getattr(stream, "close", None)
            if close:
                close()

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _answer  # noqa: N815 names of http.server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""
