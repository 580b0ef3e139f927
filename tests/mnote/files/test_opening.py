import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from mnote.files.errors import FileGone, FilesError, InvalidPath, NotAFile, NotAFolder, RootGone, TooLarge
from mnote.files.names import path_to_text
from mnote.files.opening import EntryKind, list_folder, open_below, open_folder, stat_below

HERE = Path(__file__).parents[3]


def content(root, relative):
    with open_below(root, relative) as opened:
        return opened.read(max_bytes=1000)


@pytest.mark.parametrize(
    "path",
    [
        b"a.md",
        b"a/b/c.md",
        "语言/说明.md".encode(),
        b"caf\xe9/\xff\xfe.txt",
        b"back\\slash.md",
        ("笔" * 85).encode(),
        b"/".join([b"deep"] * 40) + b"/a.md",
        b"/".join([b"n" * 250] * 20) + b"/a.md",
        b"dot.",
        b"space ",
    ],
)
def test_file_opens_whatever_its_name(root, path):
    here = os.open(root, os.O_RDONLY)
    *folders, name = path.split(b"/")
    for folder in folders:
        os.mkdir(folder, dir_fd=here)
        here = os.open(folder, os.O_RDONLY, dir_fd=here)
    with open(os.open(name, os.O_WRONLY | os.O_CREAT, dir_fd=here), "wb") as file:
        file.write(b"found")

    assert content(root, path_to_text(path)) == b"found"


def test_normalisation_twins_open_their_own_file(root, put):
    put("für.md".encode(), b"composed")
    put("fu\u0308r.md".encode(), b"decomposed")

    assert (content(root, "für.md"), content(root, "fu\u0308r.md")) == (b"composed", b"decomposed")


@pytest.mark.parametrize("twin", [b"A.MD", b"a.md "])
def test_hard_linked_twins_of_other_case_both_open(root, put, twin):
    os.link(put(b"a.md", b"both"), os.path.join(root, twin))

    assert content(root, path_to_text(twin)) == content(root, "a.md") == b"both"


@pytest.mark.parametrize(
    "path", ["../outside.md", "a/../../outside.md", "/etc/passwd", "a\0", "..", "../root_x/secret.md"]
)
def test_path_out_of_the_root_is_refused(root, path):
    for function in (open_below, open_folder, list_folder, stat_below):
        with pytest.raises(InvalidPath):
            function(root, path)


def test_link_to_a_file_is_not_opened(root, put):
    put(b"real.md")
    os.symlink("real.md", os.path.join(root, b"inside.md"))
    os.symlink("../outside.md", os.path.join(root, b"outside.md"))

    for name in ("inside.md", "outside.md"):
        with pytest.raises(NotAFile):
            open_below(root, name)


def test_link_to_a_folder_is_not_passed(root, put):
    put(b"real/a.md")
    os.symlink("real", os.path.join(root, b"inside"))
    os.symlink("../root_x", os.path.join(root, b"outside"))

    for path in ("inside/a.md", "outside/secret.md"):
        with pytest.raises(FileGone):
            open_below(root, path)
    with pytest.raises(NotAFolder):
        list_folder(root, "inside")


def test_folder_is_no_file_and_file_no_folder(root, put):
    put(b"folder/a.md")

    with pytest.raises(NotAFile):
        open_below(root, "folder")
    with pytest.raises(NotAFile):
        open_below(root, "")
    with pytest.raises(NotAFolder):
        list_folder(root, "folder/a.md")
    with pytest.raises(FileGone):
        open_below(root, "folder/a.md/b.md")


def test_pipe_and_socket_are_refused_without_hanging(root):
    os.mkfifo(os.path.join(root, b"pipe.md"))
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(root, os.O_RDONLY)
        server.bind(f"/proc/self/fd/{here}/socket.md")
        os.close(here)
    for name in ("pipe.md", "socket.md"):
        with pytest.raises(NotAFile):
            open_below(root, name)


def test_pipe_swapped_in_for_a_file_does_not_hang(root, put):
    """The stat sees the file or the pipe, the open meets the other: neither waits for a writer."""
    put(b"a.md", b"inside")
    os.mkfifo(os.path.join(root, b"pipe"))
    results = open_while_swapping(root, b"a.md", b"pipe", "a.md")

    assert results <= {b"inside", "not_a_file"}


def test_file_replaced_by_a_link_never_leads_outside(root, put):
    put(b"a.md", b"inside")
    os.symlink("../outside.md", os.path.join(root, b"evil.md"))
    results = open_while_swapping(root, b"a.md", b"evil.md", "a.md")

    assert results <= {b"inside", "not_a_file"}


def test_pipe_is_not_touched(root):
    """Not even for a moment: whoever waits to write into it keeps waiting."""
    pipe = os.path.join(root, b"pipe.md")
    os.mkfifo(pipe)
    released = threading.Event()
    writer = threading.Thread(target=lambda: (os.close(os.open(pipe, os.O_WRONLY)), released.set()))
    writer.start()
    for _ in range(20):
        with pytest.raises(NotAFile):
            open_below(root, "pipe.md")
        assert not released.wait(0.01)

    os.close(os.open(pipe, os.O_RDONLY))
    writer.join()


@pytest.mark.parametrize(
    ("error", "name"), [(FileGone, "none.md"), (FileGone, "none/a.md"), (InvalidPath, "n" * 256), (FileGone, "A.md")]
)
def test_absent_file_is_gone(root, put, error, name):
    put(b"a.md")

    for function in (open_below, open_folder, stat_below):
        with pytest.raises(error):
            function(root, name)


def test_root_that_is_gone_says_so_without_its_path(tmp_path):
    missing = os.fsencode(tmp_path / "private-mount")

    for function in (open_below, open_folder, list_folder, stat_below):
        with pytest.raises(RootGone) as caught:
            function(missing, "a.md")
        assert "private-mount" not in repr(caught.value) + str(caught.value)
        assert caught.value.__cause__ is None


def test_errors_never_hold_the_root(root, put):
    put(b"folder/a.md")
    for path in ("none.md", "folder", "folder/a.md/x", "n" * 256):
        with pytest.raises(FilesError) as caught:
            open_below(root, path)
        assert os.fsdecode(root) not in f"{caught.value} {caught.value!r} {caught.value.__cause__!r}"


def test_listing_names_each_kind_and_follows_nothing(root, put):
    put(b"b.md", b"12345")
    put(b"a/x.md")
    put(b"caf\xe9.md")
    os.symlink("../outside.md", os.path.join(root, b"link.md"))
    os.symlink("nowhere", os.path.join(root, b"dangling"))
    os.mkfifo(os.path.join(root, b"pipe"))

    found = {entry.name: entry for entry in list_folder(root, "")}

    assert {name: str(entry.kind) for name, entry in found.items()} == {
        "a": "folder",
        "b.md": "file",
        "caf\\xe9.md": "file",
        "dangling": "link",
        "link.md": "link",
        "pipe": "other",
    }
    assert found["b.md"].size == 5
    assert list(found) == sorted(found)


def test_facts_are_those_of_the_system(root, put):
    real = os.stat(put(b"a/b.md", b"123"))

    facts = stat_below(root, "a/b.md")

    assert (facts.kind, facts.size, facts.mtime_ns) == (EntryKind.FILE, 3, real.st_mtime_ns)
    assert (facts.ctime_ns, facts.inode, facts.device) == (real.st_ctime_ns, real.st_ino, real.st_dev)


def test_facts_of_the_root_and_of_a_link(root):
    os.symlink("nowhere", os.path.join(root, b"link"))

    assert (stat_below(root, "").kind, stat_below(root, "link").kind) == (EntryKind.FOLDER, EntryKind.LINK)


def test_read_stops_at_its_limit(root, put):
    put(b"a.md", b"x" * 11)

    with open_below(root, "a.md") as opened, pytest.raises(TooLarge) as caught:
        opened.read(max_bytes=10)
    assert caught.value.limit == 10


def test_read_stops_at_its_limit_when_the_file_grows(root, put):
    full = put(b"a.md", b"x" * 10)
    with open_below(root, "a.md") as opened:
        with open(full, "ab") as file:
            file.write(b"y")

        with pytest.raises(TooLarge):
            opened.read(max_bytes=10)


def test_folder_replaced_by_a_link_never_leads_outside(root, put):
    put(b"docs/secret.md", b"inside")
    os.symlink("../root_x", os.path.join(root, b"evil"))
    results = open_while_swapping(root, b"docs", b"evil", "docs/secret.md")

    assert results <= {b"inside", "file_gone"}


_SWAP = """
import ctypes, os, sys
libc, exchange = ctypes.CDLL(None), 2
one, other = (os.fsencode(name) for name in sys.argv[1:])
print(flush=True)
while True:
    libc.renameat2(-100, one, -100, other, exchange)
"""


def open_while_swapping(root, one, other, path):
    """Open again and again while another process exchanges two names as fast as it can."""
    names = [os.path.join(root, name) for name in (one, other)]
    results = set()
    with subprocess.Popen([sys.executable, "-c", _SWAP, *names], stdout=subprocess.PIPE) as swapper:
        swapper.stdout.readline()
        try:
            for _ in range(5000):
                try:
                    results.add(content(root, path))
                except FilesError as error:
                    results.add(error.code)
        finally:
            swapper.kill()
    assert len(results) > 1, "the names were never exchanged"
    return results


_AS_NOBODY = """
import os, sys
from mnote.files.errors import FilesError
from mnote.files.opening import list_folder, open_below
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
asked = [(open_below, "shut.md"), (list_folder, "shut"), (open_below, "shut/a.md"), (open_below, "pass/a.md"),
         (list_folder, "pass"), (open_below, "doubt/a.md")]
for function, path in asked:
    try:
        function(os.fsencode(sys.argv[1]), path)
        print("ok")
    except FilesError as error:
        print(error.code, getattr(error, "denied", None))
"""


@pytest.fixture
def open_to_all():
    """A folder that any user may enter; `tmp_path` is closed to others."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_rights_decide_what_can_be_read(open_to_all):
    """In a folder that may not be listed, a file known under two spellings cannot be told from another spelling."""
    for name, mode in (("shut", 0), ("pass", stat.S_IXUSR | stat.S_IXOTH), ("doubt", stat.S_IXUSR | stat.S_IXOTH)):
        (open_to_all / name).mkdir()
        (open_to_all / name / "a.md").write_text("x")
        if name == "doubt":
            (open_to_all / name / "A.MD").hardlink_to(open_to_all / name / "a.md")
        (open_to_all / name).chmod(mode)
    (open_to_all / "shut.md").write_text("x")
    (open_to_all / "shut.md").chmod(0)

    answer = subprocess.run(
        [sys.executable, "-c", _AS_NOBODY, open_to_all], capture_output=True, text=True, check=True, cwd=HERE
    )

    for name in ("shut", "pass", "doubt"):
        (open_to_all / name).chmod(0o700)
    assert answer.stdout.splitlines() == [
        "unreadable True",
        "unreadable True",
        "unreadable True",
        "ok",
        "unreadable True",
        "file_gone None",
    ]
