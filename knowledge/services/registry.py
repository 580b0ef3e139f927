"""Registry rows in bulk: what a look at a source turns into. One short transaction a batch, never the whole folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import TypeVar

from django.db import transaction
from django.utils import timezone

from knowledge import ids
from knowledge.models import Document, Exclusion, IndexStatus, KnowledgeBase, Source
from knowledge.parsing.file_types import type_for_name
from knowledge.reasons import reason_for
from knowledge.scanner.fingerprint import Fingerprint
from knowledge.scanner.result import FoundFile, Skipped
from knowledge.services import documents, revisions
from knowledge.services.row_updates import update_rows
from mnote.ids import text_key
from mnote.models import Job
from mnote.services import jobs

BATCH = 500
#: Jobs that may work on one knowledge base at the same time.
WORKERS_PER_KB = 2
_SKIPPED_ROWS = 5000
_STAT_COLUMNS = ("size_bytes", "mtime_ns", "ctime_ns", "inode", "device")

T = TypeVar("T")


def batches(items: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    """Yield lists of at most `size` items."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def add_files(source: Source, files: Sequence[FoundFile]) -> int:
    """Queue files that were not known to this source. A path that another source of the KB holds stays with it; a row
    that was deleted or skipped before comes back to life. Returns how many were queued."""
    excluded = set(Exclusion.objects.filter(kb=source.kb, root=source.root).values_list("path_key", flat=True))
    return sum(_add_batch(source, batch, excluded) for batch in batches(files))


def skip_files(source: Source, skipped: Iterable[Skipped]) -> None:
    """Keep a row for each file left out for a reason people ask about; drop rows of files no longer left out."""
    listed = {text_key(each.path): each for each in islice(skipped, _SKIPPED_ROWS)}
    rows = Document.objects.filter(source=source, index_status=IndexStatus.SKIPPED)
    kept = {key for key, reason in rows.values_list("path_key", "reason_code") if _still_skipped(listed, key, reason)}
    for gone in batches([row for row in rows.only("id", "path_key") if row.path_key not in kept]):
        Document.objects.filter(id__in=[row.id for row in gone], index_status=IndexStatus.SKIPPED).delete()
    for batch in batches([each for key, each in listed.items() if key not in kept]):
        with transaction.atomic():
            rev = revisions.take(source.kb.workspace_id, len(batch))
            fresh = [_skipped_row(source, each, rev + number) for number, each in enumerate(batch)]
            Document.objects.bulk_create(fresh, ignore_conflicts=True)


def touch(rows: Iterable[tuple[Document, Fingerprint]]) -> None:
    """Note new stat numbers of files whose content is the same. Nobody needs to see that: no new revision."""
    for batch in batches(rows):
        for document, fingerprint in batch:
            _set_fingerprint(document, fingerprint)
        with transaction.atomic():
            update_rows([row for row, _ in batch], _STAT_COLUMNS)


def change(document: Document, fingerprint: Fingerprint) -> None:
    """Queue a file whose content changed. Its old version stays searchable until the new one is."""
    documents.update(document=document, **_stat_fields(fingerprint), missing_since=None, deleted_at=None)
    if document.index_status == IndexStatus.DELETED:
        documents.update(document=document, index_status=IndexStatus.QUEUED)
    documents.requeue(documents=[document])


def move(moves: Sequence[tuple[Document, FoundFile]]) -> None:
    """Follow files to their new paths: same rows, same index entries, nothing is read again.

    All at once, because two files may have swapped names: a row whose path another one takes leaves it first.
    """
    if not moves:
        return
    taken = {text_key(found.path) for _, found in moves}
    with transaction.atomic():
        in_the_way = [document for document, _ in moves if document.path_key in taken]
        for document in in_the_way:
            document.path_key = f"moving:{document.id}"[:40]
        update_rows(in_the_way, ["path_key"])
        for batch in batches(moves):
            _clear_paths(batch)
            _place(batch)
    for document, _ in moves:
        restore(document)


def restore(document: Document) -> None:
    """A file that was missing is back with its old content: take it as it was."""
    if document.index_status != IndexStatus.DELETED:
        return
    if document.indexed_hash and document.provider_knowledge_id and not document.pending_knowledge_id:
        documents.update(
            document=document, index_status=IndexStatus.INDEXED, status_since=timezone.now(), reason_class="",
            reason_code="", reason_detail="", missing_since=None, deleted_at=None, is_searchable=True,
        )  # fmt: skip
        return
    documents.update(document=document, index_status=IndexStatus.QUEUED, missing_since=None, deleted_at=None)
    documents.requeue(documents=[document])


def mark_missing(document: Document) -> None:
    """A file is not in its place any more: out of search at once, out of the index after the grace period."""
    now = timezone.now()
    documents.update(
        document=document, index_status=IndexStatus.DELETED, status_since=now, missing_since=now,
        reason_class=reason_for("missing").reason_class, reason_code="missing", reason_detail="",
        next_try_at=None, lease_expires_at=None, worker="",
    )  # fmt: skip


def request_work(kb: KnowledgeBase, *, at: datetime | None = None) -> Job:
    """Make sure that somebody works through the waiting documents of a knowledge base, now or later; return one of
    the jobs."""
    asked = [
        jobs.enqueue(
            kind="resource_parse",
            payload={"kb_id": kb.id, "slot": slot},
            dedup_key=f"{kb.id}:{slot}",
            workspace=kb.workspace,
            kb_id=kb.id,
            queue="bulk",
            run_at=at,
        )
        for slot in range(1 if at else WORKERS_PER_KB)
    ]
    return asked[0]


def path_fields(path: str) -> dict[str, str]:
    """Return the columns that follow from a document's path."""
    folder = path.rpartition("/")[0]
    return {
        "source_path": path,
        "path_key": text_key(path),
        "parent_key": text_key(folder),
        "sort_path": path[:200],
    }


def _add_batch(source: Source, batch: list[FoundFile], excluded: set[str]) -> int:
    keys = {text_key(file.path): file for file in batch}
    present = {
        row.path_key: row
        for row in Document.objects.filter(kb=source.kb, root=source.root, path_key__in=keys).select_related("kb")
    }
    fresh = [file for key, file in keys.items() if key not in present and key not in excluded]
    back = [
        (row, keys[key])
        for key, row in present.items()
        if key not in excluded and row.index_status in (IndexStatus.DELETED, IndexStatus.SKIPPED)
    ]
    with transaction.atomic():
        rev = revisions.take(source.kb.workspace_id, max(1, len(fresh)))
        Document.objects.bulk_create([_row(source, file, rev + number) for number, file in enumerate(fresh)])
    for row, file in back:
        documents.update(
            document=row, source=source, index_status=IndexStatus.QUEUED, missing_since=None, deleted_at=None,
            **_stat_fields(file.fingerprint),
        )  # fmt: skip
        documents.requeue(documents=[row])
    return len(fresh) + len(back)


def _place(moves: Sequence[tuple[Document, FoundFile]]) -> None:
    rev = revisions.take(moves[0][0].workspace_id, len(moves))
    for number, (document, found) in enumerate(moves):
        for name, value in {**path_fields(found.path), **_stat_fields(found.fingerprint), "rev": rev + number}.items():
            setattr(document, name, value)
    update_rows([document for document, _ in moves], [*path_fields(""), *_STAT_COLUMNS, "rev"])


def _clear_paths(moves: Sequence[tuple[Document, FoundFile]]) -> None:
    """Drop the rows of removed or left-out files at the new paths: the file that is there now has its own row."""
    first = moves[0][0]
    at_target = Document.objects.filter(
        kb_id=first.kb_id, root_id=first.root_id, path_key__in=[text_key(found.path) for _, found in moves]
    )
    at_target.filter(index_status__in=[IndexStatus.DELETED, IndexStatus.SKIPPED]).delete()


def _still_skipped(listed: dict[str, Skipped], key: str, reason: str) -> bool:
    return key in listed and listed[key].reason.value == reason


def _row(source: Source, file: FoundFile, rev: int) -> Document:
    found = type_for_name(file.path.rpartition("/")[2])
    return Document(
        id=ids.document_id(),
        user=source.created_by,
        kb=source.kb,
        workspace_id=source.kb.workspace_id,
        root=source.root,
        source=source,
        title=file.path.rpartition("/")[2][:500],
        source_type=found.key if found else "",
        provider=source.kb.provider,
        provider_kb_id=source.kb.provider_kb_id,
        index_status=IndexStatus.QUEUED,
        status_since=timezone.now(),
        rev=rev,
        **path_fields(file.path),
        **_stat_fields(file.fingerprint),
    )


def _skipped_row(source: Source, skipped: Skipped, rev: int) -> Document:
    row = _row(source, FoundFile(path=skipped.path, fingerprint=_NOTHING_KNOWN), rev)
    row.index_status = IndexStatus.SKIPPED
    row.reason_code = skipped.reason.value
    row.reason_class = reason_for(skipped.reason.value).reason_class
    row.size_bytes, row.mtime_ns = skipped.size, skipped.mtime_ns
    return row


_NOTHING_KNOWN = Fingerprint(size=0, mtime_ns=0, inode=0, dev=0, ctime_ns=0)


def _stat_fields(fingerprint: Fingerprint) -> dict[str, int]:
    return {
        "size_bytes": fingerprint.size,
        "mtime_ns": fingerprint.mtime_ns,
        "ctime_ns": fingerprint.ctime_ns,
        "inode": fingerprint.inode,
        "device": fingerprint.dev,
    }


def _set_fingerprint(document: Document, fingerprint: Fingerprint) -> None:
    for name, value in _stat_fields(fingerprint).items():
        setattr(document, name, value)
