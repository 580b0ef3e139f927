"""Starting and ending programs, with ordinary ones of the system in the place of opencode."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pageai.runtime import processes
from pageai.runtime.program import Launch, can_fence, find_program
from tests.faults.worlds import wait_until

_SLEEPER = "import time\nwhile True: time.sleep(1)"
_DEAF = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('ready', flush=True)\n" + _SLEEPER


def launch_of(tmp_path: Path, **facts: object) -> Launch:
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "root").mkdir(exist_ok=True)
    whole = {"program": "/bin/cat", "port": 1, "password": "the-password"} | facts
    return Launch(root=str(tmp_path / "root"), home=tmp_path / "home", **whole)  # type: ignore[arg-type]


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", _DEAF], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    yield process
    if process.poll() is None:
        process.kill()
    process.wait(10)
    process.stdout.close()


def test_only_the_very_process_is_ended(child: subprocess.Popen[bytes]) -> None:
    began = processes.began(child.pid)

    assert began
    assert not processes.end(child.pid, f"{began}0")
    assert not processes.end(child.pid, "")
    assert not processes.end(0, began)
    assert child.poll() is None


def test_one_that_does_not_listen_is_killed(child: subprocess.Popen[bytes]) -> None:
    assert processes.end(child.pid, processes.began(child.pid))
    assert processes.began(child.pid) == ""


def test_there_is_no_beginning_of_a_process_that_is_not_there() -> None:
    ended = subprocess.Popen(["/bin/true"])
    ended.wait(10)

    assert processes.began(ended.pid) == ""


def test_a_started_program_gets_nothing_but_what_is_meant_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNOTE_SECRET_KEY", "of-ours")
    program = tmp_path / "show"
    program.write_text('#!/bin/sh\nenv; pwd; echo "args: $*"\n')
    program.chmod(0o700)
    launch = launch_of(tmp_path, program=str(program))

    processes.start(launch, log=tmp_path / "log").wait(30)

    shown = (tmp_path / "log").read_text()
    assert "of-ours" not in shown
    assert "OPENCODE_DISABLE_PROJECT_CONFIG=1" in shown
    assert "OPENCODE_SERVER_PASSWORD=the-password" in shown
    assert "args: serve --hostname 127.0.0.1 --port 1" in shown
    assert f"\n{launch.root}\n" in shown
    assert (tmp_path / "log").stat().st_mode & 0o077 == 0


def test_the_password_is_in_no_command_and_no_repr(tmp_path: Path) -> None:
    for is_fenced in (False, True):
        launch = launch_of(tmp_path, is_fenced=is_fenced)
        assert "the-password" not in " ".join(launch.command) + repr(launch)


def test_a_program_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert find_program("") == ""
    assert find_program(str(tmp_path / "nothing")) == ""
    assert find_program("sh")


@pytest.mark.skipif(not can_fence(), reason="bubblewrap is not installed, or the system does not let it work")
@pytest.mark.parametrize("may_write", [False, True])
def test_the_fence_shows_the_folder_and_nothing_else_of_the_disk(tmp_path: Path, may_write: bool) -> None:
    launch = launch_of(tmp_path, program="/bin/sh", is_fenced=True, may_write=may_write)
    secret, root = tmp_path / "secret", Path(launch.root)
    secret.write_text("secret")
    (root / "link").symlink_to(secret)
    (root / "note").write_text("note")
    fence = launch.command[: launch.command.index("--") + 1]
    script = f"cat note; cat link; ls {tmp_path}; cat {secret}; echo changed > made; ls /proc | grep -c {os.getpid()}"

    done = subprocess.run([*fence, "/bin/sh", "-c", script], capture_output=True, text=True, timeout=60, check=False)

    assert done.stdout.startswith("note")
    assert "secret" not in done.stdout
    assert (root / "made").exists() is may_write


def test_a_program_ends_with_who_started_it(tmp_path: Path) -> None:
    program = tmp_path / "wait"
    program.write_text("#!/bin/sh\nsleep 600\n")
    program.chmod(0o700)
    code = (
        "import sys\nfrom pathlib import Path\nfrom pageai.runtime import processes\n"
        "from pageai.runtime.program import Launch\nhome = Path(sys.argv[1])\n"
        "launch = Launch(program=sys.argv[2], root=str(home), home=home, port=1, password='x')\n"
        "print(processes.start(launch, log=home / 'log').pid, flush=True)\nsys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path), str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        assert processes.began(pid)
        starter.kill()
    wait_until(lambda: processes.began(pid) == "", "the program to end")
