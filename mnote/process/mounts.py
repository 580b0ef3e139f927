"""Which file system a folder lies on. SQLite's log needs memory shared by its users, which network drives lack."""

from __future__ import annotations

import re
from pathlib import Path, PurePath

_MOUNTS = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")
_NETWORK = frozenset({
    "9p", "afs", "ceph", "cifs", "davfs", "fuse.ceph", "fuse.davfs", "fuse.gcsfuse", "fuse.glusterfs", "fuse.rclone",
    "fuse.s3fs", "fuse.sshfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs", "vboxsf",
})  # fmt: skip


def network_file_system(folder: Path) -> str:
    """Return the kind of network file system below `folder`, or "" for a local one or when it cannot be told."""
    try:
        table = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
    kind = kind_of(folder.resolve(), table)
    return kind if kind in _NETWORK else ""


def kind_of(folder: PurePath, table: str) -> str:
    """Return the file system type of the innermost mount that holds `folder`, from the text of `mountinfo`."""
    best, found = -1, ""
    for line in table.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        if len(fields) < 5 or not right:
            continue
        point = PurePath(_OCTAL.sub(lambda match: chr(int(match.group(1), 8)), fields[4]))
        if folder.is_relative_to(point) and len(point.parts) >= best:
            best, found = len(point.parts), right.split(" ")[0]
    return found
