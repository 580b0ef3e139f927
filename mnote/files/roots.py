"""A root folder: found once with its links resolved, remembered with its identity, never inside another root."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from mnote.files.errors import InvalidPath, RootGone, error_name
from mnote.files.names import path_to_text
from mnote.files.prefixes import is_below


@dataclass(frozen=True, slots=True, kw_only=True)
class RootIdentity:
    """Which folder this is, whatever its name: two roots with one identity are one folder."""

    device: int
    inode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A root folder. `path` is absolute, in plain form, without links on the way."""

    path: bytes
    identity: RootIdentity


class Overlap(StrEnum):
    """How one root lies to another."""

    SAME = "same"
    INSIDE = "inside"
    AROUND = "around"


def resolve_root(path: bytes) -> Root:
    """Resolve a folder that is to become a root; do this once, and store the resolved path.

    Raises:
        InvalidPath: not absolute, or the whole file system.
        RootGone: not there, not a folder, or not readable.
    """
    if not path.startswith(b"/") or b"\0" in path:
        raise InvalidPath("", "a root is an absolute path")
    try:
        real = os.fsencode(Path(os.fsdecode(path)).resolve(strict=True))
        with os.scandir(real):
            found = os.stat(real, follow_symlinks=False)  # noqa: PTH116 bytes
    except (OSError, RuntimeError) as error:
        raise RootGone("", error_name(error) if isinstance(error, OSError) else "ELOOP") from None
    if real == b"/":
        raise InvalidPath("", "the whole file system is no root")
    return Root(path=real, identity=RootIdentity(device=found.st_dev, inode=found.st_ino))


def overlap(one: Root, other: Root) -> Overlap | None:
    """Say how `one` lies to `other`; `None` if they share nothing. Sees the same folder under two names."""
    if one.path == other.path or one.identity == other.identity:
        return Overlap.SAME
    mine, theirs = path_to_text(one.path[1:]), path_to_text(other.path[1:])
    if is_below(theirs, mine):
        return Overlap.INSIDE
    return Overlap.AROUND if is_below(mine, theirs) else None
