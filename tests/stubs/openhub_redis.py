"""The Redis of OpenHub on a real socket: the few commands its keys need, and a switch to take it down."""

from __future__ import annotations

import socketserver
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class RedisStub:
    """`values` are the live keys. While `is_down`, connections are closed at once."""

    values: dict[str, str] = field(default_factory=dict)
    ends: dict[str, float] = field(default_factory=dict)
    is_down: bool = False
    url: str = ""
    run_id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def get(self, key: str) -> str | None:
        if self.ends.get(key, float("inf")) <= time.monotonic():
            self.values.pop(key, None)
        return self.values.get(key)

    def flush(self) -> None:
        self.values.clear()

    def run(self, name: str, arguments: list[str]) -> Any:
        match name, arguments:
            case "PING", _:
                return "+PONG"
            case "SET", [key, value, *options]:
                self.values[key] = value
                self.ends[key] = time.monotonic() + _seconds(options)
                return "+OK"
            case "GET", [key]:
                return self.get(key)
            case "DEL", keys:
                return sum(self.values.pop(key, None) is not None for key in keys)
            case "INFO", _:
                return f"# Server\r\nrun_id:{self.run_id}\r\n"
            case (("SELECT" | "CLIENT"), _):
                return "+OK"
        return f"-ERR unknown command {name}"


@contextmanager
def redis_stub() -> Iterator[RedisStub]:
    stub = RedisStub()
    server = _Server(("127.0.0.1", 0), _Handler)
    server.stub = stub
    stub.url = f"redis://127.0.0.1:{server.server_address[1]}/3"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    stub: RedisStub


class _Handler(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        while not self.server.stub.is_down and (words := self._read()):
            if self.server.stub.is_down:
                return
            self.wfile.write(_encode(self.server.stub.run(words[0].upper(), words[1:])))

    def _read(self) -> list[str]:
        head = self.rfile.readline()
        if not head.startswith(b"*"):
            return []
        words = []
        for _each in range(int(head[1:])):
            size = int(self.rfile.readline()[1:])
            words.append(self.rfile.read(size).decode())
            self.rfile.readline()
        return words


def _seconds(options: list[str]) -> float:
    named = dict(zip([each.upper() for each in options[::2]], options[1::2], strict=False))
    return float(named.get("EX", "inf"))


def _encode(value: Any) -> bytes:
    if value is None:
        return b"$-1\r\n"
    if isinstance(value, int):
        return b":%d\r\n" % value
    if value[:1] in "+-":
        return f"{value}\r\n".encode()
    raw = value.encode()
    return b"$%d\r\n%s\r\n" % (len(raw), raw)
