"""The OpenHubs that are asked, each as a block that runs it or reaches it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from pageai.panel.connection import Connection
from tests.stubs.openhub import OPERATIONS, openhub_stub


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """An OpenHub on the bench. Roots are made in `folder`, where its opencode reads; `slow` is a question that takes
    longer than any test waits."""

    connection: Connection
    folder: Path
    slow: str

    def operations(self) -> list[tuple[str, str]]:
        """Return every operation of its own OpenAPI document, as (method, path)."""
        answer = requests.get(f"{self.connection.openhub_url}/openapi.json", timeout=20)
        if not answer.ok or "json" not in answer.headers.get("Content-Type", ""):
            return [(each["method"], each["path"]) for each in OPERATIONS]
        paths: dict[str, dict[str, Any]] = answer.json()["paths"]
        return [(method.upper(), path) for path, methods in paths.items() for method in methods]

    def session(self, session_id: str, directory: str) -> dict[str, Any]:
        """Return a session as its opencode has it."""
        answer = requests.get(
            f"{self.connection.opencode_url}/session/{session_id}",
            params={"directory": directory},
            headers={"Authorization": self.connection.opencode.authorization},
            timeout=20,
        )
        found: dict[str, Any] = answer.json()
        return found


Maker = Callable[[Path], AbstractContextManager[Hub]]


@contextmanager
def openhub(folder: Path) -> Iterator[Hub]:
    """A stub that keeps the contract, with a Redis and an opencode of its own."""
    with openhub_stub(folder / "openhub") as stub:
        connection = Connection(
            openhub_url=stub.url,
            opencode_url=stub.opencode_url,
            jwt_secret=stub.jwt_secret,
            redis_url=stub.redis.url,
            opencode_password=stub.opencode.password,
        )
        yield Hub(connection=connection, folder=folder, slow="HANG")


def _live(prefix: str) -> Maker:
    @contextmanager
    def reached(folder: Path) -> Iterator[Hub]:
        given = {name: os.environ[prefix + name] for name in LIVE}
        connection = Connection(
            openhub_url=given["URL"].rstrip("/"),
            opencode_url=given["OPENCODE_URL"].rstrip("/"),
            jwt_secret=given["JWT_SECRET"],
            redis_url=given["REDIS_URL"],
            opencode_password=given["OPENCODE_PASSWORD"],
            opencode_username=os.environ.get(f"{prefix}OPENCODE_USERNAME", "opencode"),
        )
        with tempfile.TemporaryDirectory(dir=os.environ.get(f"{prefix}FOLDER") or folder) as below:
            yield Hub(connection=connection, folder=Path(below), slow=_SLOW)

    return reached


_SLOW = "Write the numbers from one to two thousand in words, one a line, and nothing else. Use no tool."
#: What says where a real one is, after the prefix of its line of storage. Set all of a line, and it is asked as well.
LIVE = ("URL", "JWT_SECRET", "REDIS_URL", "OPENCODE_URL", "OPENCODE_PASSWORD")
#: OpenHub keeps its rows in MySQL up to a commit and in SQLite from there on.
LINES = {"mysql": "MNOTE_TEST_OPENHUB_", "sqlite": "MNOTE_TEST_OPENHUB_SQLITE_"}
HUBS: dict[str, Maker] = {"stub": openhub}
HUBS |= {line: _live(prefix) for line, prefix in LINES.items() if all(os.environ.get(prefix + name) for name in LIVE)}
