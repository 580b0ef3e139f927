"""The registry rows behind what a provider found: a few among very many, while somebody waits."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from functools import lru_cache
from typing import Any

from django.db import connection

from knowledge.models import Document
from mnote.recent import Recent

#: What no reference needs: reading it for every hit takes longer than finding the row. What the file system says of a
#: file changes without a new revision, so that it cannot be kept.
_NOT_SHOWN = (
    "path_key", "parent_key", "size_bytes", "mtime_ns", "ctime_ns", "inode", "device", "source_hash", "provider_doc_id",
    "provider_status", "pending_knowledge_id", "pending_json", "handed_at", "text_hash", "is_to_reparse",
    "reason_class", "reason_code", "reason_detail", "status_since", "attempts", "next_try_at", "lease_expires_at",
    "worker", "tags_json", "metadata_json", "created_at", "updated_at", "deleted_at",
)  # fmt: skip

#: Rows as they were read last, by id. They count as long as their revision is the same: it grows with every change.
_known: Recent[str, Document] = Recent(4096)


def documents_named(*, kb_ids: Collection[str], provider_ids: Collection[str]) -> list[Document]:
    """Return the rows of knowledge bases that name these documents of their provider, in no order; what is rarely
    needed of them is read when it is."""
    if not kb_ids or not provider_ids:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_names_sql(connection.vendor, len(kb_ids), len(provider_ids)), [*kb_ids, *provider_ids])
        revisions: dict[str, int] = dict(cursor.fetchall())
    known = {pk: row for pk, rev in revisions.items() if (row := _known.get(pk)) is not None and row.rev == rev}
    read = _read(revisions.keys() - known.keys())
    for row in read:
        _known.put(row.pk, copy(row))
    # Whoever asked may put something into theirs.
    return [*read, *map(copy, known.values())]


def _read(ids: Collection[str]) -> list[Document]:
    return list(Document.objects.raw(_read_sql(connection.vendor, len(ids)), [*ids])) if ids else []


# The ORM would build the same statements anew for each search, in more time than they take to run. The database is
# named because each quotes in its own way.


@lru_cache(maxsize=256)
def _names_sql(vendor: str, kbs: int, documents: int) -> str:  # noqa: ARG001
    pk, rev, kb, named = (_column(name) for name in ("id", "rev", "kb", "provider_knowledge_id"))
    return (
        f"SELECT {pk}, {rev} FROM {_table()}"  # noqa: S608 all names are the model's
        f" WHERE {kb} IN ({_places(kbs)}) AND {named} IN ({_places(documents)})"
    )


@lru_cache(maxsize=256)
def _read_sql(vendor: str, documents: int) -> str:  # noqa: ARG001
    shown = [field.name for field in Document._meta.concrete_fields if field.name not in _NOT_SHOWN]  # noqa: SLF001
    columns = ", ".join(map(_column, shown))
    return f"SELECT {columns} FROM {_table()} WHERE {_column('id')} IN ({_places(documents)})"  # noqa: S608


def _table() -> str:
    return str(connection.ops.quote_name(Document._meta.db_table))  # noqa: SLF001 Django's public name


def _column(name: str) -> str:
    field: Any = Document._meta.get_field(name)  # noqa: SLF001 Django's public name
    return str(connection.ops.quote_name(field.column))


def _places(count: int) -> str:
    return ", ".join(["%s"] * count)
