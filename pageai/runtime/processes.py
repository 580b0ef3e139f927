"""Processes that may outlive whoever started them: told apart by their number and the moment they began. Pure."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from pageai.runtime.program import Launch

_PR_SET_PDEATHSIG = 1
_LOOK_SECONDS = 0.05
_TERM_SECONDS = 2.0
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def start(launch: Launch, *, log: Path) -> subprocess.Popen[bytes]:
    """Start a program in a process group of its own. If this process is killed, the kernel ends it. Must be called by
    the main thread: the kernel watches the thread. Raises OSError."""
    parent = os.getpid()
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def die_with_parent() -> None:
        os.umask(0o077)
        if libc is None:
            return
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as output:
        return subprocess.Popen(
            launch.command,
            cwd=launch.root,
            env=dict(launch.environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 only it can ask the kernel
        )


def began(pid: int) -> str:
    """Say when a process began, in words that no other process of this machine has together with its number; "" when
    there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        return f"{_BOOT.read_text('ascii').strip()}:{stat.rpartition(')')[2].split()[19]}"
    except FileNotFoundError:
        return _began_elsewhere(pid) if not _BOOT.exists() else ""
    except (OSError, IndexError):
        return ""


def end(pid: int, began_at: str) -> bool:
    """End a process and its group, if it is still the one that began then; say whether it was. It may take two signals,
    and is killed when it does not listen."""
    if pid <= 0 or not began_at or began(pid) != began_at:
        return False
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(pid, number)
        if _is_over(pid, began_at, _TERM_SECONDS):
            break
    return True


def _is_over(pid: int, began_at: str, seconds: float) -> bool:
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
        if began(pid) != began_at:
            return True
        time.sleep(_LOOK_SECONDS)
    return False


def _began_elsewhere(pid: int) -> str:
    """Systems without /proc."""
    asked = ["ps", "-o", "lstart=", "-p", str(pid)]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
