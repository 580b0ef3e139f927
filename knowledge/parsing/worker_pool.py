"""Parsing in bounded child processes: a file that hangs, crashes or swells harms no other file and no worker."""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from knowledge.parsing.base import ParseCode, ParseError, ParseLimits
from knowledge.parsing.frames import FrameError, pack_frame, read_frame
from knowledge.parsing.page_images import PageImage
from knowledge.parsing.source_map import SourceMap

_PROJECT = Path(__file__).resolve().parents[2]
_MAX_MAP_BYTES = 512 * 1024 * 1024
_BYTES_PER_CHAR = 4


class ParsePool:
    """`size` children, started when first needed and kept. Threads share the pool; each borrows one child at a time.

    The file is handed over as an open descriptor: whoever may open the path decides, the child cannot.
    """

    def __init__(self, size: int = 1, limits: ParseLimits | None = None) -> None:
        self.limits = limits or ParseLimits()
        self._size = size
        self._closed = False
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._children: set[_Child] = set()
        self._idle = _slots(size)

    def parse(self, fd: int, name: str, *, options: dict[str, Any] | None = None) -> SourceMap:
        """Parse the open file `fd` (read from its start, offset untouched) as a file called `name` (a base name).

        The hash in the map is of the very bytes that were parsed. Raises ParseError; parse_timeout after
        `limits.seconds`, parse_failed when the child died of the file.
        """
        _, encoded, text = self._ask(fd, {"op": "parse", "name": name, "options": options or {}})
        return SourceMap.from_bytes(encoded, text.decode())

    def render_page(self, fd: int, page: int, *, max_width_px: int) -> PageImage:
        """Render page `page` (1-based) of the open PDF `fd`. Raises ParseError."""
        head, png, _ = self._ask(fd, {"op": "render", "page": page, "max_width_px": max_width_px})
        return PageImage(png=png, width=head["width"], height=head["height"])

    def page_sizes(self, fd: int) -> list[tuple[float, float]]:
        """Return width and height in points of the pages of the open PDF `fd`. Raises ParseError."""
        head, _, _ = self._ask(fd, {"op": "measure"})
        return [(width, height) for width, height in head["sizes"]]

    @property
    def is_closed(self) -> bool:
        return self._closed

    @property
    def child_pids(self) -> set[int]:
        """The processes that run now, for those who watch the machine."""
        with self._lock:
            return {child.pid for child in self._children if child.is_alive()}

    def close(self) -> None:
        """End all children, also those at work. The pool cannot be used again."""
        with self._lock:
            self._closed = True
            children, self._children = self._children, set()
        for child in children:
            child.kill()

    def __enter__(self) -> ParsePool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, fd: int, head: dict[str, Any]) -> tuple[dict[str, Any], bytes, bytes]:
        head["limits"] = asdict(self.limits)
        max_bytes = _MAX_MAP_BYTES + self.limits.max_text_chars * _BYTES_PER_CHAR
        try:
            with self._borrowed() as child:
                answer, first, second = child.ask(fd, head, seconds=self.limits.seconds, max_bytes=max_bytes)
        except ParseError as error:
            if self._closed:
                raise ParseError(ParseCode.PARSE_FAILED, "the parse pool was closed", retryable=True) from error
            raise
        if not answer["ok"]:
            raise ParseError(ParseCode(answer["code"]), answer["message"], retryable=answer["retryable"])
        return answer, first, second

    @contextmanager
    def _borrowed(self) -> Iterator[_Child]:
        self._forget_after_fork()
        child = self._idle.get()
        try:
            if child is None or not child.is_alive():
                child = self._start()
            yield child
        finally:
            self._give_back(child)

    def _start(self) -> _Child:
        with self._lock:
            if self._closed:
                raise RuntimeError("the parse pool is closed")
            child = _Child()
            self._children.add(child)
            return child

    def _give_back(self, child: _Child | None) -> None:
        if child is not None and not child.is_alive():
            with self._lock:
                self._children.discard(child)
            child = None
        self._idle.put(child)

    def _forget_after_fork(self) -> None:
        """A forked process must not talk to its parent's children."""
        if self._owner == os.getpid():
            return
        for child in self._children:
            child.forget()
        self._owner, self._lock, self._children = os.getpid(), threading.Lock(), set()
        self._idle = _slots(self._size)


def _slots(size: int) -> queue.LifoQueue[_Child | None]:
    idle: queue.LifoQueue[_Child | None] = queue.LifoQueue()
    for _ in range(size):
        idle.put(None)
    return idle


class _Child:
    """One child process and the socket to it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "knowledge.parsing.child", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=_environment(),
                cwd="/",
                start_new_session=True,
            )
        self._socket = ours

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(
        self, fd: int, head: dict[str, Any], *, seconds: float, max_bytes: int
    ) -> tuple[dict[str, Any], bytes, bytes]:
        """Send one request and wait for its answer; a child that does not answer in time is killed."""
        deadline = time.monotonic() + seconds
        try:
            frame = self._exchange(fd, head, deadline, max_bytes)
        except TimeoutError as error:
            self.kill()
            raise ParseError(ParseCode.PARSE_TIMEOUT, f"not read within {seconds:g} seconds") from error
        except (FrameError, OSError) as error:
            self.kill()
            message = "the parser process ended on this file"
            raise ParseError(ParseCode.PARSE_FAILED, message, retryable=True) from error
        if frame[0].get("worn"):
            self.kill()
        return frame

    def kill(self) -> None:
        """End the child and whatever it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._socket.close()

    def forget(self) -> None:
        """Let go of a child that another process owns."""
        self._socket.close()

    def _exchange(
        self, fd: int, head: dict[str, Any], deadline: float, max_bytes: int
    ) -> tuple[dict[str, Any], bytes, bytes]:
        request = pack_frame(head)
        self._socket.settimeout(_left(deadline))
        sent = socket.send_fds(self._socket, [request], [fd])
        self._socket.sendall(request[sent:])

        def receive(count: int) -> bytes:
            self._socket.settimeout(_left(deadline))
            return self._socket.recv(count)

        return read_frame(receive, max_bytes=max_bytes)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _environment() -> dict[str, str]:
    """No secret of ours reaches a process that reads strangers' files; two arenas keep the address space small."""
    return {
        "PATH": os.defpath,
        "PYTHONPATH": str(_PROJECT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
        "MALLOC_ARENA_MAX": "2",
        "OMP_NUM_THREADS": "1",
    }
