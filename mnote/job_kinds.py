"""Which kinds of jobs exist, and which function does each.

Handlers live in `<app>/tasks.py`. They are imported once per process, by `load()`: the worker does so when it starts,
the web process before it serves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from django.utils.module_loading import autodiscover_modules

if TYPE_CHECKING:
    from mnote.jobs import JobContext

#: The queue of long work that nobody waits for. Everything else is "interactive".
BULK = "bulk"

Handler = Callable[["JobContext"], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """One kind of work. `deadline_seconds` bounds a single attempt: after it the row is taken from the handler."""

    name: str
    handler: Handler
    queue: str = "interactive"
    max_attempts: int = 5
    deadline_seconds: int = 3600


_kinds: dict[str, JobKind] = {}


def job(
    name: str, *, queue: str = "interactive", max_attempts: int = 5, deadline_seconds: int = 3600
) -> Callable[[Handler], Handler]:
    """Register the decorated function as the handler of jobs of this kind. Raises ValueError on a second handler."""

    def register(handler: Handler) -> Handler:
        known = _kinds.get(name)
        if known and (known.handler.__module__, known.handler.__qualname__) != (
            handler.__module__,
            handler.__qualname__,
        ):
            raise ValueError(f"two handlers for the job kind {name}")
        _kinds[name] = JobKind(
            name=name, handler=handler, queue=queue, max_attempts=max_attempts, deadline_seconds=deadline_seconds
        )
        return handler

    return register


def find(name: str) -> JobKind | None:
    """Return the kind, or None when no installed app handles it."""
    load()
    return _kinds.get(name)


def names() -> list[str]:
    load()
    return sorted(_kinds)


@cache
def load() -> None:
    """Import every app's `tasks` module. Costs nothing after the first call."""
    autodiscover_modules("tasks")
