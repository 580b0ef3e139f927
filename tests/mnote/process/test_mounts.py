from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from mnote.process.mounts import kind_of

_TABLE = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /srv rw,relatime shared:9 - nfs4 10.0.0.1:/srv rw,vers=4.2
31 30 8:2 / /srv/local rw,relatime - xfs /dev/sdb1 rw
32 22 0:41 / /mnt/shared\\040drive rw shared:10 master:3 - cifs //nas/share rw
33 22 0:42 / /mnt/over rw - ext4 /dev/sdc1 rw
34 22 0:43 / /mnt/over rw - fuse.sshfs me@host:/ rw
a line that is none
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", "ext4"),
        ("/home/alice/data", "ext4"),
        ("/srv", "nfs4"),
        ("/srv/data", "nfs4"),
        ("/srv2/data", "ext4"),
        ("/srv/local/data", "xfs"),
        ("/mnt/shared drive/data", "cifs"),
        ("/mnt/over/data", "fuse.sshfs"),
    ],
)
def test_kind_of_finds_the_innermost_mount(folder: str, kind: str) -> None:
    assert kind_of(PurePosixPath(folder), _TABLE) == kind


def test_kind_of_an_empty_table_is_unknown() -> None:
    assert kind_of(PurePosixPath("/data"), "") == ""
