"""Every layer of a running installation, and what is wrong with it: what `check_stack` prints.

Apps add their own layers with `@layer`, so that the kernel need not know them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerReport:
    """One layer. `sentence` says in plain words what is broken, "" when nothing is; it names no secret or address."""

    name: str
    is_ok: bool
    sentence: str = ""
    version: str = ""
    milliseconds: int = 0


Look = Callable[[], LayerReport]
_layers: dict[str, Look] = {}


def layer(name: str) -> Callable[[Look], Look]:
    """Register a function that looks at one layer and never raises for what is wrong with it."""

    def register(look: Look) -> Look:
        _layers[name] = look
        return look

    return register


def look_at_all() -> list[LayerReport]:
    """Look at every layer, in the order of registration, and time each look."""
    return [_timed(look) for look in _layers.values()]


def _timed(look: Look) -> LayerReport:
    started = time.monotonic()
    report = look()
    return replace(report, milliseconds=int((time.monotonic() - started) * 1000))
