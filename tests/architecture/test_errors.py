"""Every code that can leave us is explained in docs/errors.md, and nothing else is."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

from mnote.exceptions import AppError

DOCS = Path(__file__).parents[2] / "docs" / "errors.md"
_ENTRY = re.compile(r"^## `([^`]+)`\n\n(\d{3})( · again)?\. (.+)$", re.MULTILINE)
#: Modules that only start or change something when they are imported.
_LEFT_OUT = (".migrations", ".settings", ".management", ".asgi")


def codes() -> dict[str, tuple[int, bool]]:
    """Return status and retryable of every error class, by code; the base of each code counts."""
    for app in ("mnote", "knowledge", "pageai"):
        package = importlib.import_module(app)
        for module in pkgutil.walk_packages(package.__path__, f"{app}."):
            if not any(part in module.name for part in _LEFT_OUT):
                importlib.import_module(module.name)
    return {kind.code: (kind.status, kind.retryable) for kind in reversed(list(_kinds(AppError)))}


def _kinds(kind: type[AppError]) -> Iterator[type[AppError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _kinds(each)


def test_every_code_has_a_paragraph_with_its_status() -> None:
    documented = {code: (int(status), bool(again)) for code, status, again, _ in _ENTRY.findall(DOCS.read_text())}

    # Tests may define errors of their own.
    known = {code: facts for code, facts in codes().items() if not code.startswith("test")}
    assert documented == known


def test_every_heading_is_an_entry() -> None:
    text = DOCS.read_text()

    assert text.count("\n## ") == len(_ENTRY.findall(text))
