from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.engines import free_port
from tests.faults.worlds import ROOT, Process, World, wait_until

pytestmark = pytest.mark.faults

_STOP_SECONDS = 10


class Served:
    """A running `manage.py serve`."""

    def __init__(self, world: World) -> None:
        self.world, self.port = world, free_port()
        self.process: Process = world.start("manage.py", "serve", "--port", str(self.port))

    def ready(self) -> bool:
        assert self.process.popen.poll() is None, self.process.output()
        return self.get("/readyz")[0] == 200

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        """Status and body; 0 while nobody listens."""
        try:
            with self.open(path, **headers) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def open(self, path: str, **headers: str) -> Any:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers)
        return urllib.request.urlopen(request, timeout=20)

    def stop(self, number: int) -> int:
        """Send the signal to the supervisor alone, and return its exit code."""
        os.kill(self.process.pid, number)
        return self.process.popen.wait(_STOP_SECONDS)


@pytest.fixture
def served(embedded: World) -> Served:
    served = Served(embedded)
    wait_until(served.ready, "the server to be ready")
    return served


def processes_of(world: World) -> list[str]:
    """The command lines of living processes of the world, but for its driver."""
    return [line for _pid, line in _living(world)]


def pids_of(world: World) -> list[int]:
    return [pid for pid, _line in _living(world)]


def pid_of(world: World, program: str) -> int:
    """The first process of a program: the one that the supervisor started."""
    return min(pid for pid, line in _living(world) if program in line)


def _living(world: World) -> Iterator[tuple[int, str]]:
    """Processes that have the world's data folder in their environment, with their command lines."""
    mark = f"MNOTE_DATA_DIR={world.folder}".encode()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or mark not in _environment(int(folder.name)):
            continue
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if line and "tests.faults.driver" not in line:  # what has ended but was not waited for has no line
            yield int(folder.name), line


def _environment(pid: int) -> list[bytes]:
    try:
        return (Path("/proc") / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_answers_and_leaves_nothing_behind(served: Served, number: int) -> None:
    assert json.loads(served.get("/readyz")[1])["failing"] == []
    assert len(processes_of(served.world)) >= 3

    code = served.stop(number)

    assert code == 0, served.process.output()
    assert processes_of(served.world) == []


def test_a_second_serve_is_refused_with_a_sentence(served: Served) -> None:
    second = served.world.start("manage.py", "serve", "--port", str(free_port()))

    assert second.popen.wait(20) == 1
    assert "MNote already runs on this data folder" in second.output()
    assert "Traceback" not in second.output()
    assert served.ready()


@pytest.mark.parametrize("program", ["celery", "granian"])
def test_when_one_child_dies_all_stop_with_its_code(served: Served, program: str) -> None:
    os.kill(pid_of(served.world, program), signal.SIGKILL)

    assert served.process.popen.wait(_STOP_SECONDS) == 128 + signal.SIGKILL
    assert processes_of(served.world) == []


def test_children_end_when_the_supervisor_is_killed(served: Served) -> None:
    os.kill(served.process.pid, signal.SIGKILL)
    served.process.popen.wait(5)

    wait_until(lambda: processes_of(served.world) == [], "the children to end", seconds=15)


def test_after_a_power_cut_serve_goes_on_without_waiting_for_leases(embedded: World) -> None:
    embedded.environment["MNOTE_JOB_LEASE_SECONDS"] = "600"
    [job_id] = embedded.ask("enqueue", "faults.hang_first")
    served = Served(embedded)
    wait_until(lambda: embedded.marks()["start", job_id], "the first attempt")
    for pid in pids_of(embedded):
        os.kill(pid, signal.SIGKILL)
    served.process.popen.wait(5)

    Served(embedded)

    wait_until(lambda: embedded.ask("row", job_id)["status"] == "succeeded", "the second attempt")
    assert embedded.marks() == {("start", job_id): 2, ("end", job_id): 1}


def test_serve_stops_in_time_although_a_job_is_deaf(served: Served) -> None:
    [job_id] = served.world.ask("enqueue", "faults.deaf")
    wait_until(lambda: served.world.marks()["start", job_id], "the job")

    assert served.stop(signal.SIGINT) == 0
    assert processes_of(served.world) == []


def test_serve_streams_changes_and_stops_with_a_stream_open(served: Served) -> None:
    person = served.world.ask("sign_in")
    stream = served.open(f"/api/jobs/events?workspaceId={person['workspace']}", Cookie=person["cookie"])
    assert next(_events(stream)) == ("ready", {"revision": 0})

    served.world.ask("enqueue_in", person["workspace"])

    assert next(_events(stream)) == ("changed", {"revision": 0, "changed": ["jobs"]})
    assert served.stop(signal.SIGINT) == 0
    stream.close()


def _events(stream: Any) -> Iterator[tuple[str, Any]]:
    name = ""
    for line in stream:
        field, _, value = line.decode().rstrip("\n").partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            yield name, json.loads(value)


def test_serve_copies_the_database_before_it_migrates(embedded: World) -> None:
    environment = os.environ | embedded.environment
    command = [sys.executable, "manage.py", "migrate", "sessions", "zero", "--verbosity", "0"]
    subprocess.run(command, env=environment, cwd=ROOT, check=True)
    served = Served(embedded)
    wait_until(served.ready, "the server to be ready")

    [copy] = (embedded.folder / "backups").iterdir()

    assert "django_session" not in _tables(copy)
    assert "django_session" in _tables(embedded.folder / "mnote.sqlite3")


def _tables(path: Path) -> set[str]:
    with _sqlite(path) as database:
        return {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


@contextmanager
def _sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    database = sqlite3.connect(path)
    try:
        yield database
    finally:
        database.close()


def test_serve_says_what_is_wrong_and_starts_nothing(embedded: World) -> None:
    embedded.environment["MNOTE_PUBLIC_URL"] = "ftp://notes.example.org"
    began = time.monotonic()

    process = embedded.start("manage.py", "serve", "--port", str(free_port()))

    assert process.popen.wait(30) == 1
    assert "mnote.E003" in process.output()
    assert time.monotonic() - began < 30
    assert processes_of(embedded) == []
