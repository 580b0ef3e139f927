"""Look at each layer that answers depend on, and name the ones that fail."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from mnote.selectors import health
from mnote.services import doorbell

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer: its name, and whether it answers."""

    name: str
    is_ok: bool


def look() -> list[Layer]:
    """Check database, migrations, broker and worker, in this order. Without a database the rest is not asked."""
    database = Layer(name="database", is_ok=_asked(_database_answers))
    if not database.is_ok:
        return [database]
    others: list[tuple[str, Callable[[], bool]]] = [
        ("migrations", _is_migrated),
        ("broker", doorbell.is_reachable),
        ("worker", health.is_worker_alive),
    ]
    return [database, *(Layer(name=name, is_ok=_asked(answers)) for name, answers in others)]


def _asked(answers: Callable[[], bool]) -> bool:
    try:
        return answers()
    except DatabaseError as error:
        logger.warning("a readiness check failed", extra={"error": type(error).__name__})
        return False


def _database_answers() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return bool(cursor.fetchone() == (1,))


def _is_migrated() -> bool:
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())
