"""A web server on loopback that answers what a test tells it, and remembers what it was asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer. `drip_seconds` is the pause after each byte of the body; `close` breaks off before any byte."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    drip_seconds: float = 0
    close: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request that came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class WebStub:
    """`replies` are given in turn for each path, the last one for ever."""

    port: int
    replies: dict[str, list[Reply]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def reply(self, path: str, *replies: Reply) -> str:
        """Set the answers of a path and give its address."""
        self.replies[path] = list(replies)
        return self.url + path

    def next_reply(self, path: str) -> Reply:
        known = self.replies.get(path, [Reply(status=404)])
        return known.pop(0) if len(known) > 1 else known[0]


@contextmanager
def web_stub() -> Iterator[WebStub]:
    """Run a stub on a free port of 127.0.0.1."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.stub = WebStub(port=server.server_address[1])  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server.stub  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up, or was hung up on, is part of the play."""


class _Handler(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True  # a head and its body would wait 40 ms for each other
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        stub: WebStub = self.server.stub  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        stub.asked.append(Asked(method=self.command, path=self.path, headers=dict(self.headers), body=body))
        reply = stub.next_reply(self.path.partition("?")[0])
        if reply.close:
            self.close_connection = True
            self.connection.close()
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self._write(reply)

    def _write(self, reply: Reply) -> None:
        try:
            if not reply.drip_seconds:
                self.wfile.write(reply.body)
            for byte in reply.body if reply.drip_seconds else b"":
                self.wfile.write(bytes([byte]))
                time.sleep(reply.drip_seconds)
        except OSError:
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 names of http.server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""
