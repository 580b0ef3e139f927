"""A thousand files, a real worker, and something goes wrong in the middle: in the end each is indexed exactly once."""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from tests.engines import RedisServer
from tests.faults.worlds import Process, World, wait_until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

_PATIENCE = 200.0
_MANY, _SOME = 1000, 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A folder of notes, each with a word of its own, and the knowledge base over it."""

    world: World
    folder: Path
    kb_id: str
    words: dict[str, str]
    before: dict[str, tuple[str, int]]

    @property
    def indexed(self) -> int:
        return int(self.world.ask("states", self.kb_id).get("indexed", 0))

    def wait_for_some(self) -> None:
        """Until a good part is indexed, and not yet all of it."""
        wait_until(lambda: self.indexed > len(self.words) // 5, "the first documents", _PATIENCE)
        assert self.indexed < len(self.words), "the fault came too late"

    def check(self) -> None:
        """All is indexed exactly once, found, counted, and no file was touched."""
        wait_until(lambda: self.world.ask("is_quiet", self.kb_id), "the end of all work", _PATIENCE)
        assert self.world.ask("states", self.kb_id) == {"indexed": len(self.words)}, self.world.ask(
            "reasons", self.kb_id
        )
        assert self.world.ask("differences", self.kb_id, self.words) == []
        assert fingerprints(self.folder) == self.before


def fingerprints(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path.relative_to(folder)): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def fill(world: World, count: int, *, lines: int = 4) -> Filled:
    folder = world.folder.parent / "notes"
    words = {f"{number // 100:02}/note {number:04}.md": f"lantern{number:05}x" for number in range(count)}
    for path, word in words.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        rest = "\n\n".join(f"Line {line} about the harbour and the {word}." for line in range(lines))
        (folder / path).write_text(f"# Note\n\n{rest}\n")
    kb_id = world.ask("make_kb", str(folder))
    return Filled(world=world, folder=folder, kb_id=kb_id, words=words, before=fingerprints(folder))


def parse_children(worker: Process) -> list[int]:
    """The living parser processes of a worker."""
    return [pid for pid in _children(worker.pid) if b"knowledge.parsing.child" in _command(pid)]


def _children(pid: int) -> Iterator[int]:
    for folder in Path(f"/proc/{pid}/task").iterdir():
        yield from map(int, (folder / "children").read_text().split())


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_a_killed_worker_is_replaced(world: World) -> None:
    filled = fill(world, _MANY)
    first = world.start_worker()
    filled.wait_for_some()
    first.kill()

    world.start_worker()

    filled.check()


def test_the_broker_folder_is_deleted(embedded: World) -> None:
    filled = fill(embedded, _MANY)
    embedded.start_worker()
    filled.wait_for_some()

    shutil.rmtree(embedded.folder / "broker")

    filled.check()


@pytest.mark.redis
@pytest.mark.postgres
def test_redis_is_flushed(production: World, redis_server: RedisServer) -> None:
    filled = fill(production, _MANY)
    production.start_worker()
    filled.wait_for_some()

    redis_server.connect().flushall()

    filled.check()


def test_parsers_are_killed(embedded: World) -> None:
    filled = fill(embedded, _SOME)
    worker = embedded.start_worker()
    for _round in range(3):
        wait_until(lambda: parse_children(worker), "a parser", _PATIENCE)
        for pid in parse_children(worker):
            os.kill(pid, signal.SIGKILL)

    filled.check()


def test_the_index_is_locked_for_seconds(embedded: World) -> None:
    filled = fill(embedded, _SOME)
    embedded.start_worker()
    filled.wait_for_some()
    other = apsw.Connection(embedded.ask("index_path", filled.kb_id))
    other.set_busy_timeout(20_000)
    other.execute("BEGIN EXCLUSIVE")
    before = filled.indexed
    time.sleep(3)  # the length of the lock is the fault

    assert filled.indexed - before <= 2 * 32, "the lock stopped nothing"
    other.execute("ROLLBACK")
    other.close()
    filled.check()


def test_the_disk_is_full_for_a_while(embedded: World) -> None:
    """Every file that the worker writes may grow to a size only: the databases, their logs, artifacts, the broker."""
    filled = fill(embedded, _SOME, lines=80)
    worker = embedded.start_worker()
    filled.wait_for_some()
    _, hard = resource.prlimit(worker.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (4096, hard))
    time.sleep(3)  # the length of the fault
    at_full = filled.indexed
    assert at_full < len(filled.words), "there was room enough"

    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (hard, hard))

    filled.check()


def test_the_root_vanishes_half_way(embedded: World) -> None:
    filled = fill(embedded, _SOME)
    embedded.start_worker()
    filled.wait_for_some()
    aside = filled.folder.with_name("unmounted")
    filled.folder.rename(aside)
    gone = lambda: "root_gone" in embedded.ask("reasons", filled.kb_id).values()  # noqa: E731 said once
    wait_until(gone, "documents to wait for their folder", _PATIENCE)
    assert "deleted" not in embedded.ask("states", filled.kb_id)

    aside.rename(filled.folder)

    filled.check()


def test_the_index_file_is_deleted(world: World) -> None:
    filled = fill(world, _SOME)
    world.start_worker()
    filled.wait_for_some()
    path = Path(world.ask("index_path", filled.kb_id))

    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()

    filled.check()
