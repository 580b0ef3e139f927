"""The limiter of one machine: a small file per name, changed under a lock of the operating system."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_REST = "rest"


class FileLimiter:
    """For all processes of one machine that share a folder. Clocks are the machine's, so restarts do not matter."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, name: str, holder: str, *, limit: int, seconds: float) -> bool:
        with self._changing(name) as places:
            if holder not in places and len(places) >= limit:
                return False
            places[holder] = time.time() + seconds
            return True

    def give_back(self, name: str, holder: str) -> None:
        with self._changing(name) as places:
            places.pop(holder, None)

    def holders(self, name: str) -> frozenset[str]:
        with self._changing(name) as places:
            return frozenset(places)

    def rest(self, name: str, seconds: float) -> None:
        with self._changing(f"{_REST}:{name}") as places:
            places[_REST] = max(places.get(_REST, 0.0), time.time() + seconds)

    def resting(self, name: str) -> float:
        path = self._path(f"{_REST}:{name}")
        if not path.exists():
            return 0.0
        with self._changing(f"{_REST}:{name}") as places:
            return max(0.0, places.get(_REST, 0.0) - time.time())

    @contextmanager
    def _changing(self, name: str) -> Iterator[dict[str, float]]:
        """Give what is held now, and write what it became. A file that cannot be read counts as empty."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(self._path(name), os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            before = file.read()
            places = _live(before)
            yield places
            after = json.dumps(places)
            if after != before:
                file.seek(0)
                file.write(after)
                file.truncate()

    def _path(self, name: str) -> Path:
        return self._folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.json"


def _live(content: str) -> dict[str, float]:
    try:
        places = json.loads(content or "{}")
    except ValueError:
        return {}
    now = time.time()
    return {holder: ends for holder, ends in places.items() if ends > now}
