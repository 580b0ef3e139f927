"""A real `opencode serve` for tests: its own home, no network but loopback, ended with the block."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.engines import missing
from tests.faults.worlds import ROOT, wait_until

#: Where `.ci/run` installs it; elsewhere it may be on the path.
_INSTALLED = ROOT / ".node" / "node_modules" / ".bin" / "opencode"
_PASSWORD = "only-for-tests"
_READY = re.compile(r"listening on http://127\.0\.0\.1:(\d+)")
_STOP_SECONDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Opencode:
    """A running server that works in `directory`."""

    port: int
    directory: Path

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Call its API in the directory."""
        separator = "&" if "?" in path else "?"
        url = f"http://127.0.0.1:{self.port}{path}{separator}directory={quote(str(self.directory), safe='')}"
        pair = base64.b64encode(f"opencode:{_PASSWORD}".encode()).decode()
        headers = {"Authorization": f"Basic {pair}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data=data, headers=headers, method=method)
        with urllib.request.urlopen(request, timeout=100) as response:
            return json.loads(response.read() or b"null")

    def prompt(self, text: str, *, agent: str) -> tuple[str, list[Any]]:
        """Ask in a new session; return the last answer and every part of the conversation."""
        session = self.ask("POST", "/session", {"title": "test"})["id"]
        parts = [{"type": "text", "text": text}]
        model = {"providerID": "fake", "modelID": "scripted"}
        answer = self.ask("POST", f"/session/{session}/message", {"parts": parts, "model": model, "agent": agent})
        said = "".join(part.get("text", "") for part in answer["parts"] if part["type"] == "text")
        messages = self.ask("GET", f"/session/{session}/message")
        return said, [part for message in messages for part in message["parts"]]


@contextmanager
def opencode(*, directory: Path, config_dir: Path, model_url: str, home: Path) -> Iterator[Opencode]:
    """Run a server whose configuration is the folder that MNote wrote, with a model of ours."""
    command = [_program(), "serve", "--hostname", "127.0.0.1", "--port", "0"]
    home.mkdir()
    log = home / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            command, cwd=directory, env=_environment(config_dir, model_url, home), stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        wait_until(lambda: _READY.search(log.read_text()) or process.poll() is not None, "opencode to listen")
        found = _READY.search(log.read_text())
        assert found, log.read_text()
        yield Opencode(port=int(found.group(1)), directory=directory)
    finally:
        _end(process)


def _program() -> str:
    found = str(_INSTALLED) if _INSTALLED.exists() else shutil.which("opencode")
    if found is None or shutil.which("rg") is None:
        missing("opencode (with ripgrep)")
    return str(found)


def _environment(config_dir: Path, model_url: str, home: Path) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": model_url, "apiKey": "none"},
        "models": {"scripted": {"tool_call": True, "limit": {"context": 100_000, "output": 4_000}}},
    }
    ours = {
        "model": "fake/scripted", "small_model": "fake/scripted", "enabled_providers": ["fake"],
        "provider": {"fake": provider},
    }  # fmt: skip
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "OPENCODE_CONFIG_DIR": str(config_dir),
        "OPENCODE_CONFIG_CONTENT": json.dumps(ours),
        "OPENCODE_SERVER_PASSWORD": _PASSWORD,
        "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
        "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    }


def _end(process: subprocess.Popen[bytes]) -> None:
    """It may outlive the first signal."""
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, number)
        try:
            process.wait(_STOP_SECONDS / 2)
        except subprocess.TimeoutExpired:
            continue
        return
