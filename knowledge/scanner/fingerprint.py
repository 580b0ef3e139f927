"""What tells one state of a file from another: its stat numbers when cheap, its sha256 when sure."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import Self

_BLOCK = 1024 * 1024


class ChangedWhileReading(Exception):
    """Somebody wrote to the file while it was read, so the bytes belong to no one state. Try again later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """The stat numbers of one state of a file. Size in bytes, times in nanoseconds since 1970.

    Equal fingerprints mean an unchanged file, but for a write within the clock's grain; see `diff`. The device is no
    part of that: systems number devices anew when they start.
    """

    size: int
    mtime_ns: int
    inode: int
    dev: int
    ctime_ns: int

    @classmethod
    def of(cls, found: os.stat_result) -> Self:
        """Take the fingerprint out of a stat result."""
        return cls(
            size=found.st_size,
            mtime_ns=found.st_mtime_ns,
            inode=found.st_ino,
            dev=found.st_dev,
            ctime_ns=found.st_ctime_ns,
        )

    def is_same_state(self, other: Fingerprint) -> bool:
        """Say whether nothing but the device number differs."""
        return self._state == other._state

    @property
    def _state(self) -> tuple[int, int, int, int]:
        return self.size, self.mtime_ns, self.inode, self.ctime_ns


def sha256_of(fd: int) -> str:
    """Hash an open regular file from its start, as lower-case hex. The descriptor's position stays as it is.

    A write within the grain of the file system's clock (a few ms), or one long `write` that goes on during the whole
    call, is not seen. So leave files alone that were written a moment ago (`settle_ns` of `diff`).

    Raises:
        ChangedWhileReading: the file was not the same before and after.
        OSError: the system stops reading.
    """
    before = Fingerprint.of(os.fstat(fd))
    digest = hashlib.sha256()
    offset = 0
    while block := os.pread(fd, _BLOCK, offset):
        digest.update(block)
        offset += len(block)
        if offset > before.size:
            break
    if offset != before.size or not before.is_same_state(Fingerprint.of(os.fstat(fd))):
        raise ChangedWhileReading
    return digest.hexdigest()
