"""The real worker and the real server beside a measurement, on the data folder of the run."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from django.conf import settings

from mnote.process import preflight, programs

_STOP_SECONDS = 20.0


@contextmanager
def worker() -> Iterator[None]:
    """Run the worker as `serve` starts it."""
    preflight.make_folders()
    with _running(programs.worker().command):
        yield


@contextmanager
def server() -> Iterator[str]:
    """Run `manage.py serve` and give its address once it answers."""
    port = _free_port()
    command = (sys.executable, str(settings.BASE_DIR / "manage.py"), "serve", "--port", str(port))
    with _running(command) as process:
        wait_until(lambda: _is_ready(process, port), "the server", 90)
        yield f"http://127.0.0.1:{port}"


def wait_until(holds: Callable[[], object], what: str, seconds: float, *, pause: float = 0.05) -> None:
    """Look again and again; raises TimeoutError."""
    ends = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > ends:
            raise TimeoutError(f"waited {seconds:.0f} s in vain for {what}")
        time.sleep(pause)


@contextmanager
def _running(command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(
        command, cwd=settings.BASE_DIR, env=os.environ, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _is_ready(process: subprocess.Popen[bytes], port: int) -> bool:
    if process.poll() is not None:
        raise RuntimeError(f"serve ended with code {process.returncode}")
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
