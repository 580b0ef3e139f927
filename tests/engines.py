"""Real servers for tests: PostgreSQL and Redis, each a child process on a free loopback port with its own folder."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
import redis

_START_SECONDS = 30.0
_POSTGRES_ACCOUNT = "postgres"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresServer:
    """A cluster whose superuser is `mnote`, trusted from loopback."""

    port: int
    host: str = "127.0.0.1"
    user: str = "mnote"

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        return psycopg.connect(host=self.host, port=self.port, user=self.user, dbname=database, autocommit=True)

    def create_database(self, name: str, *, template: str = "template1") -> None:
        with self.connect() as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')  # type: ignore[arg-type]

    def drop_database(self, name: str) -> None:
        with self.connect() as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisServer:
    port: int
    host: str = "127.0.0.1"

    @property
    def url(self) -> str:
        return f"redis://{self.host}:{self.port}/0"

    def connect(self) -> redis.Redis:
        return redis.Redis(host=self.host, port=self.port)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    with run_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    with run_redis() as server:
        yield server


@contextmanager
def run_postgres() -> Iterator[PostgresServer]:
    """Make a cluster and run it until the block ends."""
    binaries = _postgres_binaries()
    with _folder("mnote-postgres-") as folder:
        data, port = folder / "data", free_port()
        _as_postgres(folder, str(binaries / "initdb"), "-D", str(data), "-U", "mnote", "-A", "trust", "-N")
        options = ["-p", str(port), "-c", "listen_addresses=127.0.0.1", "-k", str(folder), "-c", "fsync=off"]
        server = PostgresServer(port=port)
        with _process([*_account(), str(binaries / "postgres"), "-D", str(data), *options]) as process:
            _wait_for(process, lambda: server.connect().close(), (psycopg.Error,))
            yield server


@contextmanager
def run_redis(port: int | None = None) -> Iterator[RedisServer]:
    """Run a server without files until the block ends."""
    binary = _binary("redis-server", "Redis")
    with _folder("mnote-redis-") as folder:
        server = RedisServer(port=port or free_port())
        options = ["--port", str(server.port), "--bind", server.host, "--save", "", "--appendonly", "no"]
        with _process([binary, *options, "--dir", str(folder)]) as process:
            _wait_for(process, lambda: server.connect().ping(), (redis.ConnectionError,))
            yield server


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _postgres_binaries() -> Path:
    """Debian keeps the server's programs out of the path, one folder a version; take the newest."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    return versions[-1].parent if versions else Path(_binary("initdb", "PostgreSQL")).parent


def _binary(name: str, engine: str) -> str:
    found = shutil.which(name)
    if found is None:
        missing(engine)
    return str(found)


def missing(engine: str) -> None:
    """Skip aloud on a laptop; in CI an engine that is not there is a failure."""
    message = f"{engine} is not installed: its tests did not run"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


def _account() -> list[str]:
    """PostgreSQL refuses to run as root: then it runs as the account its package made."""
    if os.geteuid() != 0:
        return []
    return [_binary("runuser", "runuser (util-linux)"), "-u", _POSTGRES_ACCOUNT, "--"]


def _as_postgres(folder: Path, *command: str) -> None:
    if os.geteuid() == 0:
        shutil.chown(folder, _POSTGRES_ACCOUNT)
    subprocess.run([*_account(), *command], check=True, capture_output=True, cwd=folder)


@contextmanager
def _folder(prefix: str) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _process(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, cwd="/", start_new_session=True)
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGINT if process.poll() is None else signal.SIGKILL)
        process.wait(10)
    except ProcessLookupError:
        pass
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for(
    process: subprocess.Popen[bytes], ask: Callable[[], object], refusals: tuple[type[Exception], ...]
) -> None:
    ends_at = time.monotonic() + _START_SECONDS
    while True:
        try:
            ask()
        except refusals:
            if process.poll() is not None or time.monotonic() > ends_at:
                raise
            time.sleep(0.05)
        else:
            return


def _main(command: list[str]) -> int:
    """Run `command` against a cluster of its own; without one, say where the cluster is and wait for Enter."""
    with run_postgres() as started:
        facts = {"MNOTE_TEST_DB": "postgres", "PGHOST": started.host, "PGPORT": str(started.port), "PGUSER": "mnote"}
        if command:
            return subprocess.run(command, env=os.environ | facts, check=False).returncode
        sys.stdout.write(" ".join(f"{name}={value}" for name, value in facts.items()) + "\n")
        sys.stdout.flush()
        sys.stdin.readline()
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
