"""How names look on the wire."""

from __future__ import annotations

import re

_SNAKE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_JOINT = re.compile(r"(?<=[a-z0-9])_([a-z0-9])")


def camel_case(name: str) -> str:
    """Give `root_uri` as `rootUri`; what is not one name in snake case stays as it is."""
    if not _SNAKE.fullmatch(name):
        return name
    return _JOINT.sub(lambda match: match.group(1).upper(), name)
