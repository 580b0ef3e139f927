from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

_FILE = Path(__file__).parents[2] / "packaging" / "openhub_launch.py"


@pytest.fixture
def launch() -> ModuleType:
    spec = importlib.util.spec_from_file_location("openhub_launch", _FILE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def snapshots() -> Any:
    """A module that takes snapshots as OpenHub's does."""
    module = SimpleNamespace()

    def run_git(arguments: list[str], cwd: str, timeout: int = 30) -> Any:
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        return subprocess.run(["git", *who, *arguments], cwd=cwd, capture_output=True, timeout=timeout, check=True)

    def init_git_repo(path: str) -> bool:
        module._run_git(["init"], path)
        module._run_git(["add", "-A"], path)
        module._run_git(["commit", "-m", "first"], path)
        return True

    def create_snapshot(path: str, *_given: Any) -> str:
        module._run_git(["add", "-A"], path)
        module._run_git(["commit", "-m", "turn"], path)
        return "hash"

    module._run_git, module.init_git_repo, module.create_snapshot = run_git, init_git_repo, create_snapshot
    module.has_changes = lambda _path: True
    module.create_restore_snapshot = module.restore_all = module.restore_single_file = lambda *_given: "done"
    return module


def test_proof_sees_that_snapshots_are_taken(launch: ModuleType, snapshots: Any) -> None:
    assert launch.proof(snapshots)["snapshots"] == "on"


def test_proof_sees_that_none_are_taken_after_they_were_switched_off(launch: ModuleType, snapshots: Any) -> None:
    launch.switch_off(snapshots)

    assert launch.proof(snapshots)["snapshots"] == "off"


def test_switched_off_nothing_is_restored_and_git_is_not_run(
    launch: ModuleType, snapshots: Any, tmp_path: Path
) -> None:
    launch.switch_off(snapshots)

    assert snapshots.restore_all(str(tmp_path), "hash") is None
    assert snapshots.has_changes(str(tmp_path)) is False
    with pytest.raises(launch.SnapshotsAreOff):
        snapshots._run_git(["status"], str(tmp_path))


def test_openhub_that_takes_them_in_another_way_is_not_started(launch: ModuleType, snapshots: Any) -> None:
    del snapshots.create_snapshot

    with pytest.raises(AttributeError):
        launch.switch_off(snapshots)
