"""A web server of its own on a folder of its own, as agents meet it; and ways to talk to it."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.engines import free_port
from tests.faults import worlds
from tests.faults.worlds import Driver, Process, World, wait_until

_SETTINGS = {"DJANGO_SETTINGS_MODULE": "mnote.settings.embedded"}


@dataclass(slots=True, kw_only=True)
class Facts:
    """What was seeded."""

    workspace: str
    root_uri: str
    kb: str
    tokens: dict[str, str]


class Agents(World):
    """A world whose driver knows bindings and tools."""

    __slots__ = ()

    def driver(self) -> Driver:
        command = [sys.executable, "-m", "tests.pageai.driver"]
        popen = self._open(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.stack.callback(worlds._close_driver, popen)
        return Driver(popen=popen)


@dataclass(slots=True, kw_only=True)
class Served:
    """A running server. `url` is where agents call; `restart` ends it and starts it anew on the same port."""

    world: Agents
    facts: Facts
    folder: Path
    port: int
    workers: int = 1
    _process: Process | None = field(default=None)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def start(self) -> None:
        options = ["--interface", "asginl", "--host", "127.0.0.1", "--port", str(self.port)]
        options += ["--workers", str(self.workers)]
        self._process = self.world.start("-m", "granian", *options, "--log-level", "warning", "mnote.asgi:application")
        wait_until(self._answers, "the server to answer")

    def stop(self) -> None:
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGTERM)
        self._process.popen.wait(20)

    def restart(self) -> None:
        self.stop()
        self.start()

    def output(self) -> str:
        return self._process.output() if self._process else ""

    def post(self, body: Any, token: str = "", **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Send one message as a plain program does; headers are given as keywords, `_` for `-`."""
        sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        sent |= {"Authorization": f"Bearer {token}"} if token else {}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        return self.send("POST", body if isinstance(body, bytes) else json.dumps(body).encode(), sent)

    def send(self, method: str, body: bytes, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            # A server may refuse a large body before it has read all of it: its answer is there all the same.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, "/mcp", body, headers)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    @asynccontextmanager
    async def client(self, token: str, mode: str = "auto", **headers: str) -> AsyncIterator[Client]:
        """The official client."""
        sent = {"Authorization": f"Bearer {token}"} | {name.replace("_", "-"): text for name, text in headers.items()}
        async with (
            httpx2.AsyncClient(headers=sent, timeout=60) as http_client,
            Client(streamable_http_client(self.url, http_client=http_client), mode=mode) as client,
        ):
            yield client

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.popen.poll() is None, self._process.output()
        try:
            return self.send("GET", b"", {})[0] == 405
        except OSError:
            return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """A data folder with everything in it, to copy for each test; the documents lie beside it and stay."""

    data: Path
    documents: Path
    facts: Facts


def make_seed(folder: Path) -> Seed:
    data, documents = folder / "data", folder / "documents"
    data.mkdir()
    documents.mkdir()
    with _world(data, {}) as world:
        world.ask("prepare")
        made = world.ask("seed", str(documents))
    facts = Facts(workspace=made["workspace"], root_uri=made["rootUri"], kb=made["kb"], tokens=made["tokens"])
    return Seed(data=data, documents=documents, facts=facts)


@contextmanager
def serve(seed: Seed, data: Path, *, workers: int = 1, **environment: str) -> Iterator[Served]:
    """Run a server of so many processes on a copy of the seed until the block ends."""
    shutil.copytree(seed.data, data)
    port = free_port()
    address = {"MNOTE_PUBLIC_URL": f"http://127.0.0.1:{port}"}
    with _world(data, address | environment) as world:
        served = Served(world=world, facts=seed.facts, folder=seed.documents, port=port, workers=workers)
        served.start()
        yield served


@contextmanager
def _world(data: Path, environment: dict[str, str]) -> Iterator[Agents]:
    with ExitStack() as stack:
        whole = _SETTINGS | {"MNOTE_DATA_DIR": str(data)} | environment
        yield Agents(folder=data, environment=whole, stack=stack)
