"""Finds every text marked for translation in the code and the templates. English is the source language."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.utils.translation.template import templatize

_MODULE = "django.utils.translation"
#: Function -> places of context, text and plural among its arguments.
_FUNCTIONS: dict[str, tuple[int | None, int, int | None]] = {
    "gettext": (None, 0, None),
    "gettext_lazy": (None, 0, None),
    "gettext_noop": (None, 0, None),
    "ngettext": (None, 0, 1),
    "ngettext_lazy": (None, 0, 1),
    "pgettext": (0, 1, None),
    "pgettext_lazy": (0, 1, None),
    "npgettext": (0, 1, 2),
    "npgettext_lazy": (0, 1, 2),
}
_LITERAL = r"u?('(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\")"
_IN_TEMPLATE = re.compile(rf"\b(n?p?gettext|_)\({_LITERAL}(?:, {_LITERAL})?(?:, {_LITERAL})?")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Message:
    """One text to translate. `plural` and `context` are "" where there are none; `file` is one place that uses it."""

    text: str
    plural: str = ""
    context: str = ""
    file: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.context, self.text, self.plural


def messages_in(root: Path, code: tuple[str, ...], templates: tuple[str, ...]) -> list[Message]:
    """Collect the messages of the Python files below `code` and the templates below `templates`, folders of `root`."""
    found: dict[tuple[str, str, str], Message] = {}
    for file in sorted(path for folder in code for path in (root / folder).rglob("*.py")):
        _add(found, _in_code(file.read_text(encoding="utf-8")), file.relative_to(root))
    for file in sorted(path for folder in templates for path in (root / folder).rglob("*.html")):
        _add(found, _in_template(file.read_text(encoding="utf-8")), file.relative_to(root))
    return sorted(found.values())


def _add(found: dict[tuple[str, str, str], Message], keys: Iterator[tuple[str, str, str]], file: Path) -> None:
    for context, text, plural in keys:
        message = Message(text=text, plural=plural, context=context, file=file.as_posix())
        found.setdefault(message.key, message)


def _in_code(source: str) -> Iterator[tuple[str, str, str]]:
    tree = ast.parse(source)
    names = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == _MODULE
        for alias in node.names
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = names.get(node.func.id, "") if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in _FUNCTIONS:
            yield from _of_call(name, [_literal(each) for each in node.args])


def _literal(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _of_call(function: str, arguments: list[str | None]) -> Iterator[tuple[str, str, str]]:
    def at(place: int | None) -> str:
        value = arguments[place] if place is not None and place < len(arguments) else ""
        return value or ""

    context, text, plural = (at(place) for place in _FUNCTIONS[function])
    if text:
        yield context, text, plural


def _in_template(source: str) -> Iterator[tuple[str, str, str]]:
    for match in _IN_TEMPLATE.finditer(templatize(source)):
        function, *literals = match.groups()
        arguments = [ast.literal_eval(each) if each else "" for each in literals]
        yield from _of_call("gettext" if function == "_" else function, arguments)
