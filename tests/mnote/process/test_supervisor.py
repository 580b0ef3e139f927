from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

from mnote.process.supervisor import Child, supervise

_FOREVER = "import time\nwhile True: time.sleep(1)"
_DEAF = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('deaf', flush=True)\n" + _FOREVER


def child(name: str, program: str, *arguments: str) -> Child:
    return Child(name=name, command=(sys.executable, "-c", program, *arguments))


def run(*children: Child, stop_on: str = "", stop_seconds: float = 5) -> tuple[int, list[str]]:
    """Supervise; send ourselves SIGTERM when a line with `stop_on` appears."""
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        if stop_on and stop_on in line:
            os.kill(os.getpid(), signal.SIGTERM)

    return supervise(children, say=say, stop_seconds=stop_seconds), lines


def test_supervise_marks_each_line_with_its_child() -> None:
    _code, lines = run(child("web", "print('hello'); import sys; print('oops', file=sys.stderr)"))

    assert sorted(lines) == ["[web] hello", "[web] oops"]


def test_supervise_stops_all_with_the_code_of_the_first_that_ends() -> None:
    code, _lines = run(child("web", _FOREVER), child("worker", "raise SystemExit(7)"))

    assert code == 7


def test_supervise_gives_128_plus_the_signal_that_ended_a_child() -> None:
    code, _lines = run(child("web", "import os; os.kill(os.getpid(), 9)"))

    assert code == 137


def test_supervise_counts_an_end_without_a_code_as_a_failure() -> None:
    code, _lines = run(child("web", _FOREVER), child("worker", "pass"))

    assert code == 1


def test_supervise_stops_when_it_is_told_to() -> None:
    code, _lines = run(child("web", f"print('up', flush=True)\n{_FOREVER}"), stop_on="up")

    assert code == 0


def test_supervise_kills_a_child_that_does_not_listen() -> None:
    began = time.monotonic()

    code, _lines = run(child("web", _DEAF), stop_on="deaf", stop_seconds=0.5)

    assert code == 0
    assert time.monotonic() - began < 5


def test_supervise_kills_at_a_second_signal() -> None:
    def insist() -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Timer(1.0, insist).start()
    began = time.monotonic()

    run(child("web", _DEAF), stop_on="deaf", stop_seconds=60)

    assert time.monotonic() - began < 20


def test_supervise_ends_what_a_child_left_behind(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    program = (
        "import subprocess, sys, pathlib\n"
        "orphan = subprocess.Popen(['sleep', '600'])\n"
        "pathlib.Path(sys.argv[1]).write_text(str(orphan.pid))\n"
    )

    run(child("web", program, str(note)))

    status = Path(f"/proc/{note.read_text()}/status")
    ends_at = time.monotonic() + 5
    while _is_alive(status) and time.monotonic() < ends_at:
        time.sleep(0.01)
    assert not _is_alive(status)


def _is_alive(status: Path) -> bool:
    try:
        return "State:\tZ" not in status.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_supervise_restores_the_signal_handlers() -> None:
    before = signal.getsignal(signal.SIGTERM)

    run(child("web", "pass"))

    assert signal.getsignal(signal.SIGTERM) is before
