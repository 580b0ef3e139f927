"""Database connections outside requests: threads of workers and streams open them, and must let them go."""

from __future__ import annotations

from django.db import connections


def let_go() -> None:
    """Close this thread's connections that are broken or have served their time; one inside a transaction stays."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
