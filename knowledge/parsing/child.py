"""The child process that parses: `python -m knowledge.parsing.child <socket fd>`.

It reads requests from the socket until the pool closes it. Each comes with one open file: the child never opens a path
of a user. A file that breaks it takes down this process only. No Django here: start-up counts.
"""

from __future__ import annotations

import gc
import hashlib
import itertools
import os
import resource
import select
import signal
import socket
import stat
import sys
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any

from knowledge.parsing.base import ParseCode, ParseError, ParseInput, ParseLimits
from knowledge.parsing.frames import pack_frame, read_frame_with_fd
from knowledge.parsing.page_images import page_sizes, render_page
from knowledge.parsing.registry import parse_bytes

_MAX_REQUEST = 1 << 20
_READ = 1 << 20
#: The pool ends a slow parse by itself; this one is for a child whose parent is gone.
_GRACE_SECONDS = 10
#: Above this share of its memory bound a child is replaced after its answer: the heap does not shrink again.
_WORN_SHARE = 0.4
_COLLECT_EVERY = 50

Answer = tuple[dict[str, Any], bytes, bytes]


def main() -> None:
    sock = socket.socket(fileno=int(sys.argv[1]))
    _restrict()
    threading.Thread(target=_leave_with_parent, args=(sock.fileno(),), daemon=True).start()
    gc.disable()  # parsing makes many objects and hardly a cycle: a fifth of the time
    for count in itertools.count(1):
        request = read_frame_with_fd(sock, max_bytes=_MAX_REQUEST)
        if request is None:
            return
        head, descriptor = request
        limits = ParseLimits(**{field.name: head["limits"][field.name] for field in fields(ParseLimits)})
        _bound(limits)
        try:
            answer, first, second = _answer(head, descriptor, limits)
        finally:
            os.close(descriptor)
        signal.alarm(0)
        answer["worn"] = answer.get("worn", False) or _is_worn(limits)
        sock.sendall(pack_frame(answer, first, second))
        del answer, first, second
        if count % _COLLECT_EVERY == 0:
            gc.collect()


def _leave_with_parent(descriptor: int) -> None:
    """End this process, also in the middle of a parse, as soon as the other end of the socket is gone."""
    hangup = select.poll()
    hangup.register(descriptor, 0)
    hangup.poll()
    os._exit(0)


def _restrict() -> None:
    """No core files, no writing, few open files."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


def _bound(limits: ParseLimits) -> None:
    seconds = int(limits.seconds) + _GRACE_SECONDS
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cores = os.cpu_count() or 1
    resource.setrlimit(
        resource.RLIMIT_CPU, (int(usage.ru_utime + usage.ru_stime) + seconds * cores, resource.RLIM_INFINITY)
    )
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, resource.RLIM_INFINITY))
    signal.alarm(seconds)


def _answer(head: dict[str, Any], descriptor: int, limits: ParseLimits) -> Answer:
    try:
        data = _read(descriptor, limits.max_bytes)
        if head["op"] == "measure":
            return {"ok": True, "sizes": page_sizes(data, max_pages=limits.max_pages)}, b"", b""
        return _render(head, data) if head["op"] == "render" else _parse(head, data, limits)
    except ParseError as error:
        return _refusal(error.code, error.message, retryable=error.retryable)
    except MemoryError:
        answer, _, _ = _refusal(ParseCode.TOO_LARGE, "reading it needs more memory than allowed")
        return answer | {"worn": True}, b"", b""
    except OSError as error:
        return _refusal(ParseCode.PARSE_FAILED, f"reading failed: {os.strerror(error.errno or 0)}", retryable=True)
    except Exception as error:  # noqa: BLE001 the edge of the process: one file must not end the others
        return _refusal(ParseCode.PARSE_FAILED, f"the parser failed: {type(error).__name__}")


def _refusal(code: ParseCode, message: str, *, retryable: bool = False) -> Answer:
    return {"ok": False, "code": code.value, "message": message, "retryable": retryable}, b"", b""


def _read(descriptor: int, max_bytes: int) -> bytes:
    """Read the whole file from its start. Raises ParseError too_large, OSError."""
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_size > max_bytes:
        raise ParseError(ParseCode.TOO_LARGE, f"the file has more than {max_bytes} bytes")
    parts: list[bytes] = []
    size = 0
    while part := os.pread(descriptor, _READ, size):
        parts.append(part)
        size += len(part)
        if size > max_bytes:
            raise ParseError(ParseCode.TOO_LARGE, f"the file has more than {max_bytes} bytes")
    return b"".join(parts)


def _parse(head: dict[str, Any], data: bytes, limits: ParseLimits) -> Answer:
    source_hash = f"sha256:{hashlib.sha256(data).hexdigest()}"
    item = ParseInput(name=head["name"], data=data, source_hash=source_hash, limits=limits, options=head["options"])
    source_map = parse_bytes(item)
    return {"ok": True}, source_map.to_bytes(), source_map.text.encode()


def _render(head: dict[str, Any], data: bytes) -> Answer:
    image = render_page(data, head["page"], max_width_px=head["max_width_px"])
    return {"ok": True, "width": image.width, "height": image.height}, image.png, b""


def _is_worn(limits: ParseLimits) -> bool:
    return _peak_bytes() > limits.memory_bytes * _WORN_SHARE


def _peak_bytes() -> int:
    """The most memory this program has held. `ru_maxrss` would be at least what the process that started us held: it is
    carried over a fork and an exec."""
    try:
        status = Path("/proc/self/status").read_text("ascii", "replace")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)


if __name__ == "__main__":
    main()
