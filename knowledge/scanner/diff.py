"""Known files against found files: what was added, changed, moved or removed. Pure, but for the hashes it asks for.

A file counts as changed when its state differs, never because it is newer: clocks are set back and archives unpack old
times. Content is read only in doubt. Identity follows the file (device and inode), then its content, then its path.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from knowledge.scanner.changes import (
    ChangeSet,
    Held,
    HeldReason,
    KnownFile,
    KnownState,
    Move,
    PreviousScan,
    Withdrawal,
)
from knowledge.scanner.fingerprint import ChangedWhileReading
from knowledge.scanner.ignore import SkipReason
from knowledge.scanner.result import FoundFile, RootState, ScanResult, Skipped
from mnote.files.errors import FilesError
from mnote.files.prefixes import PrefixMap

# Within this time before the last scan, a second write could have left every stat number as it was.
RACY_NS = 2_000_000_000

# Left out for what they are, not by rule: to the index the file is gone.
_LIKE_REMOVED = {SkipReason.LINK, SkipReason.SPECIAL, SkipReason.LOOP}


def diff(
    known: Iterable[KnownFile],
    scan: ScanResult,
    *,
    hash_of: Callable[[str], str],
    previous: PreviousScan | None = None,
    settle_ns: int = 0,
    hash_all: bool = False,
) -> ChangeSet:
    """Compare the known files of one source (paths are unique) with a scan of it.

    `hash_of` reads a path and gives its sha256 as lower-case hex; when it raises `ChangedWhileReading`, a
    `FilesError` or an `OSError` the path is deferred. Files written less than `settle_ns` ago are deferred too.
    `hash_all` reads every file, for the pass that finds what no stat number shows.
    """
    comparison = _Comparison(
        known={file.path: file for file in known},
        found={file.path: file for file in scan.files},
        scan=scan,
        hash_of=hash_of,
        previous=previous,
        settle_ns=settle_ns,
        hash_all=hash_all,
    )
    return comparison.run()


@dataclass(slots=True, kw_only=True)
class _Comparison:
    known: dict[str, KnownFile]
    found: dict[str, FoundFile]
    scan: ScanResult
    hash_of: Callable[[str], str]
    previous: PreviousScan | None
    settle_ns: int
    hash_all: bool
    hashes: dict[str, str] = field(default_factory=dict)
    deferred: set[str] = field(default_factory=set)
    unsettled: set[str] = field(default_factory=set)
    moves: list[Move] = field(default_factory=list)
    held: dict[str, HeldReason] = field(default_factory=dict)
    changed: list[FoundFile] = field(default_factory=list)
    unchanged: list[FoundFile] = field(default_factory=list)
    touched: list[FoundFile] = field(default_factory=list)

    def run(self) -> ChangeSet:
        """Take out of `known` and `found` what is understood, step by step; what stays is removed or added."""
        collisions = _collisions(self.found)
        self._hold_what_was_not_seen()
        self._match_by_inode()
        self._match_by_content()
        self._compare_at_same_path()
        removed, withdrawn = self._sort_out_missing()
        return ChangeSet(
            added=self._settled(self.found.values()),
            changed=self._settled(self.changed),
            moved=tuple(sorted(self.moves, key=lambda move: move.old)),
            removed=removed,
            withdrawn=withdrawn,
            unchanged=tuple(self.unchanged),
            touched=tuple(self.touched),
            deferred=tuple(sorted(self.deferred)),
            held=tuple(Held(path=path, reason=reason) for path, reason in sorted(self.held.items())),
            skipped=self.scan.skipped,
            collisions=collisions,
            hashes=self.hashes,
        )

    # -- what this scan cannot speak about

    def _hold_what_was_not_seen(self) -> None:
        unread = PrefixMap((error.path, error) for error in self.scan.errors)
        source = PrefixMap([(self.scan.path, True)])
        devices = {file.fingerprint.dev for file in self.scan.files}
        devices.update({self.scan.root.device} if self.scan.root else ())
        for path in self.known.keys() - self.found.keys():
            reason = None
            if self.scan.root_state is RootState.GONE:
                reason = HeldReason.ROOT_GONE
            elif not source.most_specific(path):
                reason = HeldReason.NOT_SCANNED
            elif unread.most_specific(path):
                reason = HeldReason.UNREAD
            elif self._was_on_lost_mount(self.known[path], devices):
                reason = HeldReason.MOUNT_GONE
            if reason:
                self._hold(path, reason)

    def _was_on_lost_mount(self, known: KnownFile, devices: set[int]) -> bool:
        """Say whether the file lay on another disk than the root, and nothing of that disk is to be seen."""
        device = known.fingerprint.dev
        return self.previous is not None and device != self.previous.root.device and device not in devices

    def _hold(self, path: str, reason: HeldReason) -> None:
        del self.known[path]
        self.held[path] = reason

    # -- who is who

    def _match_by_inode(self) -> None:
        """Find files that are elsewhere now, also where another file took their old path."""
        left = defaultdict(list)
        for known in self._known_in_order():
            if known.state is KnownState.INDEXED and not self._is_still_there(known):
                left[self._identity(known)].append(known)
        for path, found in sorted(self.found.items()):
            here = self.known.get(path)
            if here and self._is_still_there(here):
                continue
            for known in left.get((found.fingerprint.dev, found.fingerprint.inode), ()):
                if self._is_same_content(known, found):
                    left[self._identity(known)].remove(known)
                    self._move(known, found)
                    break

    def _is_still_there(self, known: KnownFile) -> bool:
        found = self.found.get(known.path)
        return found is not None and found.fingerprint.inode == known.fingerprint.inode

    def _identity(self, known: KnownFile) -> tuple[int, int]:
        """Give device and inode; the root's device may have another number than at the last scan."""
        device = known.fingerprint.dev
        if self.previous and self.scan.root and device == self.previous.root.device:
            device = self.scan.root.device
        return device, known.fingerprint.inode

    def _is_same_content(self, known: KnownFile, found: FoundFile) -> bool:
        """Say whether a found file is the known one; a number alone is no proof, systems give inodes out again."""
        if known.fingerprint.is_same_state(found.fingerprint) and not self._is_doubtful(found):
            return True
        if known.sha256 is None or known.fingerprint.size != found.size:
            return False
        return self._hash(found.path) == known.sha256

    def _match_by_content(self) -> None:
        """Find moves where inodes tell nothing, as on shares: a missing file and a new one with the same bytes."""
        missing = [
            known
            for known in self._known_in_order()
            if known.path not in self.found and known.sha256 and known.state is KnownState.INDEXED
        ]
        sizes = {known.fingerprint.size for known in missing}
        for path, found in sorted(self.found.items()):
            if path in self.known or found.size not in sizes:
                continue
            digest = self._hash(path)
            if digest is None:
                self.unsettled.update(known.path for known in missing if known.fingerprint.size == found.size)
            twins = [known for known in missing if known.sha256 == digest]
            if twins:
                best = next((twin for twin in twins if _base(twin.path) == _base(path)), twins[0])
                missing.remove(best)
                self._move(best, found)

    def _move(self, known: KnownFile, found: FoundFile) -> None:
        del self.known[known.path]
        del self.found[found.path]
        self.moves.append(Move(old=known.path, found=found))

    # -- what happened to those that stayed

    def _compare_at_same_path(self) -> None:
        for path in sorted(self.known.keys() & self.found.keys()):
            known, found = self.known.pop(path), self.found.pop(path)
            self._outcome(known, found).append(found)

    def _outcome(self, known: KnownFile, found: FoundFile) -> list[FoundFile]:
        """Give the list that a file belongs to which is at its known path."""
        if known.state is KnownState.WITHDRAWN or known.fingerprint.size != found.size:
            return self.changed
        is_same_state = known.fingerprint.is_same_state(found.fingerprint)
        if known.sha256 is None:
            return self._quiet(known, found) if is_same_state else self.changed
        if is_same_state and not self._is_doubtful(found):
            return self._quiet(known, found)
        return self._quiet(known, found) if self._hash(found.path) == known.sha256 else self.changed

    def _quiet(self, known: KnownFile, found: FoundFile) -> list[FoundFile]:
        return self.unchanged if known.fingerprint == found.fingerprint else self.touched

    def _sort_out_missing(self) -> tuple[tuple[str, ...], tuple[Withdrawal, ...]]:
        left_out = PrefixMap((entry.path, entry) for entry in self.scan.skipped) if self.known else None
        removed: list[str] = []
        withdrawn: list[Withdrawal] = []
        for known in self._known_in_order():
            skipped = next(iter(left_out.most_specific(known.path)), None) if left_out else None
            if known.path in self.unsettled:
                self._hold(known.path, HeldReason.UNSETTLED)
            elif skipped is None or not _withdraws(skipped, known.path):
                removed.append(known.path)
            elif self._is_settling(skipped.mtime_ns):
                self.deferred.add(known.path)
            elif known.state is KnownState.INDEXED:
                withdrawn.append(Withdrawal(path=known.path, reason=skipped.reason))
        return tuple(removed), tuple(withdrawn)

    def _known_in_order(self) -> list[KnownFile]:
        return sorted(self.known.values(), key=lambda known: known.path)

    # -- doubt

    def _is_doubtful(self, found: FoundFile) -> bool:
        """Say whether equal stat numbers are no proof: written about when the last scan looked, or in the future."""
        since = self.previous.started_at_ns if self.previous else self.scan.started_at_ns
        latest = max(found.fingerprint.mtime_ns, found.fingerprint.ctime_ns)
        return self.hash_all or latest >= since - RACY_NS

    def _hash(self, path: str) -> str | None:
        if path not in self.hashes and path not in self.deferred:
            try:
                self.hashes[path] = self.hash_of(path)
            except (ChangedWhileReading, FilesError, OSError):
                self.deferred.add(path)
        return self.hashes.get(path)

    def _is_settling(self, mtime_ns: int) -> bool:
        return 0 <= self.scan.started_at_ns - mtime_ns < self.settle_ns

    def _settled(self, files: Iterable[FoundFile]) -> tuple[FoundFile, ...]:
        """Leave out, and defer, what is being written or could not be read."""
        files = sorted(files, key=lambda file: file.path)
        self.deferred.update(file.path for file in files if self._is_settling(file.fingerprint.mtime_ns))
        return tuple(file for file in files if file.path not in self.deferred)


def _withdraws(skipped: Skipped, path: str) -> bool:
    """Say whether the file `path` is still there, but left out by what was skipped."""
    return skipped.reason not in _LIKE_REMOVED and (skipped.path == path or skipped.is_folder)


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _collisions(paths: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Group paths that a file system without case, or with one normalisation, would take for one."""
    groups = defaultdict(list)
    for path in paths:
        groups[unicodedata.normalize("NFC", path).casefold()].append(path)
    return tuple(sorted(tuple(sorted(group)) for group in groups.values() if len(group) > 1))
