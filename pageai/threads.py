"""Work of streams and async views: what waits, in a thread that lets its database connection go at once; and what goes
on beside."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Generic, TypeVar

from asgiref.sync import sync_to_async

from mnote import connections

T = TypeVar("T")
_at_work: set[asyncio.Task[None]] = set()


async def in_thread(function: Callable[[], T]) -> T:
    """Run something that waits beside the loop. Nothing of the database is held when it returns."""
    return await sync_to_async(_then_let_go, thread_sensitive=False)(function)


def _then_let_go(function: Callable[[], T]) -> T:
    try:
        return function()
    finally:
        connections.let_go()


@contextlib.asynccontextmanager
async def beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run something for the time of a block; it ends with it."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def by_itself(work: Coroutine[Any, Any, None]) -> None:
    """Let something run that nobody waits for. The loop itself would not keep it alive."""
    task = asyncio.create_task(work)
    _at_work.add(task)
    task.add_done_callback(_at_work.discard)


class Beginning(Generic[T]):
    """How something began that runs by itself: told once, to whoever started it and may have left."""

    def __init__(self) -> None:
        self._future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    @property
    def is_told(self) -> bool:
        return self._future.done()

    async def wait(self) -> T:
        """Return what was told, or raise it. Whoever leaves stops nothing."""
        return await asyncio.shield(self._future)

    def tell(self, how: T) -> None:
        if not self._future.done():
            self._future.set_result(how)

    def fail(self, error: Exception) -> None:
        """Tell that it did not begin, if nothing was told yet."""
        if not self._future.done():
            self._future.set_exception(error)
            self._future.exception()  # where nobody waits any more it is no error of the loop's
