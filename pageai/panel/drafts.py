"""Events of a run before they are written: small, bounded, plain JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_PAYLOAD_BYTES = 8_000
_MAX_TEXT, _LEAST_TEXT = 4_000, 100
_MAX_ITEMS, _MAX_DEPTH = 50, 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One event to be. `key` marks a thing that may be told more than once and is written once."""

    kind: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    source: str = "opencode"
    key: str = ""


def bounded(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return a payload that fits; what was cut shows in `cut`: true, and `bytes`, how large it was."""
    whole = size_of(payload)
    if whole <= MAX_PAYLOAD_BYTES:
        return dict(payload)
    limit = _MAX_TEXT
    while limit >= _LEAST_TEXT:
        found = {**_shortened(payload, limit, _MAX_DEPTH), "cut": True, "bytes": whole}
        if size_of(found) <= MAX_PAYLOAD_BYTES:
            return found
        limit //= 2
    return {"cut": True, "bytes": whole}


def size_of(payload: Mapping[str, Any]) -> int:
    """Return the bytes that a payload takes as JSON."""
    return len(json.dumps(payload, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def short(value: Any, limit: int) -> str:
    """Return a text of at most so many characters; what is no text is none."""
    text = value if isinstance(value, str) else ""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _shortened(value: Any, limit: int, depth: int) -> Any:
    if isinstance(value, str):
        return short(value, limit)
    if depth == 0:
        return None
    if isinstance(value, list):
        return [_shortened(each, limit, depth - 1) for each in value[:_MAX_ITEMS]]
    if isinstance(value, Mapping):
        listed = list(value.items())[:_MAX_ITEMS]
        return {short(name, 100): _shortened(each, limit, depth - 1) for name, each in listed}
    return value
