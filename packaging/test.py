#!/usr/bin/env python3
"""Install what the tests need into a virtual environment and run all of them.

    python3 packaging/test.py [PYTEST ARGUMENTS]

Uses Redis, PostgreSQL and Chromium where they are installed and says which one it left out. With CI set in the
environment a missing one is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from run import PROJECT, install

#: Engine, and the programs one of which has to be there for its tests.
ENGINES = {
    "Redis": ("redis-server",),
    "PostgreSQL": ("pg_ctl", "/usr/lib/postgresql/*/bin/pg_ctl"),
    "Chromium": ("chromium", "chromium-browser", "google-chrome"),
    "opencode": (f"{PROJECT}/.node/node_modules/.bin/opencode", "opencode"),
    "ripgrep": ("rg",),
}
#: What is tested on both databases: all that asks one. The rest runs once.
ON_POSTGRES = ("mnote", "knowledge/api", "knowledge/selectors", "knowledge/services", "knowledge/views")
#: Each step, named as it is printed.
CHECKS = (
    ("formatting", ("-m", "ruff", "format", "--check", ".")),
    ("lint", ("-m", "ruff", "check", ".")),
    ("import rules", ("-c", "from importlinter.cli import lint_imports_command; lint_imports_command()")),
    ("types", ("-m", "mypy", "mnote", "knowledge", "pageai")),
    ("migrations", ("manage.py", "makemigrations", "--check", "--dry-run")),
    ("API document", ("manage.py", "spectacular", "--validate", "--fail-on-warn", "--file", os.devnull)),
)


def main() -> int:
    os.chdir(PROJECT)
    python = install(PROJECT / ".venv", "test.txt")
    missing = [engine for engine, programs in ENGINES.items() if not any(_is_there(name) for name in programs)]
    for engine in missing:
        print(f"LEFT OUT: {engine} is not installed; its tests do not run.", flush=True)
    if missing and os.environ.get("CI"):
        return 1
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "mnote.settings.test"}
    failed = [name for name, command in CHECKS if not _run(name, [python, *command], environment)]
    for name, arguments in _suites(sys.argv[1:]).items():
        if not _run(name, [python, "-m", "pytest", *arguments], environment):
            failed.append(name)
    is_twice = not sys.argv[1:] and "PostgreSQL" not in missing
    if is_twice and not _run("tests on PostgreSQL", _on_postgres(python), environment):
        failed.append("tests on PostgreSQL")
    print("FAILED: " + ", ".join(failed) if failed else "All checks and tests passed.", flush=True)
    return 1 if failed else 0


def _suites(given: list[str]) -> dict[str, list[str]]:
    """The browser's driver keeps an event loop running in its process, where no other test can start one."""
    if given:
        return {"tests": given}
    return {"tests": ["-n", "2", "-m", "not browser"], "tests in the browser": ["-n", "2", "-m", "browser"]}


def _on_postgres(python: Path) -> list[str | Path]:
    """The tests that use the database once more, on a cluster that lives as long as they do."""
    folders = [f"tests/{name}" for name in ON_POSTGRES]
    return [python, "-m", "tests.engines", python, "-m", "pytest", "-n", "2", "-m", "not faults", *folders]


def _run(name: str, command: list[str | Path], environment: dict[str, str]) -> bool:
    print(f"== {name}", flush=True)
    return subprocess.run(command, env=environment, check=False).returncode == 0


def _is_there(program: str) -> bool:
    return bool(any(Path("/").glob(program[1:])) if program.startswith("/") else shutil.which(program))


if __name__ == "__main__":
    sys.exit(main())
