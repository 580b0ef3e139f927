"""What a comparison is told and what it says, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from knowledge.scanner.fingerprint import Fingerprint
from knowledge.scanner.ignore import SkipReason
from knowledge.scanner.result import FoundFile, Skipped
from mnote.files.roots import RootIdentity


class KnownState(StrEnum):
    """What we did with a known file: its content is in the index, or was taken out while the file stays."""

    INDEXED = "indexed"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFile:
    """A file as we last read it. `sha256` is lower-case hex; `None` if it was never read to its end."""

    path: str
    fingerprint: Fingerprint
    sha256: str | None
    state: KnownState = KnownState.INDEXED


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousScan:
    """When the last scan of this source began (nanoseconds since 1970), and on which folder."""

    started_at_ns: int
    root: RootIdentity


class HeldReason(StrEnum):
    """Why a missing file is not called deleted."""

    ROOT_GONE = "root_gone"
    UNREAD = "unread"
    MOUNT_GONE = "mount_gone"
    NOT_SCANNED = "not_scanned"
    UNSETTLED = "unsettled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A known file of which this scan says nothing."""

    path: str
    reason: HeldReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """The file known as `old` is now found elsewhere, with the same content."""

    old: str
    found: FoundFile

    @property
    def new(self) -> str:
        """The path at which it is now."""
        return self.found.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """A known file that is to leave the index though nobody deleted it; it is empty, too large, or left out by rule."""

    path: str
    reason: SkipReason


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSet:
    """What to do so that the known files equal a scan. Every known path is in at most one of the lists.

    Apply `removed` first, then all moves at once (two files may have swapped names), then the rest. `changed` and
    `touched` keep the known path; `touched` has the same content and only needs its fingerprint stored. A path that is
    `deferred` is being written, or vanished meanwhile: look again soon. `hashes` are the sha256 of found paths that
    had to be read. `collisions` are paths that only differ in case or Unicode normalisation: one file on other systems.
    """

    added: tuple[FoundFile, ...] = ()
    changed: tuple[FoundFile, ...] = ()
    moved: tuple[Move, ...] = ()
    removed: tuple[str, ...] = ()
    withdrawn: tuple[Withdrawal, ...] = ()
    unchanged: tuple[FoundFile, ...] = ()
    touched: tuple[FoundFile, ...] = ()
    deferred: tuple[str, ...] = ()
    held: tuple[Held, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    collisions: tuple[tuple[str, ...], ...] = ()
    hashes: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_quiet(self) -> bool:
        """Say whether nothing needs to be ingested, moved or taken out."""
        return not (self.added or self.changed or self.moved or self.removed or self.withdrawn)
