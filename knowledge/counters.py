"""The triggers that keep `mnote_kb_counts` right, whatever code writes documents, on both databases."""

from __future__ import annotations

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper

_ADD = """
    INSERT INTO mnote_kb_counts (kb_id, root_id, index_status, is_searchable, count)
    VALUES ({row}.kb_id, {row}.root_id, {row}.index_status, {row}.is_searchable, 1)
    ON CONFLICT (kb_id, root_id, index_status, is_searchable) DO UPDATE SET count = mnote_kb_counts.count + 1;
"""
_TAKE = """
    UPDATE mnote_kb_counts SET count = count - 1
    WHERE kb_id = {row}.kb_id AND root_id = {row}.root_id
      AND index_status = {row}.index_status AND is_searchable = {row}.is_searchable;
"""
_CHANGED = "(OLD.index_status <> NEW.index_status OR OLD.is_searchable <> NEW.is_searchable)"
_EVENTS = {
    "insert": ("AFTER INSERT ON", "", _ADD.format(row="NEW")),
    "delete": ("AFTER DELETE ON", "", _TAKE.format(row="OLD")),
    "update": (
        "AFTER UPDATE OF index_status, is_searchable ON", _CHANGED, _TAKE.format(row="OLD") + _ADD.format(row="NEW")
    ),
}  # fmt: skip
_TABLE = "mnote_knowledge_sources"
_COUNT = f"""
    INSERT INTO mnote_kb_counts (kb_id, root_id, index_status, is_searchable, count)
    SELECT kb_id, root_id, index_status, is_searchable, COUNT(*) FROM {_TABLE}
    GROUP BY kb_id, root_id, index_status, is_searchable
"""  # noqa: S608 the table's name is ours


def ensure(connection: BaseDatabaseWrapper) -> None:
    """Create the triggers anew and count once from the documents. Runs after every migration: SQLite rebuilds a table
    that is altered, and drops its triggers with the old one."""
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        for statement in [
            *_drop(connection.vendor),
            *_create(connection.vendor),
            "DELETE FROM mnote_kb_counts",
            _COUNT,
        ]:
            cursor.execute(statement)


def _create(vendor: str) -> list[str]:
    """Return the statements that create the triggers on this database."""
    make = _postgresql if vendor == "postgresql" else _sqlite
    return [statement for name, parts in _EVENTS.items() for statement in make(name, *parts)]


def _drop(vendor: str) -> list[str]:
    """Return the statements that drop them."""
    table = f" ON {_TABLE}" if vendor == "postgresql" else ""
    return [f"DROP TRIGGER IF EXISTS kb_count_{name}{table}" for name in _EVENTS]


def _sqlite(name: str, event: str, condition: str, body: str) -> list[str]:
    when = f"WHEN {condition}" if condition else ""
    return [f"CREATE TRIGGER kb_count_{name} {event} {_TABLE} FOR EACH ROW {when} BEGIN {body} END"]


def _postgresql(name: str, event: str, condition: str, body: str) -> list[str]:
    when = f"WHEN {condition}" if condition else ""
    function = f"kb_count_{name}_row"
    head = f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS"
    return [
        f"{head} $$ BEGIN {body} RETURN NULL; END $$",
        f"CREATE TRIGGER kb_count_{name} {event} {_TABLE} FOR EACH ROW {when} EXECUTE FUNCTION {function}()",
    ]
