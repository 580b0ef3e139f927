"""Database and other waiting work of streams and async views: in a thread that lets its connection go at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

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
