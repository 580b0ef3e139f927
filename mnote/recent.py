"""What was used recently, kept in memory up to a number."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """The `most` entries used last, together of at most `most_weight` by `weigh`; the one used last stays in any case.
    Safe to use from several threads."""

    def __init__(self, most: int, *, weigh: Callable[[Value], int] = lambda _value: 0, most_weight: int = 0) -> None:
        self._most, self._weigh, self._most_weight = most, weigh, most_weight
        self._weight = 0
        self._entries: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key]

    def put(self, key: Key, value: Value) -> None:
        with self._lock:
            self._remove(key)
            self._entries[key] = value
            self._weight += self._weigh(value)
            while len(self._entries) > 1 and (len(self._entries) > self._most or self._weight > self._most_weight):
                self._remove(next(iter(self._entries)))

    def drop(self, key: Key) -> None:
        """Forget an entry; one that is not there is no error."""
        with self._lock:
            self._remove(key)

    def drop_where(self, is_to_go: Callable[[Key], bool]) -> None:
        """Forget the entries whose keys are to go."""
        with self._lock:
            for key in [*filter(is_to_go, self._entries)]:
                self._remove(key)

    def _remove(self, key: Key) -> None:
        if key in self._entries:
            self._weight -= self._weigh(self._entries.pop(key))
