import os
import stat
import threading
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnote.files import writing
from mnote.files.errors import FileGone, InvalidPath, NameTaken, NoSpace, NotAFolder, RootGone, TooLarge
from mnote.files.opening import list_folder, open_below
from mnote.files.writing import safe_name, write_new


def names(root, folder=""):
    return [entry.name for entry in list_folder(root, folder)]


def content(root, path):
    with open_below(root, path) as opened:
        return opened.read(max_bytes=10_000_000)


def test_upload_becomes_a_whole_file(root, put):
    put(b"docs/other.md")

    path = write_new(root, "docs", "语言.md", [b"one ", b"", b"two"], max_bytes=7)

    assert path == "docs/语言.md"
    assert content(root, path) == b"one two"
    assert names(root, "docs") == ["other.md", "语言.md"]


def test_upload_into_the_root_and_a_folder_not_utf8(root, put):
    put(b"caf\xe9/other.md")

    assert write_new(root, "", "a.md", [b"x"], max_bytes=9) == "a.md"
    assert write_new(root, "caf\\xe9", "back\\slash.md", [b"x"], max_bytes=9) == "caf\\xe9/back\\\\slash.md"
    assert content(root, "caf\\xe9/back\\\\slash.md") == b"x"


def test_upload_follows_the_umask(root):
    before = os.umask(0o027)
    try:
        write_new(root, "", "a.md", [b"x"], max_bytes=9)
    finally:
        os.umask(before)

    assert stat.S_IMODE(os.stat(os.path.join(root, b"a.md")).st_mode) == 0o640


def test_upload_never_replaces_a_file(root, put):
    put(b"a.md", b"mine")
    put(b"a (2).md", b"mine too")

    with pytest.raises(NameTaken) as caught:
        write_new(root, "", "a.md", [b"x"], max_bytes=9)

    assert caught.value.suggestion == "a (3).md"
    assert content(root, "a.md") == b"mine"
    assert names(root) == ["a (2).md", "a.md"]


def test_upload_never_replaces_a_link_or_folder(root, put):
    put(b"folder.md/a.md")
    os.symlink("nowhere", os.path.join(root, b"link.md"))

    for name in ("folder.md", "link.md"):
        with pytest.raises(NameTaken):
            write_new(root, "", name, [b"x"], max_bytes=9)
    assert names(root) == ["folder.md", "link.md"]


def test_upload_loses_against_a_file_made_while_it_arrives(root, put):
    def arriving():
        yield b"x"
        put(b"a.md", b"quicker")

    with pytest.raises(NameTaken) as caught:
        write_new(root, "", "a.md", arriving(), max_bytes=9)

    assert caught.value.suggestion == "a (2).md"
    assert (content(root, "a.md"), names(root)) == (b"quicker", ["a.md"])


def test_upload_over_its_limit_leaves_nothing(root):
    with pytest.raises(TooLarge) as caught:
        write_new(root, "", "a.md", [b"x" * 6, b"x" * 5], max_bytes=10)

    assert (caught.value.limit, names(root)) == (10, [])


def test_upload_that_breaks_off_leaves_nothing(root):
    def breaking():
        yield b"x"
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        write_new(root, "", "a.md", breaking(), max_bytes=10)

    assert names(root) == []


def test_upload_is_invisible_until_it_is_whole(root):
    seen = []

    def arriving():
        yield b"x"
        seen.extend(names(root))
        yield b"y"

    write_new(root, "", "a.md", arriving(), max_bytes=10)

    assert len(seen) == 1
    assert seen[0].startswith(".mnote-upload-")


def test_two_uploads_of_one_name_keep_both_contents_apart(root):
    gate = threading.Barrier(8)
    outcomes = []

    def upload(number):
        def arriving():
            gate.wait()
            yield str(number).encode() * 100

        try:
            outcomes.append((number, write_new(root, "", "a.md", arriving(), max_bytes=1000)))
        except NameTaken as error:
            outcomes.append((number, error.code))

    threads = [threading.Thread(target=upload, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    winners = [number for number, outcome in outcomes if outcome == "a.md"]
    assert len(winners) == 1
    assert content(root, "a.md") == str(winners[0]).encode() * 100
    assert names(root) == ["a.md"]


@pytest.mark.parametrize(
    ("folder", "error"),
    [("none", FileGone), ("a.md", NotAFolder), ("link", NotAFolder), ("../root_x", InvalidPath), ("/tmp", InvalidPath)],
)
def test_upload_needs_a_real_folder_below_the_root(root, put, folder, error):
    put(b"a.md")
    os.symlink("../root_x", os.path.join(root, b"link"))

    with pytest.raises(error):
        write_new(root, folder, "b.md", [b"x"], max_bytes=9)
    assert os.listdir(root + b"_x") == [b"secret.md"]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../b.md", "a\0b", "\ud800"])
def test_upload_refuses_what_is_no_name(root, name):
    with pytest.raises(InvalidPath):
        write_new(root, "", name, [b"x"], max_bytes=9)


def test_upload_needs_its_root(tmp_path):
    with pytest.raises(RootGone):
        write_new(os.fsencode(tmp_path / "none"), "", "a.md", [b"x"], max_bytes=9)


def test_rename_for_file_systems_without_links_gives_the_name(root, put):
    put(b"temporary", b"new")

    rename_in(root)

    assert (content(root, "a.md"), names(root)) == (b"new", ["a.md"])


def test_rename_for_file_systems_without_links_never_replaces(root, put):
    put(b"temporary", b"new")
    put(b"a.md", b"mine")

    with pytest.raises(NameTaken) as caught:
        rename_in(root)
    assert (content(root, "a.md"), caught.value.suggestion) == (b"mine", "a (2).md")


def rename_in(root):
    here = os.open(root, os.O_RDONLY)
    try:
        writing._rename_new(here, b"temporary", b"a.md", "a.md")
    finally:
        os.close(here)


def test_full_disk_is_said_and_leaves_nothing(root):
    """A process limit on file sizes stands in for a full disk: both fail in the middle of a write."""
    import resource
    import signal

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(NoSpace):
            write_new(root, "", "a.md", [b"x" * 600, b"x" * 600], max_bytes=9999)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)

    assert names(root) == []


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("报告 2026.pdf", "报告 2026.pdf"),
        ('a"b*?.md', 'a"b*?.md'),
        ("../../etc/passwd", ".._.._etc_passwd"),
        ("a\0b", "a_b"),
        (".", "_"),
        ("..", "__"),
        ("a／b", "a_b"),
        ("．．", "__"),
        ("‥", "_"),
        ("℀.md", "_.md"),
        ("C:\\x\\a.md", "C:\\x\\a.md"),
        ("\udce9.md", "_.md"),
        ("笔" * 90 + ".md", "笔" * 84 + ".md"),
        ("笔" * 90, "笔" * 85),
        ("a." + "x" * 300, "a." + "x" * 253),
        ("a" * 300 + ".tar.gz", "a" * 252 + ".gz"),
    ],
)
def test_safe_name_changes_only_what_the_file_system_needs(wanted, name):
    assert safe_name(wanted) == name


@pytest.mark.parametrize("wanted", ["", " ", "\t"])
def test_safe_name_refuses_nothing(wanted):
    with pytest.raises(InvalidPath):
        safe_name(wanted)


@given(st.text(alphabet=st.characters(), min_size=1, max_size=300))
@example("／..／")
@example("\u2024\u2024")
def test_safe_name_can_always_be_written(wanted):
    try:
        name = safe_name(wanted)
    except InvalidPath:
        assert not wanted.strip()
        return
    plain = unicodedata.normalize("NFKC", name)

    assert len(name.encode()) <= 255
    assert safe_name(name) == name
    assert not {"/", "\0"} & set(name + plain)
    assert plain.strip() not in {"", ".", ".."}


def test_suggestion_for_a_long_name_fits(root, put):
    name = "笔" * 84 + ".md"
    put(name.encode())

    with pytest.raises(NameTaken) as caught:
        write_new(root, "", name, [b"x"], max_bytes=9)

    assert caught.value.suggestion == "笔" * 82 + " (2).md"
    write_new(root, "", caught.value.suggestion, [b"x"], max_bytes=9)


def test_missing_folders_on_the_way_are_made_when_asked_for(root, put):
    put(b"caf\xe9/other.md")

    path = write_new(root, "caf\\xe9/新/deep", "a.md", [b"x"], max_bytes=9, makes_folders=True)

    assert path == "caf\\xe9/新/deep/a.md"
    assert content(root, path) == b"x"


def test_missing_folders_are_not_made_by_themselves(root):
    with pytest.raises(FileGone):
        write_new(root, "new/deep", "a.md", [b"x"], max_bytes=9)

    assert names(root) == []


def test_folders_made_for_a_file_that_fails_are_taken_away(root, put):
    put(b"docs/other.md")

    with pytest.raises(TooLarge):
        write_new(root, "docs/new/deep", "a.md", [b"too long"], max_bytes=3, makes_folders=True)

    assert names(root, "docs") == ["other.md"]


def test_folders_that_were_there_stay_when_a_file_fails(root, put):
    os.mkdir(os.path.join(root, b"empty"))

    with pytest.raises(TooLarge):
        write_new(root, "empty/new", "a.md", [b"too long"], max_bytes=3, makes_folders=True)

    assert names(root, "empty") == []


def test_folders_are_never_made_through_a_link(root, put, tmp_path):
    (tmp_path / "outside").mkdir()
    os.symlink(tmp_path / "outside", os.path.join(root, b"link"))

    with pytest.raises(NotAFolder):
        write_new(root, "link/new", "a.md", [b"x"], max_bytes=9, makes_folders=True)

    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize("folder", ["a/../b", "./a", "a//b", "a\0b"])
def test_folders_of_no_name_are_refused(root, folder):
    with pytest.raises(InvalidPath):
        write_new(root, folder, "a.md", [b"x"], max_bytes=9, makes_folders=True)

    assert names(root) == []
