"""A browser at a run's event stream, on a bare socket, that can be killed anywhere."""

from __future__ import annotations

import random
import socket
import struct
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.pageai.views.conftest import Panel


@dataclass(slots=True)
class Browser:
    """Keeps whole events as bytes, and what it saw last. `kills` counts connections that it broke off."""

    panel: Panel
    run_id: str
    received: list[bytes] = field(default_factory=list)
    last: str = ""
    kills: int = 0

    def read(self, *, at_most: int | None = None) -> int:
        """Read on from the last event: to the stream's end, or until so many bytes came, and break off. Give the
        status."""
        with self._connected() as wire:
            rest, count = b"", 0
            while b"\r\n\r\n" not in rest:
                piece = wire.recv(4096)
                assert piece, "no answer"
                rest += piece
            head, _blank, rest = rest.partition(b"\r\n\r\n")
            body, is_chunked = bytearray(), b"chunked" in head.lower()
            while True:
                rest = _unchunked(rest, body) if is_chunked else _moved(rest, body)
                if at_most is not None and count >= at_most:
                    self._take(body[:at_most])
                    self._kill(wire)
                    break
                piece = wire.recv(4096)
                if not piece or rest.endswith(b"0\r\n\r\n"):
                    self._take(body)
                    break
                rest, count = rest + piece, count + len(piece)
            return int(head.split()[1])

    def _connected(self) -> socket.socket:
        where = urlsplit(self.panel.site)
        wire = socket.create_connection((where.hostname, where.port), timeout=30)
        cookies = "; ".join(f"{name}={value}" for name, value in self.panel.session.cookies.items())
        lines = [
            f"GET /api/page-ai/runs/{self.run_id}/events HTTP/1.1", f"Host: {where.netloc}", f"Cookie: {cookies}",
            "Accept: text/event-stream", "Connection: close",
        ]  # fmt: skip
        lines += [f"Last-Event-ID: {self.last}"] if self.last else []
        wire.sendall("\r\n".join([*lines, "", ""]).encode())
        return wire

    def _take(self, body: bytes | bytearray) -> None:
        blocks = bytes(body).split(b"\n\n")[:-1]  # the last one is not whole
        for block in blocks:
            if block.startswith(b"id: "):
                self.received.append(block + b"\n\n")
                self.last = block[4:].split(b"\n")[0].decode()

    def _kill(self, wire: socket.socket) -> None:
        self.kills += 1
        if random.random() < 0.5:  # a reset instead of a good-bye
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _moved(rest: bytes, body: bytearray) -> bytes:
    body += rest
    return b""


def _unchunked(rest: bytes, body: bytearray) -> bytes:
    while b"\r\n" in rest:
        size, _line, more = rest.partition(b"\r\n")
        length = int(size or b"0", 16)
        if length == 0 or len(more) < length + 2:
            return rest
        body += more[:length]
        rest = more[length + 2 :]
    return rest
