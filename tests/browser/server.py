"""The real ASGI server in a thread of the test process: same settings, same database, streams and all."""

from __future__ import annotations

import asyncio
import socket
import threading
import time

from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.core.asgi import get_asgi_application
from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server.embed import Server


class LiveSite:
    """Serves the project on a free port of the loopback until `stop`."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._thread = threading.Thread(target=self._run, name="site", daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._thread.start()
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                threading.Event().wait(0.05)
            else:
                return
        raise RuntimeError("the test server did not start")

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._server.stop)
        self._thread.join(timeout=10)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._server = Server(
            ASGIStaticFilesHandler(get_asgi_application()),
            address="127.0.0.1",
            port=self.port,
            interface=Interfaces.ASGINL,
            websockets=False,
            log_level=LogLevels.error,
        )
        self._server.workers_kill_timeout = 2
        await self._server.serve()
