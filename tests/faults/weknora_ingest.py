"""Documents go through a real worker to a server that fails at random; in the end each is there exactly once.

By hand: python -m tests.faults.weknora_ingest --documents 1000 --edition lite
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.faults.worlds import Process, Template, World, embedded_world, wait_until
from tests.stubs.weknora import Fault, WeKnoraStub, weknora_stub
from tests.stubs.weknora_replies import Reply

_HTML = "text/html"
_BUSY = Reply(status=429, body=b'{"error":"slow down"}', headers={"Retry-After": "1"})
_GATEWAY = Reply(status=502, body=b"<html>bad gateway</html>", content_type=_HTML)
_AWAY = Reply(status=503, body=b"<html>away</html>", content_type=_HTML)
_FAILED = Reply(status=500, body=b'{"success":false,"error":{"code":1007,"message":"internal server error"}}')
#: Seconds after which workers of these tests give a call up, see `tests.faults.app`; a hung answer takes longer.
HANG = 4.0


@dataclass(slots=True, kw_only=True)
class Weather:
    """What goes wrong with a part `chance` of all requests; all of them fail while the server is `down`."""

    chance: float
    random: random.Random
    down: bool = False
    counts: Counter[str] = field(default_factory=Counter)

    def __call__(self, method: str, target: str) -> Fault | None:
        if self.down:
            return Fault(reset=True)
        if self.random.random() >= self.chance:
            return None
        name, fault = self.random.choice(_FAULTS)
        self.counts[name] += 1
        return fault


_FAULTS: tuple[tuple[str, Fault], ...] = (
    ("502", Fault(reply=_GATEWAY)),
    ("503", Fault(reply=_AWAY)),
    ("429", Fault(reply=_BUSY)),
    ("500", Fault(reply=_FAILED)),
    ("reset before the body", Fault(reset=True)),
    ("answer lost", Fault(lose=True)),
    ("answer cut", Fault(cut=True, is_announced=False)),
    ("answer hangs", Fault(delay=HANG)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run came to; `wrong` names everything that is not as it should be."""

    documents: int
    edition: str
    seconds: float
    states: dict[str, int]
    reasons: dict[str, int]
    held: int
    uploads: int
    reparses: int
    status_calls: int
    requests: int
    faults: dict[str, int]
    kills: int
    restarts: int
    wrong: list[str]


@dataclass(slots=True, kw_only=True)
class Run:
    """One world with its server; `trouble` makes it hard until `seconds` are over."""

    world: World
    stub: WeKnoraStub
    weather: Weather
    folder: Path
    texts: dict[str, str]
    kb_id: str = ""
    kills: int = 0
    restarts: int = 0
    worker: Process | None = None

    def start(self) -> None:
        self.kb_id = self.world.ask(
            "make_remote_kb", str(self.folder), self.stub.url, self.stub.key, self.stub.model.id
        )
        self.worker = self.world.start_worker()

    def trouble(self, seconds: float, *, pause: float) -> None:
        """Kill the worker, restart the server, take the model away, in turn, each once and then as long as there is
        something to do."""
        ends = time.monotonic() + seconds
        acts = [self._kill, self._restart, self._break_model, self._interrupt]
        number = 0
        while number < len(acts) or (time.monotonic() < ends and not self.is_level()):
            acts[number % len(acts)]()
            threading.Event().wait(pause)
            number += 1
        self.weather.chance = 0.0

    def is_level(self) -> bool:
        return bool(self.world.ask("remote_is_level", self.kb_id))

    def wrong(self) -> list[str]:
        """Say everything in which folder, registry and server differ."""
        facts = self.world.ask("remote_facts", self.kb_id)
        held = self.stub.world.documents_of(facts["providerKbId"])
        found = [] if facts["states"] == {"indexed": len(self.texts)} else [f"states {facts['states']}"]
        if facts["outage"]:
            found.append(f"outage {facts['outage']}")
        wanted = Counter(self.texts.values())
        there = Counter(document.body.decode() for document in held)
        found += [
            f"{there[text]} copies of {text[:40]!r}" for text in {*wanted, *there} if there[text] != (text in wanted)
        ]
        found += [f"{each.id} is {each.status}" for each in held if each.status != "completed" or not each.passages]
        if {*facts["ids"]} != {each.id for each in held}:
            found.append("rows name other documents than the server holds")
        report = self.world.ask("remote_report", self.kb_id)
        return found + [f"{name}: {report[name]}" for name in ("ghosts", "foreign", "lost", "short") if report[name]]

    def outcome(self, seconds: float) -> Outcome:
        facts = self.world.ask("remote_facts", self.kb_id)
        return Outcome(
            documents=len(self.texts),
            edition=self.stub.world.edition,
            seconds=round(seconds, 1),
            states=facts["states"],
            reasons=facts["reasons"],
            held=len(self.stub.world.documents_of(facts["providerKbId"])),
            uploads=len(self.stub.calls("POST", r"/knowledge/file$")),
            reparses=len(self.stub.calls("POST", r"/reparse$")),
            status_calls=len(self.stub.calls("GET", r"/knowledge/batch")),
            requests=len(self.stub.asked),
            faults=dict(self.weather.counts),
            kills=self.kills,
            restarts=self.restarts,
            wrong=self.wrong(),
        )

    def _kill(self) -> None:
        """A worker that got something done: one that dies before, again and again, makes its documents fail."""
        assert self.worker is not None
        before = self._indexed()
        wait_until(lambda: self._indexed() > before or self.is_level(), "a worker that works", 120.0)
        self.worker.kill()
        self.worker = self.world.start_worker()
        self.kills += 1

    def _indexed(self) -> int:
        return int(self.world.ask("states", self.kb_id).get("indexed", 0))

    def _restart(self) -> None:
        """The server goes away and comes back with what it had; lite forgets what it was doing."""
        self.weather.down = True
        threading.Event().wait(1.0)
        self.stub.restart()
        self.weather.down = False
        self.restarts += 1

    def _break_model(self) -> None:
        self.stub.model.behaviour = "500"
        threading.Event().wait(1.0)
        self.stub.model.behaviour = "ok"

    def _interrupt(self) -> None:
        with self.stub.world.lock:
            self.stub.world.plans += [["processing", "interrupt"], ["processing", "finalizing", "completed"]]


@contextmanager
def run_in(world: World, *, documents: int, edition: str, chance: float, seed: int) -> Iterator[Run]:
    """A server and a folder of notes, each with a text of its own."""
    folder = world.folder.parent / "notes"
    texts = {f"{number // 100:02}/note {number:04}.md": _text(number) for number in range(documents)}
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    with weknora_stub(edition) as stub:
        weather = Weather(chance=chance, random=random.Random(seed))
        stub.weather = weather
        world.environment["MNOTE_FAULTS_CALL_SECONDS"] = str(HANG / 2)
        yield Run(world=world, stub=stub, weather=weather, folder=folder, texts=texts)


def go(run: Run, *, trouble: float, pause: float, patience: float) -> Outcome:
    """Let it all happen; returns when nothing waits any more."""
    began = time.monotonic()
    run.start()
    run.trouble(trouble, pause=pause)
    wait_until(run.is_level, "the end of all work", patience)
    return run.outcome(time.monotonic() - began)


def _text(number: int) -> str:
    return f"# Note {number}\n\nThe lantern{number:05}x burns in the harbour.\n\n" + "Another line about it.\n" * (
        number % 40
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--edition", choices=["lite", "standard"], default="lite")
    parser.add_argument("--chance", type=float, default=0.04, help="part of the requests that fail")
    parser.add_argument("--trouble", type=float, default=600.0, help="seconds for which things go wrong at most")
    parser.add_argument("--patience", type=float, default=1800.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mnote-faults-", ignore_cleanup_errors=True) as folder:
        base = Path(folder)
        (base / "template").mkdir()
        template = Template.of_sqlite(base / "template")
        with (
            embedded_world(base / "data", template) as world,
            run_in(
                world, documents=given.documents, edition=given.edition, chance=given.chance, seed=given.seed
            ) as run,
        ):
            outcome = go(run, trouble=given.trouble, pause=5.0, patience=given.patience)
    sys.stdout.write(json.dumps(asdict(outcome), indent=1, ensure_ascii=False) + "\n")
    sys.exit(1 if outcome.wrong else 0)


if __name__ == "__main__":
    main()
