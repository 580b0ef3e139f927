"""Run a few child processes as one: started together, stopped together, nothing left behind."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType

_LOOK_SECONDS = 0.2
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A program to run: the name its lines are marked with, and its command line.

    `ends_run`: it is meant to end, and its exit code is that of the whole run.
    """

    name: str
    command: tuple[str, ...]
    ends_run: bool = False


def supervise(
    children: Iterable[Child], *, say: Callable[[str], None], stop_seconds: float, keep_open: Iterable[int] = ()
) -> int:
    """Run until one child ends or we are told to stop (SIGINT, SIGTERM); then stop all. Return the exit code.

    Told to stop: 0. Otherwise the code of the child that ended, 1 if it ended without one. Children get SIGTERM, and
    SIGKILL with all their descendants after `stop_seconds` or at a second signal. If this process is killed, the
    kernel sends them SIGTERM. Descriptors in `keep_open` stay open in the children. `say` takes finished lines.
    """
    children = tuple(children)
    with _stop_signals() as stop:
        running = [_start(child, tuple(keep_open)) for child in children]
        readers = [_relay(process, child.name, say) for process, child in zip(running, children, strict=True)]
        while not stop.asked.wait(_LOOK_SECONDS) and all(process.poll() is None for process in running):
            pass
        code = 0 if stop.asked.is_set() else _first_code(running, children)
        _stop(running, stop, stop_seconds)
        for reader in readers:
            reader.join(1.0)
    return code


class _StopRequest:
    def __init__(self) -> None:
        self.asked = threading.Event()
        self.urgent = threading.Event()

    def note(self, _number: int, _frame: FrameType | None) -> None:
        (self.urgent if self.asked.is_set() else self.asked).set()


@contextmanager
def _stop_signals() -> Iterator[_StopRequest]:
    request = _StopRequest()
    former = {number: signal.signal(number, request.note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _start(child: Child, keep_open: tuple[int, ...]) -> subprocess.Popen[str]:
    parent = os.getpid()
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def die_with_parent() -> None:
        if libc is None:
            return
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)

    return subprocess.Popen(
        child.command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        preexec_fn=die_with_parent,  # noqa: PLW1509 no thread of ours runs while children are started
        pass_fds=keep_open,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )


def _relay(process: subprocess.Popen[str], name: str, say: Callable[[str], None]) -> threading.Thread:
    stream = process.stdout
    assert stream is not None  # noqa: S101 it was opened as a pipe

    def copy() -> None:
        with stream:
            for line in stream:
                say(f"[{name}] {line.rstrip()}")

    reader = threading.Thread(target=copy, name=f"lines-{name}", daemon=True)
    reader.start()
    return reader


def _first_code(running: list[subprocess.Popen[str]], children: tuple[Child, ...]) -> int:
    for process, child in zip(running, children, strict=True):
        code = process.poll()
        if code is not None:
            return 128 - code if code < 0 else code or int(not child.ends_run)
    return 1


def _stop(running: list[subprocess.Popen[str]], request: _StopRequest, stop_seconds: float) -> None:
    for process in running:
        if process.poll() is None:
            process.terminate()
    ends_at = time.monotonic() + stop_seconds
    while any(process.poll() is None for process in running):
        if time.monotonic() > ends_at or request.urgent.wait(_LOOK_SECONDS / 4):
            break
    for process in running:
        _kill_group(process)


def _kill_group(process: subprocess.Popen[str]) -> None:
    """End what is left of the child's process group: itself, if it did not listen, and descendants it forgot."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
