"""The registry rows behind what a provider found: a few among very many, while somebody waits."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from functools import lru_cache

from knowledge.models import Document
from mnote.recent import Recent
from mnote.statements import select, sql_for

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
    found = select(Document, ("id", "rev"), kb=kb_ids, provider_knowledge_id=provider_ids)
    revisions: dict[str, int] = dict(found)
    known = {pk: row for pk, rev in revisions.items() if (row := _known.get(pk)) is not None and row.rev == rev}
    read = _read(revisions.keys() - known.keys())
    for row in read:
        _known.put(row.pk, copy(row))
    # Whoever asked may put something into theirs.
    return [*read, *map(copy, known.values())]


def _read(ids: Collection[str]) -> list[Document]:
    return list(Document.objects.raw(sql_for(Document, _shown(), id=len(ids)), [*ids])) if ids else []


@lru_cache(maxsize=1)
def _shown() -> tuple[str, ...]:
    fields = Document._meta.concrete_fields  # noqa: SLF001 Django's public name
    return tuple(field.name for field in fields if field.name not in _NOT_SHOWN)
