"""Work of streams and async views: what waits, in a thread that lets its database connection go at once; and what goes
on beside."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeVar

from asgiref.sync import sync_to_async

from mnote import connections

T = TypeVar("T")


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
