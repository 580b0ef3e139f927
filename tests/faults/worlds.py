"""A whole installation for one test: its data folder, database and broker, and real processes that can be killed."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.engines import PostgresServer, RedisServer

ROOT = Path(__file__).resolve().parent.parent.parent
LEASE_SECONDS = 5
_PATIENCE_SECONDS = 60.0


@dataclass(slots=True, kw_only=True)
class Process:
    """A child in a process group of its own, with its output in a file."""

    popen: subprocess.Popen[str]
    log: Path

    @property
    def pid(self) -> int:
        return self.popen.pid

    def kill(self) -> None:
        """As a power cut does: the whole group, at once."""
        if self.popen.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
        self.popen.wait(10)

    def output(self) -> str:
        return self.log.read_text(errors="replace")


@dataclass(slots=True, kw_only=True)
class Driver:
    """A process that works on the world's rows, see tests/faults/driver.py."""

    popen: subprocess.Popen[str]

    def ask(self, *call: Any) -> Any:
        self.tell(*call)
        return self.answer()

    def tell(self, *call: Any) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(json.dumps(call) + "\n")
        self.popen.stdin.flush()

    def answer(self) -> Any:
        assert self.popen.stdout is not None
        line = self.popen.stdout.readline()
        assert line, "the driver died, see its messages above"
        return json.loads(line)


@dataclass(slots=True, kw_only=True)
class World:
    """Where everything happens. `ask` works on the rows; `marks` counts what handlers did, by (word, job id)."""

    folder: Path
    environment: dict[str, str]
    stack: ExitStack
    _driver: Driver | None = field(default=None)
    _started: int = 0

    def ask(self, *call: Any) -> Any:
        if self._driver is None:
            self._driver = self.driver()
        return self._driver.ask(*call)

    def driver(self) -> Driver:
        popen = self._open([sys.executable, "-m", "tests.faults.driver"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.stack.callback(_close_driver, popen)
        return Driver(popen=popen)

    def start(self, *command: str) -> Process:
        """Start a program that ends with the test at the latest."""
        self._started += 1
        log = self.folder.parent / f"process-{self._started}.log"
        with log.open("w") as stream:
            popen = self._open([sys.executable, *command], stdout=stream, stderr=subprocess.STDOUT)
        process = Process(popen=popen, log=log)
        self.stack.callback(process.kill)
        return process

    def start_worker(self, pool: str = "threads") -> Process:
        clock = str(self.folder / f"clock-{self._started}")
        options = ["--pool", pool, "--concurrency", "2", "--queues", "interactive,bulk", "--beat", "-s", clock]
        options += ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING"]
        return self.start("-m", "celery", "--quiet", "--app", "mnote", "worker", *options)

    def marks(self) -> Counter[tuple[str, str]]:
        path = self.folder / "marks"
        lines = path.read_text().splitlines() if path.exists() else []
        return Counter((line.split()[0], line.split()[1]) for line in lines)

    def _open(self, command: list[str], **streams: Any) -> subprocess.Popen[str]:
        environment = os.environ | self.environment
        return subprocess.Popen(command, env=environment, cwd=ROOT, text=True, start_new_session=True, **streams)


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A migrated database to copy: migrating takes seconds."""

    database: str

    @classmethod
    def of_sqlite(cls, folder: Path) -> Template:
        with _world(folder, _EMBEDDED) as world:
            world.ask("prepare")
        return cls(database=str(folder / "mnote.sqlite3"))

    @classmethod
    def of_postgres(cls, folder: Path, postgres: PostgresServer) -> Template:
        postgres.create_database("mnote_template")
        with _world(folder, _production(postgres, "mnote_template", "redis://127.0.0.1:1/0")) as world:
            world.ask("prepare")
        return cls(database="mnote_template")


_EMBEDDED = {"DJANGO_SETTINGS_MODULE": "tests.faults.settings_embedded"}


def _production(postgres: PostgresServer, database: str, redis_url: str) -> dict[str, str]:
    return {
        "DJANGO_SETTINGS_MODULE": "tests.faults.settings_production",
        "MNOTE_SECRET_KEY": secrets.token_hex(40),
        "MNOTE_DB_NAME": database,
        "MNOTE_DB_USER": postgres.user,
        "MNOTE_DB_HOST": postgres.host,
        "MNOTE_DB_PORT": str(postgres.port),
        "MNOTE_REDIS_URL": redis_url,
    }


@contextmanager
def embedded_world(folder: Path, template: Template) -> Iterator[World]:
    """SQLite and the broker in the data folder."""
    folder.mkdir()
    shutil.copyfile(template.database, folder / "mnote.sqlite3")
    with _world(folder, _EMBEDDED) as world:
        yield world


@contextmanager
def production_world(folder: Path, template: Template, postgres: PostgresServer, redis: RedisServer) -> Iterator[World]:
    """PostgreSQL and Redis."""
    folder.mkdir()
    name = f"world_{secrets.token_hex(6)}"
    postgres.create_database(name, template=template.database)
    redis.connect().flushall()
    try:
        with _world(folder, _production(postgres, name, redis.url)) as world:
            yield world
    finally:
        postgres.drop_database(name)


@contextmanager
def _world(folder: Path, environment: dict[str, str]) -> Iterator[World]:
    common = {"MNOTE_DATA_DIR": str(folder), "MNOTE_JOB_LEASE_SECONDS": str(LEASE_SECONDS), "MNOTE_STOP_SECONDS": "3"}
    with ExitStack() as stack:
        yield World(folder=folder, environment=environment | common, stack=stack)


def _close_driver(popen: subprocess.Popen[str]) -> None:
    assert popen.stdin is not None
    assert popen.stdout is not None
    popen.stdin.close()
    try:
        popen.wait(10)
    except subprocess.TimeoutExpired:
        popen.kill()
        popen.wait()
    popen.stdout.close()


def wait_until(holds: Callable[[], object], what: str, seconds: float = _PATIENCE_SECONDS) -> None:
    """Look again and again at another process's doing; fail with `what` was waited for."""
    ends_at = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends_at, f"waited {seconds} s in vain for: {what}"
        time.sleep(0.05)
