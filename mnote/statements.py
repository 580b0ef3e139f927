"""Statements asked very often while somebody waits, written once for each number of values.

The ORM would build them anew each time, in more time than they take to run.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any

from django.db import connection
from django.db.models import Model


def select(model: type[Model], columns: tuple[str, ...], **among: Collection[str]) -> list[tuple[Any, ...]]:
    """Return some columns of the rows whose fields have one of the values given for them, as the database holds them.
    No value leaves no row."""
    if not all(among.values()):
        return []
    values = [value for given in among.values() for value in given]
    with connection.cursor() as cursor:
        cursor.execute(sql_for(model, columns, **{name: len(given) for name, given in among.items()}), values)
        return [tuple(row) for row in cursor.fetchall()]


def sql_for(model: type[Model], columns: tuple[str, ...], **among: int) -> str:
    """Return the statement for so many values of each field."""
    return _sql(connection.vendor, model, columns, tuple(among.items()))


@lru_cache(maxsize=512)
def _sql(_vendor: str, model: type[Model], columns: tuple[str, ...], among: tuple[tuple[str, int], ...]) -> str:
    """The database is named because each quotes in its own way."""
    wanted = " AND ".join(f"{_column(model, name)} IN ({', '.join(['%s'] * count)})" for name, count in among)
    shown = ", ".join(_column(model, name) for name in columns)
    table = connection.ops.quote_name(model._meta.db_table)  # noqa: SLF001 Django's public name
    return f"SELECT {shown} FROM {table} WHERE {wanted}"  # noqa: S608 all names are the model's


def _column(model: type[Model], name: str) -> str:
    field: Any = model._meta.get_field(name)  # noqa: SLF001 Django's public name
    return str(connection.ops.quote_name(field.column))
