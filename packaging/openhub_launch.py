"""Starts OpenHub's backend so that it never commits anybody's folder, and so that this can be proven while it runs.

Run it with OpenHub's own Python in OpenHub's backend folder:

    cd smart-query-backend && python /path/to/packaging/openhub_launch.py [--host 127.0.0.1] [--port 8000]

OpenHub has no switch for its snapshots: after each turn it makes a git repository of its user's folder and commits what
changed. Here every function of that module that runs git or writes is replaced before the application is made. The
route GET /api/mnote/snapshots tries them on a folder of its own and tells what happened; MNote asks it.

The time zone is UTC: OpenHub compares the end of a token with local time. One process only: its streams and stop signs
live in memory. Nothing of MNote is needed here.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_GIVES_NOTHING = {
    "init_git_repo": False,
    "has_changes": False,
    "create_snapshot": None,
    "create_restore_snapshot": None,
    "restore_all": None,
    "restore_single_file": None,
}


class SnapshotsAreOff(RuntimeError):
    """Git is not run."""


def switch_off(module: Any) -> None:
    """Replace what runs git or writes. Raises AttributeError when OpenHub no longer has one of these functions."""
    for name, value in {**_GIVES_NOTHING, "_run_git": None}.items():
        getattr(module, name)  # an OpenHub without it is one that this file does not know
        setattr(module, name, _refusing if name == "_run_git" else _giving(value))


def proof(module: Any) -> dict[str, str]:
    """Ask for snapshots of a folder made for this, and look whether one was taken."""
    with tempfile.TemporaryDirectory(prefix="mnote-proof-") as name:
        folder = Path(name)
        (folder / "a.txt").write_text("as it was\n", encoding="utf-8")
        module.init_git_repo(name)
        (folder / "a.txt").write_text("changed\n", encoding="utf-8")
        made = module.create_snapshot(name, "ses_proof", "turn", "proof", [])
        found = sorted(each.name for each in folder.iterdir())
    is_off = made is None and found == ["a.txt"]
    return {"snapshots": "off" if is_off else "on", "proof": "nothing was made" if is_off else "a snapshot was taken"}


def _giving(value: Any) -> Any:
    def nothing(*_given: Any, **_named: Any) -> Any:
        return value

    return nothing


def _refusing(*_given: Any, **_named: Any) -> Any:
    raise SnapshotsAreOff


def _application() -> Any:
    sys.path.insert(0, str(Path.cwd()))
    from app.services import git_snapshot  # type: ignore[import-not-found]

    switch_off(git_snapshot)
    from app.core.auth import get_admin_user  # type: ignore[import-not-found]
    from app.main import app  # type: ignore[import-not-found]
    from fastapi import Depends  # type: ignore[import-not-found]

    def snapshots(_admin: dict[str, Any] = Depends(get_admin_user)) -> dict[str, str]:  # noqa: B008 its way
        return proof(git_snapshot)

    app.add_api_route("/api/mnote/snapshots", snapshots, methods=["GET"])
    return app


def main() -> None:
    parser = argparse.ArgumentParser(description="Start OpenHub without snapshots.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args()
    os.environ["TZ"] = "UTC"
    time.tzset()
    application = _application()
    import uvicorn  # type: ignore[import-not-found,unused-ignore]

    uvicorn.run(application, host=given.host, port=given.port, workers=1, proxy_headers=False)


if __name__ == "__main__":
    main()
