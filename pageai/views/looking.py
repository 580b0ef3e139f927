"""Looking again and again whether a person may still see a stream, beside what passes through it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any

from pageai.panel.frames import Frame

_EVERY_SECONDS, _OVERDUE_SECONDS = 1.0, 3.0


class Looking:
    """Asks once a second; frames do not wait for the database that it asks. `ask` returns what to show instead of more,
    or None. Leaving the block ends it."""

    def __init__(self, ask: Callable[[], Coroutine[Any, Any, Frame | None]]) -> None:
        self._ask = ask
        self._asked = time.monotonic()
        self._answer: asyncio.Task[Frame | None] | None = None

    async def __aenter__(self) -> Looking:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._answer is not None:
            self._answer.cancel()

    async def refusal(self, *, is_idle: bool) -> Frame | None:
        """Return the last answer, once. It is waited for where nothing else is to be shown, or when it is overdue."""
        since = time.monotonic() - self._asked
        if self._answer is None:
            if since < _EVERY_SECONDS:
                return None
            self._asked, since = time.monotonic(), 0.0
            self._answer = asyncio.create_task(self._ask())
        if not self._answer.done() and not is_idle and since < _OVERDUE_SECONDS:
            return None
        answer, self._answer = self._answer, None
        return await answer
