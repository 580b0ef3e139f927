"""Every trap of the server's contract, T1 to T68: a test that drives into it, or why it is no road of ours."""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from knowledge.providers.weknora import client
from tests.knowledge.providers.weknora.test_removal import HARMLESS

TRAPS = range(1, 69)
HERE = Path(__file__).parent
#: Where tests name the traps that they drive into, in their docstrings.
TESTS = (*HERE.glob("test_*.py"), *(HERE.parents[1] / "services").glob("test_*.py"))
#: Traps without a test of their own, each with the reason.
ELSEWHERE = {
    12: "counts of knowledge bases are never read: documents and passages are counted one by one",
    23: "documents are files: none is made by hand",
    34: "a setting of the server, seen by nobody outside; tenants are kept apart by profiles, never by its roles",
    35: "lists of keys are never asked for: an administrator enters the key",
    42: "who may reach the server is up to whoever runs it",
}


def claims() -> dict[int, list[str]]:
    """Return the tests that say, in their docstrings, which trap they are about."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    for path in TESTS:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for number in re.findall(r"\bT(\d{1,2})\b", ast.get_docstring(node) or ""):
                    found[int(number)].append(f"{path.name}::{node.name}")
    return found


def test_every_trap_has_a_test_or_a_reason_why_it_needs_none() -> None:
    claimed = claims()

    assert set(TRAPS) - set(claimed) == set(ELSEWHERE), "a trap without a test needs a reason, one with a test none"
    assert set(claimed) <= set(TRAPS)


def calls() -> Iterator[str]:
    """Yield the calls that the client can make, ids as ID."""
    for function in ast.walk(ast.parse(inspect.getsource(client))):
        if not isinstance(function, ast.FunctionDef):
            continue
        texts = {
            target.id: node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "self._line.call":
                method, path = node.args[:2]
                wanted = texts[path.id] if isinstance(path, ast.Name) else path
                yield f"{ast.literal_eval(method)} {_address(wanted)}"


def _address(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    assert isinstance(node, ast.JoinedStr)
    return "".join(
        str(part.value)
        if isinstance(part, ast.Constant)
        else client._API
        if isinstance(part, ast.FormattedValue) and ast.unparse(part.value) == "_API"
        else "ID"
        for part in node.values
    )


def test_client_can_make_no_call_but_harmless_ones() -> None:
    """T1, T9, T13, T29, T32, T33, T39, T40, T41, T46, T56: what is not on the list is a trap by itself."""
    assert set(calls()) == HARMLESS


@pytest.mark.parametrize("number", ELSEWHERE)
def test_reason_is_a_clause(number: int) -> None:
    assert len(ELSEWHERE[number].split()) > 5
