"""Sync: bring the registry level with the disk. Looks at one source, and turns what differs into work.

Nothing is removed because a folder could not be read; a removal waits for its grace period; the safety stop asks a
person before many removals at once.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from knowledge.models import Document, IndexStatus, Source, SyncMode, SyncOutcome, SyncRun
from knowledge.scanner.changes import ChangeSet, KnownFile, KnownState, PreviousScan
from knowledge.scanner.diff import diff
from knowledge.scanner.fingerprint import Fingerprint, sha256_of
from knowledge.scanner.globs import parse_globs
from knowledge.scanner.result import ScanResult, ScanRules
from knowledge.scanner.safety import SafetyVerdict, StopReason, check_removals, is_device_changed, trusted_state
from knowledge.scanner.walk import scan
from knowledge.services import reader_settings, registry, removal
from mnote.files.roots import RootIdentity
from mnote.ids import text_key
from mnote.models import Root
from mnote.services import files

_MEGABYTE = 1024 * 1024
_REVIEW_ROWS = 1000
_LOOKS = 4
_HASH_PREFIX = "sha256:"
#: Reasons whose files are counted but get no row: nobody looks for them in a knowledge base.
_UNLISTED = frozenset({"hidden", "system", "temporary", "sidecar", "secret"})

#: What a person may confirm. A root that is gone or half read gives nothing to decide on.
CONFIRMABLE = frozenset({StopReason.ROOT_EMPTY, StopReason.DEVICE_CHANGED, StopReason.OVER_LIMIT})

Beat = Callable[..., None]


def _no_beat(**_: object) -> None:
    return


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What one look at a source found, before anything is changed. `missing` are paths known to be gone before."""

    scan: ScanResult
    changes: ChangeSet
    verdict: SafetyVerdict
    missing: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Why and how to look. `full` reads every file's content again; `confirmed` says that a person agreed to removals
    that the safety stop would hold back."""

    trigger: str = "manual"
    job_id: str = ""
    full: bool = False
    confirmed: bool = False


def rules_of(source: Source) -> ScanRules:
    """Return the scanner's rules of a source."""
    return ScanRules(
        path=source.path,
        recursive=source.recursive,
        include=parse_globs(source.include),
        exclude=parse_globs(source.exclude),
        max_bytes=source.max_file_mb * _MEGABYTE,
        takes=reader_settings.taken_by(source.kb),
    )


def sync_source(*, source: Source, order: Order, beat: Beat = _no_beat) -> SyncRun:
    """Look at a source and apply what changed. Returns the finished run; raises nothing for what the disk does."""
    run = SyncRun.objects.create(kb=source.kb, source=source, trigger=order.trigger, job_id=order.job_id)
    looked = _look_settled(source, full=order.full, beat=beat)
    is_stopped = looked.verdict.stop and not (order.confirmed and looked.verdict.reason in CONFIRMABLE)
    beat(stage="applying", found=len(looked.scan.files))
    apply(source, looked, keep_missing=is_stopped, beat=beat)
    if not is_stopped:
        _accept_root(source, looked.scan)
    _finish(run, looked, is_stopped=is_stopped)
    Source.objects.filter(id=source.id).update(next_sync_at=_next_sync(source, looked))
    registry.request_work(source.kb)
    return run


def _look_settled(source: Source, *, full: bool, beat: Beat) -> Looked:
    """Look again while files are being written, for a few seconds at most; what still moves then waits for later."""
    for _ in range(_LOOKS):
        beat(stage="scanning")
        looked = look(source, full=full)
        if not looked.changes.deferred:
            break
        time.sleep(settings.MNOTE_SETTLE_SECONDS)
    return looked


def look(source: Source, *, full: bool = False) -> Looked:
    """Scan a source and compare it with the registry."""
    found = scan(files.path_of_root(source.root), rules_of(source))
    known, missing = _known_files(source)
    previous = _previous(source)
    changes = diff(
        known,
        found,
        hash_of=lambda path: _hash_of(source, path),
        previous=previous,
        settle_ns=int(settings.MNOTE_SETTLE_SECONDS * 1_000_000_000),
        hash_all=full,
    )
    verdict = check_removals(
        len(known),
        len(changes.removed),
        limit_percent=source.safety_stop_percent,
        root_state=trusted_state(found),
        is_device_changed=is_device_changed(previous, found) or _is_other_folder(source, found),
    )
    return Looked(scan=found, changes=changes, verdict=verdict, missing=missing)


def apply(source: Source, looked: Looked, *, keep_missing: bool = False, beat: Beat = _no_beat) -> None:
    """Write a change set into the registry, in the order that `ChangeSet` asks for."""
    changes = looked.changes
    if not keep_missing:
        gone = [path for path in changes.removed if path not in looked.missing]
        for number, document in enumerate(_documents(source, gone)):
            beat(removed=number)
            registry.mark_missing(document)
    rows = {document.source_path: document for document in _documents(source, [move.old for move in changes.moved])}
    registry.move([(rows[move.old], move.found) for move in changes.moved])
    reasons = {withdrawal.path: withdrawal.reason.value for withdrawal in changes.withdrawn}
    for document in _documents(source, list(reasons)):
        removal.remove(documents_to_remove=[document], code=reasons[document.source_path])
    found = {file.path: file.fingerprint for file in (*changes.changed, *changes.touched)}
    for number, document in enumerate(_documents(source, [file.path for file in changes.changed])):
        beat(changed=number)
        registry.change(document, found[document.source_path])
    touched = _documents(source, [file.path for file in changes.touched])
    registry.touch((document, found[document.source_path]) for document in touched)
    back = [file.path for file in (*changes.unchanged, *changes.touched) if file.path in looked.missing]
    for document in _documents(source, back):
        registry.restore(document)
    registry.add_files(source, changes.added)
    registry.skip_files(
        source, (each for each in changes.skipped if not each.is_folder and each.reason.value not in _UNLISTED)
    )


def _known_files(source: Source) -> tuple[list[KnownFile], frozenset[str]]:
    """Return the files whose content we hold or want, and which of their paths are missing since a while.

    Plain values, not rows: an unchanged folder of ten thousand files must not cost ten thousand objects.
    """
    rows = Document.objects.filter(source=source, deleted_at__isnull=True).exclude(index_status=IndexStatus.SKIPPED)
    columns = ("source_path", "size_bytes", "mtime_ns", "inode", "device", "ctime_ns", "source_hash", "missing_since")
    known: list[KnownFile] = []
    missing: list[str] = []
    for path, size, mtime, inode, device, ctime, digest, missing_since in rows.values_list(*columns).iterator():
        fingerprint = Fingerprint(size=size, mtime_ns=mtime, inode=inode, dev=device, ctime_ns=ctime)
        known.append(
            KnownFile(
                path=path,
                fingerprint=fingerprint,
                sha256=digest.removeprefix(_HASH_PREFIX) or None,
                state=KnownState.INDEXED,
            )
        )
        if missing_since is not None:
            missing.append(path)
    return known, frozenset(missing)


def _documents(source: Source, paths: Sequence[str]) -> Iterator[Document]:
    """Yield the rows at these paths, a batch at a time."""
    rows = Document.objects.filter(source=source, deleted_at__isnull=True).select_related("kb", "root")
    for batch in registry.batches(paths):
        yield from rows.filter(path_key__in=[text_key(path) for path in batch])


def _hash_of(source: Source, path: str) -> str:
    with files.open_for_indexing(root=source.root, path=path) as opened:
        return sha256_of(opened.fd)


def _previous(source: Source) -> PreviousScan | None:
    """Return when this source was last looked at, to the nanosecond, and on which folder."""
    last = source.sync_runs.filter(scan_started_ns__isnull=False).order_by("-started_at").first()
    if last is None or last.scan_started_ns is None or source.root.inode is None or source.root.device is None:
        return None
    identity = RootIdentity(device=source.root.device, inode=source.root.inode)
    return PreviousScan(started_at_ns=last.scan_started_ns, root=identity)


def _is_other_folder(source: Source, found: ScanResult) -> bool:
    """Say whether another folder now stands at the root's path."""
    return found.root is not None and source.root.inode is not None and found.root.inode != source.root.inode


def _accept_root(source: Source, found: ScanResult) -> None:
    """Know the root again by what it is now."""
    if found.root is not None:
        Root.objects.filter(id=source.root_id).update(device=found.root.device, inode=found.root.inode)


def _finish(run: SyncRun, looked: Looked, *, is_stopped: bool) -> None:
    run.counts = _counts(looked)
    run.reason_code = looked.verdict.reason.value if looked.verdict.reason else ""
    run.review = list(looked.changes.removed[:_REVIEW_ROWS]) if is_stopped else []
    run.outcome = SyncOutcome.STOPPED if is_stopped else SyncOutcome.SUCCEEDED
    run.scan_started_ns = looked.scan.started_at_ns if looked.scan.root else None
    run.finished_at = timezone.now()
    if is_stopped and _is_dismissed_already(run):
        run.counts["dismissed"] = True
    run.save()


def _is_dismissed_already(run: SyncRun) -> bool:
    """Say whether a person was asked the very same by the look before, and wants to be left alone."""
    before = SyncRun.objects.filter(source=run.source).exclude(id=run.id).order_by("-started_at", "-id").first()
    if before is None or before.outcome != SyncOutcome.STOPPED or not before.counts.get("dismissed"):
        return False
    return (before.reason_code, before.review) == (run.reason_code, run.review)


def _counts(looked: Looked) -> dict[str, object]:
    changes = looked.changes
    names = ("added", "changed", "moved", "removed", "withdrawn", "unchanged", "touched", "deferred", "held", "skipped")
    counts: dict[str, object] = {name: len(getattr(changes, name)) for name in names}
    counts["skippedBy"] = dict(Counter(each.reason.value for each in changes.skipped))
    counts["unread"] = len(looked.scan.errors)
    counts["missingBefore"] = len(looked.missing.intersection(changes.removed))
    if changes.collisions:
        counts["collisions"] = [list(group) for group in changes.collisions[:20]]
    return counts


def _next_sync(source: Source, looked: Looked) -> datetime | None:
    """Say when to look again: soon while files are being written, else by the source's rule."""
    now = timezone.now()
    if looked.changes.deferred:
        return now + timedelta(seconds=30)
    if source.sync_mode == SyncMode.MANUAL:
        return None
    return now + timedelta(minutes=source.interval_minutes)
