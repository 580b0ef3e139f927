"""The same server over standard input and output."""

from __future__ import annotations

from collections.abc import Callable

from mcp.server.stdio import stdio_server

from pageai.mcp.server import Context, in_thread, make_server
from pageai.services.callers import Caller


async def serve(who: Callable[[], Caller]) -> None:
    """Serve one fixed identity until standard input ends. `who` is asked for every message, so that what is taken from
    the person meanwhile counts at once."""

    async def who_calls(_context: Context) -> Caller:
        return await in_thread(who)

    server = make_server(who_calls)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
