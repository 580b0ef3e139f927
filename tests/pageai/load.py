"""Many calls at once by two people with different grants: `python -m tests.pageai.load [CALLS]` (default 10,000).

Every answer is checked: nothing that only the other may read may stand in it, in any member.
"""

from __future__ import annotations

import http.client
import json
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.pageai.served import Served, make_seed, serve

_CALLERS = 6
_OTHER = {"alice": "bob", "bob": "alice"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What came back: answers in all, those that failed, those that held something foreign, and how long it took."""

    answers: int
    failed: int
    foreign: int
    seconds: float


def run(served: Served, calls: int) -> Load:
    """Let six callers, in turn alice and bob, call search, list and open."""
    began = time.monotonic()
    share = [calls // _CALLERS + (number < calls % _CALLERS) for number in range(_CALLERS)]
    with ThreadPoolExecutor(_CALLERS) as pool:
        parts = list(
            pool.map(lambda number: _one(served, ("alice", "bob")[number % 2], share[number]), range(_CALLERS))
        )
    answers, failed, foreign = (sum(column) for column in zip(*parts, strict=True))
    return Load(answers=answers, failed=failed, foreign=foreign, seconds=time.monotonic() - began)


def _one(served: Served, name: str, calls: int) -> tuple[int, int, int]:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    answers = failed = foreign = 0
    token = ""
    for number in range(calls):
        tool, arguments = _call(number, name, token)
        answer = _ask(connection, served.facts.tokens[name], tool, arguments)
        answers += 1
        body = answer.get("result", {}).get("structuredContent", {})
        is_expected = "error" in body if tool == "mnote.weknora.get_source_status" else "error" not in body
        failed += not (body and is_expected)
        foreign += _is_foreign(answer, name)
        for each in body.get("results", ()):
            token = each.get("openReference", token)
    connection.close()
    return answers, failed, foreign


def _call(number: int, name: str, token: str) -> tuple[str, dict[str, Any]]:
    """Searches for the most part; now and then a list, an opening, and a try at the other's file."""
    if number % 10 == 3 and token:
        return "mnote.weknora.open_reference", {"token": token}
    if number % 10 == 6:
        return "mnote.weknora.list_sources", {}
    if number % 10 == 9:
        return "mnote.weknora.get_source_status", {"sourcePath": f"{_OTHER[name]}/treasure 0.md"}
    return "mnote.weknora.search", {"query": f"treasure stone {number % 4}", "topK": 4}


def _ask(connection: http.client.HTTPConnection, token: str, tool: str, arguments: dict[str, Any]) -> Any:
    params = {"name": tool, "arguments": arguments}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {token}",
    }
    connection.request("POST", "/mcp", body, headers)
    return json.loads(connection.getresponse().read())


def _is_foreign(answer: Any, name: str) -> bool:
    """Say whether anything of the other's own folder stands anywhere in the answer."""
    text, other = json.dumps(answer), _OTHER[name]
    return f"{other}/treasure" in text or f"treasure of {other}" in text


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="mnote-load-") as scratch:
        folder = Path(scratch)
        (folder / "seed").mkdir()
        with serve(make_seed(folder / "seed"), folder / "data", workers=2) as running:
            load = run(running, int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
    sys.stdout.write(f"{load}\n{load.answers / load.seconds:.0f} calls a second\n")
    sys.exit(1 if load.failed or load.foreign else 0)
