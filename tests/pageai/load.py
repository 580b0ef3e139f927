"""Many calls at once by two people with different grants: `python -m tests.pageai.load [CALLS]` (default 10,000).

Every answer is checked: nothing that only the other may read may stand in it, in any member.
"""

from __future__ import annotations

import http.client
import json
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.pageai.served import Served, make_seed, serve

_CALLERS = 6
_OTHER = {"alice": "bob", "bob": "alice"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What came back: answers in all, those that were not as they should be, those that held something foreign, and
    how long it took. `codes` counts what was wrong with those that failed."""

    answers: int
    failed: int
    foreign: int
    seconds: float
    codes: Counter[str]

    def report(self) -> str:
        return (
            f"calls: {self.answers}\nforeign answers: {self.foreign}\nerrors: {self.failed} {dict(self.codes)}\n"
            f"calls a second: {self.answers / self.seconds:.0f}\n"
        )


def run(served: Served, calls: int) -> Load:
    """Let six callers, in turn alice and bob, call search, list and open, and try what only the other may open."""
    began = time.monotonic()
    share = [calls // _CALLERS + (number < calls % _CALLERS) for number in range(_CALLERS)]
    seen: dict[str, str] = {}
    with ThreadPoolExecutor(_CALLERS) as pool:
        parts = list(
            pool.map(lambda number: _one(served, ("alice", "bob")[number % 2], share[number], seen), range(_CALLERS))
        )
    answers, failed, foreign = (sum(each[column] for each in parts) for column in range(3))
    codes = sum((each[3] for each in parts), Counter[str]())
    return Load(answers=answers, failed=failed, foreign=foreign, seconds=time.monotonic() - began, codes=codes)


def _one(served: Served, name: str, calls: int, seen: dict[str, str]) -> tuple[int, int, int, Counter[str]]:
    """`seen` holds a reference into each person's own folder, for the other to try."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    answers = failed = foreign = 0
    codes: Counter[str] = Counter()
    token = ""
    for number in range(calls):
        tool, arguments, is_refused = _call(number, name, token, seen)
        answer = _ask(connection, served.facts.tokens[name], tool, arguments)
        answers += 1
        body = answer.get("result", {}).get("structuredContent", {})
        if not body or ("error" in body) is not is_refused:
            failed += 1
            codes[body.get("error", {}).get("code", "answered" if body else "no answer")] += 1
        foreign += _is_foreign(answer, name)
        for each in body.get("results", ()):
            token = each.get("openReference", token)
            if "openReference" in each and each["sourcePath"].startswith(f"{name}/"):
                seen[name] = each["openReference"]
    connection.close()
    return answers, failed, foreign, codes


def _call(number: int, name: str, token: str, seen: dict[str, str]) -> tuple[str, dict[str, Any], bool]:
    """Searches for the most part; now and then a list, an opening, and a try at the other's file. The last member says
    whether it has to be refused."""
    if number % 10 == 3 and token:
        return "mnote.weknora.open_reference", {"token": token}, False
    if number % 10 == 5 and _OTHER[name] in seen:
        return "mnote.weknora.open_reference", {"token": seen[_OTHER[name]]}, True
    if number % 10 == 6:
        return "mnote.weknora.list_sources", {}, False
    if number % 10 == 9:
        return "mnote.weknora.get_source_status", {"sourcePath": f"{_OTHER[name]}/treasure 0.md"}, True
    return "mnote.weknora.search", {"query": f"treasure stone {number % 4}", "topK": 4}, False


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
    sys.stdout.write(load.report())
    sys.exit(1 if load.failed or load.foreign else 0)
