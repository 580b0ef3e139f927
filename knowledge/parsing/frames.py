"""Messages between the pool and a child: a JSON head and up to two bodies of bytes, each with its length in front."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable
from typing import Any

_LENGTHS = struct.Struct("!III")
_CHUNK = 1 << 20


class FrameError(Exception):
    """The other side closed the socket or sent something that is no frame."""


def pack_frame(head: dict[str, Any], first: bytes = b"", second: bytes = b"") -> bytes:
    """Return one frame."""
    encoded = json.dumps(head).encode()
    return b"".join((_LENGTHS.pack(len(encoded), len(first), len(second)), encoded, first, second))


def read_frame(
    receive: Callable[[int], bytes], *, max_bytes: int, start: bytes = b""
) -> tuple[dict[str, Any], bytes, bytes]:
    """Read one frame through `receive`; `start` holds bytes of it that are already read.

    Raises FrameError for an end of stream or a frame over `max_bytes`.
    """
    lengths = _LENGTHS.unpack(start + _exactly(receive, _LENGTHS.size - len(start)))
    if sum(lengths) > max_bytes:
        raise FrameError("the frame is larger than allowed")
    head, first, second = (_exactly(receive, length) for length in lengths)
    return json.loads(head), first, second


def read_frame_with_fd(sock: socket.socket, *, max_bytes: int) -> tuple[dict[str, Any], int] | None:
    """Read a frame that comes with one open file, or None when the other side is gone. Raises FrameError."""
    start, descriptors, _, _ = socket.recv_fds(sock, _LENGTHS.size, 1)
    if not start:
        return None
    if len(descriptors) != 1:
        raise FrameError("a request without its file")
    head, _, _ = read_frame(sock.recv, max_bytes=max_bytes, start=start)
    return head, descriptors[0]


def _exactly(receive: Callable[[int], bytes], count: int) -> bytes:
    parts: list[bytes] = []
    while count:
        part = receive(min(count, _CHUNK))
        if not part:
            raise FrameError("the other side is gone")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
