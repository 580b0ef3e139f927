"""What all workers that ask one server share: counted places that are held for a while, and a pause for everybody.

Places are leases: a worker that dies gives them back by time. One that is held inside a block is renewed as long as the
block lasts, so that its lease can be short. Nothing here is the truth about anything; when the store of the leases is
lost, the server gets more work at once than it likes, and what it loses is repaired later.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol
from uuid import uuid4


class Limiter(Protocol):
    """Safe to use from several threads and, where the implementation says so, processes and hosts."""

    def take(self, name: str, holder: str, *, limit: int, seconds: float) -> bool:
        """Hold one of `limit` places of `name` for `seconds`. A holder has one place: taking it again renews it."""
        ...

    def give_back(self, name: str, holder: str) -> None:
        """Let go of a place. One that is not held is no error."""
        ...

    def holders(self, name: str) -> frozenset[str]:
        """Return who holds a place of `name` now."""
        ...

    def rest(self, name: str, seconds: float) -> None:
        """Tell all to leave `name` alone for so long. A longer rest stays."""
        ...

    def resting(self, name: str) -> float:
        """Return the seconds for which `name` is to be left alone; 0 mostly."""
        ...


@contextmanager
def held(limiter: Limiter, name: str, *, limit: int, seconds: float) -> Iterator[bool]:
    """Hold a place inside the block, however long that lasts; gives False when there was none. When the process dies
    inside, the place is free after `seconds`."""
    holder = uuid4().hex
    if not limiter.take(name, holder, limit=limit, seconds=seconds):
        yield False
        return
    is_over = threading.Event()

    def keep() -> None:
        while not is_over.wait(seconds / 3):
            limiter.take(name, holder, limit=limit, seconds=seconds)

    keeper = threading.Thread(target=keep, name="place", daemon=True)
    keeper.start()
    try:
        yield True
    finally:
        is_over.set()
        keeper.join()  # before it is given back: a renewal that comes later would hold it again
        limiter.give_back(name, holder)


class MemoryLimiter:
    """For one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self._rests: dict[str, float] = {}

    def take(self, name: str, holder: str, *, limit: int, seconds: float) -> bool:
        with self._lock:
            places = self._live(name)
            if holder not in places and len(places) >= limit:
                return False
            places[holder] = time.monotonic() + seconds
            return True

    def give_back(self, name: str, holder: str) -> None:
        with self._lock:
            self._places[name].pop(holder, None)

    def holders(self, name: str) -> frozenset[str]:
        with self._lock:
            return frozenset(self._live(name))

    def rest(self, name: str, seconds: float) -> None:
        with self._lock:
            self._rests[name] = max(self._rests.get(name, 0.0), time.monotonic() + seconds)

    def resting(self, name: str) -> float:
        with self._lock:
            return max(0.0, self._rests.get(name, 0.0) - time.monotonic())

    def _live(self, name: str) -> dict[str, float]:
        now = time.monotonic()
        self._places[name] = {holder: ends for holder, ends in self._places[name].items() if ends > now}
        return self._places[name]
