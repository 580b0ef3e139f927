"""One run a data folder: a lock that lives as long as the run or any of its children."""

from __future__ import annotations

import fcntl
import os
import time
from dataclasses import dataclass
from pathlib import Path

_ENDING_SECONDS = 20.0
_LOOK_SECONDS = 0.2


class AlreadyRunning(Exception):
    """Another run uses this data folder. The message is a sentence for the person at the terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLock:
    """Held locks, one a role. Children inherit the descriptors: the lock ends with the last of them."""

    descriptors: tuple[int, ...]

    def release(self) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)


def take(data_dir: Path, roles: tuple[str, ...]) -> RunLock:
    """Lock each role ("web", "worker") of the data folder. Raises AlreadyRunning.

    When the process that took the lock is dead but its children are still ending, they get some seconds.
    """
    taken: list[int] = []
    try:
        for role in roles:
            taken.append(_take_one(data_dir / f"{role}.lock", role))  # noqa: PERF401 released one by one on failure
    except AlreadyRunning:
        RunLock(descriptors=tuple(taken)).release()
        raise
    return RunLock(descriptors=tuple(taken))


def _take_one(path: Path, role: str) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    ends_at = time.monotonic() + _ENDING_SECONDS
    while not _try(descriptor):
        owner = _owner(descriptor)
        if _is_alive(owner) or time.monotonic() > ends_at:
            os.close(descriptor)
            raise AlreadyRunning(
                f"MNote already runs on this data folder ({role}, process {owner}). "
                "Stop it first, or set MNOTE_DATA_DIR to another folder."
            )
        time.sleep(_LOOK_SECONDS)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _owner(descriptor: int) -> int:
    text = os.pread(descriptor, 20, 0)
    return int(text) if text.isdigit() else 0


def _is_alive(process_id: int) -> bool:
    if process_id <= 0:
        return False
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
