"""What a scan is told and what it says, as values."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from knowledge.scanner.fingerprint import Fingerprint
from knowledge.scanner.globs import Glob
from knowledge.scanner.ignore import SkipReason, extension_of
from mnote.files.roots import RootIdentity


class RootState(StrEnum):
    """How far the root can be trusted. Only below `ok` does a missing file mean a deleted one."""

    OK = "ok"
    GONE = "gone"
    EMPTY = "empty"
    PARTIAL = "partial"


class UnreadCause(StrEnum):
    """Why a folder was not read to its end."""

    DENIED = "denied"
    FAILED = "failed"
    VANISHED = "vanished"
    TOO_MANY = "too_many"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRules:
    """What to look at. `path` is a file or folder below the root (text form), `""` the root itself.

    `takes` says of a base name whether such a file can give text. Include and exclude start at `path`; without include
    all is included.
    """

    takes: Callable[[str], bool]
    path: str = ""
    recursive: bool = True
    include: tuple[Glob, ...] = ()
    exclude: tuple[Glob, ...] = ()
    max_bytes: int = 200 * 1024 * 1024
    max_depth: int = 128
    max_files: int = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """One file to index. `path` is its text form relative to the root."""

    path: str
    fingerprint: Fingerprint

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.fingerprint.size


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """One entry left out. A folder stands for everything below it. Size and time are 0 where not looked up."""

    path: str
    reason: SkipReason
    is_folder: bool = False
    size: int = 0
    mtime_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A folder (or file) that could not be read: nothing at or below `path` may be taken for deleted."""

    path: str
    cause: UnreadCause


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanResult:
    """One look at a source. Lists are sorted by path; `started_at_ns` is in nanoseconds since 1970."""

    path: str
    root_state: RootState
    root: RootIdentity | None
    started_at_ns: int
    files: tuple[FoundFile, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    folders: tuple[str, ...] = ()
    errors: tuple[Unread, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeTotal:
    """Files of one extension."""

    count: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What attaching a source would mean. Sizes in bytes."""

    count: int
    size: int
    by_type: Mapping[str, TypeTotal]
    skipped: Mapping[SkipReason, int]


def estimate(scan: ScanResult) -> Estimate:
    """Sum up a scan before anything is indexed."""
    by_type: defaultdict[str, list[int]] = defaultdict(list)
    for file in scan.files:
        by_type[extension_of(file.path.rpartition("/")[2])].append(file.size)
    return Estimate(
        count=len(scan.files),
        size=sum(file.size for file in scan.files),
        by_type={name: TypeTotal(count=len(sizes), size=sum(sizes)) for name, sizes in sorted(by_type.items())},
        skipped=Counter(entry.reason for entry in scan.skipped),
    )
