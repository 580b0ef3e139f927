import errno
import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from knowledge.scanner.globs import parse_globs
from knowledge.scanner.result import TypeTotal, estimate
from knowledge.scanner.walk import scan
from mnote.files.errors import InvalidPath
from tests.knowledge.scanner.conftest import rules

HERE = Path(__file__).parents[3]


def paths(result):
    return [file.path for file in result.files]


def reasons(result):
    return {entry.path: str(entry.reason) for entry in result.skipped}


def test_scan_finds_files_with_their_fingerprint(root, put):
    real = os.stat(put("笔记/a.md".encode(), b"12345"))
    put(b"b.md")

    result = scan(root, rules())

    assert paths(result) == ["b.md", "笔记/a.md"]
    assert result.folders == ("笔记",)
    assert (result.root_state, result.errors) == ("ok", ())
    found = result.files[1]
    assert (found.size, found.fingerprint.inode, found.fingerprint.mtime_ns) == (5, real.st_ino, real.st_mtime_ns)
    assert (result.root.device, result.root.inode) == (os.stat(root).st_dev, os.stat(root).st_ino)


def test_scan_writes_nothing(root, put):
    put(b"sub/a.md")
    os.utime(root, ns=(1, 1))
    before = {path: os.stat(path).st_mtime_ns for path in (root, root + b"/sub", root + b"/sub/a.md")}

    scan(root, rules())

    assert {path: os.stat(path).st_mtime_ns for path in before} == before
    assert os.listdir(root) == [b"sub"]


@pytest.mark.parametrize(
    "path",
    [
        b"caf\xe9.md",
        b"\xff\xfe.txt",
        ("笔" * 84 + "a").encode()[:252] + b".md",
        b"/".join([b"deep"] * 40) + b"/a.md",
        b"back\\slash.md",
    ],
)
def test_scan_finds_any_name_and_depth(root, put, path):
    put(path)

    found = scan(root, rules())

    assert len(found.files) == 1
    assert found.files[0].path.isprintable()


def test_scan_gets_past_the_longest_path_of_the_system(root):
    here = os.open(root, os.O_RDONLY)
    for _ in range(20):
        os.mkdir(b"n" * 250, dir_fd=here)
        below = os.open(b"n" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open(b"a.md", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)

    assert reasons(scan(root, rules())) == {"/".join(["n" * 250] * 20) + "/a.md": "empty"}


def test_normalisation_twins_are_two_files(root, put):
    put("für.md".encode())
    put("fu\u0308r.md".encode())

    assert paths(scan(root, rules())) == ["fu\u0308r.md", "für.md"]


def test_links_are_named_and_never_followed(root, put):
    put(b"a/x.md")
    for target, name in [
        (b"..", b"a/loop"),
        (b"b", b"c"),
        (b"c", b"b"),
        (b"none", b"dangling.md"),
        (b"a/x.md", b"file.md"),
        (b"../beside", b"out"),
    ]:
        os.symlink(target, os.path.join(root, name))

    result = scan(root, rules())

    assert paths(result) == ["a/x.md"]
    assert reasons(result) == dict.fromkeys(["a/loop", "b", "c", "dangling.md", "file.md", "out"], "link")


def test_hard_links_are_found_at_each_path(root, put):
    os.link(put(b"a.md"), os.path.join(root, b"b.md"))

    one, other = scan(root, rules()).files

    assert (one.path, other.path) == ("a.md", "b.md")
    assert one.fingerprint == other.fingerprint


def test_special_files_are_left_out(root):
    os.mkfifo(os.path.join(root, b"pipe.md"))
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(root, os.O_RDONLY)
        server.bind(f"/proc/self/fd/{here}/socket.md")
        os.close(here)

    assert reasons(scan(root, rules())) == {"pipe.md": "special", "socket.md": "special"}


def test_default_ignore_list_cannot_be_overruled(root, put):
    for name in (".DS_Store", ".env", ".git/x.md", ".mnote/x.md", ".well-known.md", "node_modules/x.md", "~$a.docx"):
        put(name.encode())

    assert reasons(scan(root, rules(include=parse_globs(["*"])))) == {
        ".DS_Store": "system",
        ".env": "secret",
        ".git": "system",
        ".mnote": "sidecar",
        ".well-known.md": "hidden",
        "node_modules": "system",
        "~$a.docx": "temporary",
    }


def test_ocr_folder_is_left_out_beside_its_note_only(root, put):
    for name in ("plan.md", "plan.ocr/p1.md", "loose.ocr/p1.md", "sub/plan.ocr/p1.md"):
        put(name.encode())

    result = scan(root, rules())

    assert paths(result) == ["loose.ocr/p1.md", "plan.md", "sub/plan.ocr/p1.md"]
    assert reasons(result) == {"plan.ocr": "sidecar"}


def test_patterns_narrow_the_source(root, put):
    for name in ("a.md", "b.pdf", "reports/c.md", "reports/old/d.md", "drafts/e.md"):
        put(name.encode())

    result = scan(root, rules(include=parse_globs(["*.pdf", "reports/"]), exclude=parse_globs(["old"])))

    assert paths(result) == ["b.pdf", "reports/c.md"]
    assert reasons(result) == {"a.md": "not_included", "drafts/e.md": "not_included", "reports/old": "excluded"}


def test_patterns_start_at_the_source(root, put):
    put(b"team/reports/a.md")
    put(b"team/a.md")

    result = scan(root, rules(path="team", exclude=parse_globs(["/reports"])))

    assert paths(result) == ["team/a.md"]


def test_type_size_and_emptiness_are_reasons(root, put):
    put(b"a.exe")
    put(b"b.md", b"x" * 11)
    put(b"c.md", b"")
    put(b"d.md", b"x" * 10)
    put(b"README")

    result = scan(root, rules(max_bytes=10))

    assert paths(result) == ["d.md"]
    assert reasons(result) == {
        "README": "unsupported_type",
        "a.exe": "unsupported_type",
        "b.md": "too_large",
        "c.md": "empty",
    }


def test_depth_and_recursion_are_bounded(root, put):
    put(b"a/b/c/d.md")
    put(b"a/x.md")

    assert reasons(scan(root, rules(path="a", recursive=False))) == {"a/b": "not_included"}
    assert reasons(scan(root, rules(max_depth=2))) == {"a/b/c": "too_deep"}


def test_source_can_be_one_file(root, put):
    put(b"sub/a.md")
    put(b"sub/b.md")

    result = scan(root, rules(path="sub/a.md"))

    assert (paths(result), result.skipped, result.root_state) == (["sub/a.md"], (), "ok")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (".git", "system"),
        (".mnote/x.md", "sidecar"),
        (".env", "secret"),
        ("plan.ocr", "sidecar"),
        ("plan.ocr/p1.md", "sidecar"),
        ("link", "link"),
    ],
)
def test_source_in_a_place_never_indexed_gives_its_reason(root, put, source, reason):
    for name in (".git/a.md", ".mnote/x.md", ".env", "plan.md", "plan.ocr/p1.md"):
        put(name.encode())
    os.symlink("plan.ocr", os.path.join(root, b"link"))

    result = scan(root, rules(path=source))

    assert (paths(result), reasons(result)) == ([], {source: reason})


@pytest.mark.parametrize("source", ["backup~", "x.env", "4913"])
def test_folder_may_be_chosen_whose_name_only_marks_files(root, put, source):
    put(f"{source}/a.md".encode())

    assert paths(scan(root, rules(path=source))) == [f"{source}/a.md"]


def test_hidden_folder_may_be_chosen_as_source(root, put):
    put(b".vault/a.md")

    assert paths(scan(root, rules(path=".vault"))) == [".vault/a.md"]


@pytest.mark.parametrize("path", ["..", "../beside", "/etc", "a//b"])
def test_source_outside_the_root_is_refused(root, path):
    with pytest.raises(InvalidPath):
        scan(root, rules(path=path))


def test_root_that_is_not_there_is_gone(tmp_path):
    result = scan(os.fsencode(tmp_path / "none"), rules())

    assert (result.root_state, result.root, result.files) == ("gone", None, ())


@pytest.mark.parametrize("source", ["", "team", "team/a.md"])
def test_bare_root_is_empty_whatever_the_source(root, put, source):
    put(b".DS_Store")
    os.mkdir(os.path.join(root, b"lost+found"))

    assert scan(root, rules(path=source)).root_state == "empty"


@pytest.mark.parametrize("source", ["team", "team/a.md", "other/x/y.md"])
def test_source_deleted_from_a_living_root_is_no_emptiness(root, put, source):
    put(b"other/b.md")

    result = scan(root, rules(path=source))

    assert (result.root_state, result.files) == ("ok", ())


def test_source_whose_folder_became_a_file_is_deleted(root, put):
    put(b"team")

    assert scan(root, rules(path="team/a.md")).root_state == "ok"


@contextmanager
def failing(fd, *, folder, after):
    """List as the system does, then fail as a dying disk does."""

    def entries(found):
        for number, entry in enumerate(sorted(found, key=lambda each: each.name)):
            if number == after:
                raise OSError(errno.EIO, "failing disk")
            yield entry

    with os.scandir(fd) as found:
        yield entries(found) if os.fstat(fd).st_ino == folder else found


def test_listing_that_breaks_off_is_partial(root, put):
    for name in (b"bad/1.md", b"bad/2.md", b"bad/sub/x.md", b"good/3.md"):
        put(name)
    bad = os.stat(os.path.join(root, b"bad")).st_ino

    result = scan(root, rules(), listing=lambda fd: failing(fd, folder=bad, after=1))

    assert paths(result) == ["bad/1.md", "good/3.md"]
    assert result.root_state == "partial"
    assert [(error.path, str(error.cause)) for error in result.errors] == [("bad", "failed")]


def test_folder_that_moves_away_during_the_scan_is_partial(root, put):
    """Its files may be where the walk has been already, so they must not count as deleted."""
    put(b"a.md")
    put(b"docs/b.md")

    @contextmanager
    def moving(fd):
        with os.scandir(fd) as found:
            yield found
        os.rename(os.path.join(root, b"docs"), os.path.join(root, b"moved"))

    result = scan(root, rules(), listing=moving)

    assert (paths(result), result.root_state) == (["a.md"], "partial")
    assert [(error.path, str(error.cause)) for error in result.errors] == [("docs", "vanished")]


def test_too_many_files_are_partial_not_endless(root, put):
    for number in range(20):
        put(f"{number}/a.md".encode())

    result = scan(root, rules(max_files=5))

    assert len(result.files) == 5
    assert result.root_state == "partial"
    assert [(error.path, str(error.cause)) for error in result.errors] == [("", "too_many")]


_AS_NOBODY = """
import os, sys
from knowledge.scanner.walk import scan
from tests.knowledge.scanner.conftest import rules
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
result = scan(os.fsencode(sys.argv[1]), rules())
print(result.root_state, [file.path for file in result.files], [(e.path, str(e.cause)) for e in result.errors])
"""


def test_folder_closed_to_us_is_partial():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "shut").mkdir()
        (folder / "a.md").write_text("x")
        (folder / "shut" / "b.md").write_text("x")
        (folder / "shut").chmod(0)
        (folder / "half").mkdir()
        (folder / "half" / "c.md").write_text("x")
        (folder / "half").chmod(0o444)

        answer = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY, name], capture_output=True, text=True, check=True, cwd=HERE
        )

        for closed in ("shut", "half"):
            (folder / closed).chmod(0o700)
    assert answer.stdout.strip() == "partial ['a.md'] [('half/c.md', 'denied'), ('shut', 'denied')]"


def test_estimate_sums_up_types_and_reasons(root, put):
    for name, size in (("a.md", 3), ("b.MD", 4), ("c.pdf", 5), ("d.exe", 6), (".hidden.md", 1), ("e.exe", 1)):
        put(name.encode(), b"x" * size)

    found = estimate(scan(root, rules()))

    assert (found.count, found.size) == (3, 12)
    assert found.by_type == {".md": TypeTotal(count=2, size=7), ".pdf": TypeTotal(count=1, size=5)}
    assert found.skipped == {"unsupported_type": 2, "hidden": 1}


def test_scan_of_ten_thousand_files_is_quick(root, put):
    for folder in range(100):
        for number in range(100):
            put(f"{folder % 10}/{folder}/笔记 {number}.md".encode(), b"x")

    started = time.process_time()
    result = scan(root, rules(exclude=parse_globs(["*.tmp", "old/**"])))
    seconds = time.process_time() - started

    assert len(result.files) == 10_000
    assert seconds < 2
