from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mnote.process import lock


def test_take_refuses_a_second_run_and_names_the_first(tmp_path: Path) -> None:
    held = lock.take(tmp_path, ("web", "worker"))

    with pytest.raises(lock.AlreadyRunning, match=f"process {os.getpid()}"):
        lock.take(tmp_path, ("web",))

    held.release()


def test_take_succeeds_after_a_release(tmp_path: Path) -> None:
    lock.take(tmp_path, ("web", "worker")).release()

    lock.take(tmp_path, ("web", "worker")).release()


def test_take_lets_the_two_roles_run_apart(tmp_path: Path) -> None:
    web, worker = lock.take(tmp_path, ("web",)), lock.take(tmp_path, ("worker",))

    web.release()
    worker.release()


def test_take_that_is_refused_keeps_nothing(tmp_path: Path) -> None:
    worker = lock.take(tmp_path, ("worker",))
    with pytest.raises(lock.AlreadyRunning):
        lock.take(tmp_path, ("web", "worker"))

    lock.take(tmp_path, ("web",)).release()
    worker.release()


def test_take_waits_for_children_of_a_dead_run(tmp_path: Path) -> None:
    """The run that took the lock is dead; a child that inherited it ends a moment later."""
    program = (
        "import subprocess, sys, pathlib\n"
        "from mnote.process import lock\n"
        "held = lock.take(pathlib.Path(sys.argv[1]), ('web',))\n"
        "child = subprocess.Popen(['sleep', '1'], pass_fds=held.descriptors)\n"
        "print(child.pid)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, capture_output=True, text=True)

    lock.take(tmp_path, ("web",)).release()
