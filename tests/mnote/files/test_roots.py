import os

import pytest

from mnote.files.errors import InvalidPath, RootGone
from mnote.files.roots import Overlap, overlap, resolve_root


def test_root_is_resolved_once_with_its_identity(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    root = resolve_root(os.fsencode(tmp_path / "link" / ".." / "link"))

    found = (tmp_path / "real").stat()
    assert root.path == os.fsencode(tmp_path / "real")
    assert (root.identity.device, root.identity.inode) == (found.st_dev, found.st_ino)


@pytest.mark.parametrize(("name", "error"), [("none", RootGone), ("file", RootGone), ("loop", RootGone)])
def test_root_must_be_a_folder(tmp_path, name, error):
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")

    with pytest.raises(error) as caught:
        resolve_root(os.fsencode(tmp_path / name))
    assert tmp_path.name not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("path", [b"", b"notes", b"/", b"/../", b"/a\0b"])
def test_root_is_a_real_absolute_path(path):
    with pytest.raises(InvalidPath):
        resolve_root(path)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("ws", "ws", Overlap.SAME),
        ("ws/team", "ws", Overlap.INSIDE),
        ("ws", "ws/team", Overlap.AROUND),
        ("ws", "ws_x", None),
        ("link", "ws", Overlap.SAME),
        ("link/team", "ws", Overlap.INSIDE),
    ],
)
def test_overlap_of_roots_is_seen(tmp_path, one, other, expected):
    for name in ("ws/team", "ws_x"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("ws")

    assert overlap(*(resolve_root(os.fsencode(tmp_path / name)) for name in (one, other))) is expected
