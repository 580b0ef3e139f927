"""Writing other values into many rows at once: one prepared statement, a row at a time, in the caller's transaction.

The ORM's own bulk update builds a condition for each value of each row, which takes longer than the database does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection
from django.db.models import Model


def update_rows(rows: Sequence[Model], columns: Sequence[str]) -> None:
    """Write the fields `columns` of `rows` (all of one model) by primary key, whatever stands there now."""
    if not rows:
        return
    model = rows[0]._meta  # noqa: SLF001 the name under which Django publishes it
    fields: list[Any] = [model.get_field(name) for name in columns]
    quote: Callable[[Any], str] = connection.ops.quote_name
    assigned = ", ".join(f"{quote(field.column)} = %s" for field in fields)
    sql = f"UPDATE {quote(model.db_table)} SET {assigned} WHERE {quote(model.pk.column)} = %s"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.executemany(sql, [[*_values(row, fields), row.pk] for row in rows])


def _values(row: Model, fields: Sequence[Any]) -> list[Any]:
    return [field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields]
