import errno
import hashlib
import os
import shutil
import time
import unicodedata
from dataclasses import replace

import pytest

from knowledge.scanner.changes import KnownFile, KnownState, PreviousScan
from knowledge.scanner.diff import diff
from knowledge.scanner.fingerprint import ChangedWhileReading
from knowledge.scanner.globs import parse_globs
from knowledge.scanner.walk import scan
from mnote.files.errors import FileGone
from mnote.files.opening import open_below
from tests.knowledge.scanner.conftest import rules

LATER = 3600 * 1_000_000_000


class Source:
    """A source as a service sees it: it scans, keeps what it knows, and counts what it had to read."""

    def __init__(self, root):
        self.root = root
        self.read = []
        self.known = {}
        self.previous = None
        self.learn()

    def path(self, name):
        return os.path.join(self.root, os.fsencode(name))

    def write(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(content)

    def hash_of(self, path):
        self.read.append(path)
        with open_below(self.root, path) as opened:
            return hashlib.sha256(opened.read(max_bytes=10**9)).hexdigest()

    def learn(self):
        """Know everything as it is now, as if the clock had moved on since: nothing is doubtful by its time alone."""
        found = scan(self.root, rules())
        self.known = {
            file.path: KnownFile(path=file.path, fingerprint=file.fingerprint, sha256=self.hash_of(file.path))
            for file in found.files
        }
        self.previous = PreviousScan(started_at_ns=found.started_at_ns + LATER, root=found.root)
        self.read.clear()

    def changes(self, *, scanned=None, **options):
        scanned = scanned or scan(self.root, rules())
        options = {"hash_of": self.hash_of, "previous": self.previous, **options}
        return diff(self.known.values(), scanned, **options)


@pytest.fixture
def source(root, put):
    for name in ("a.md", "b.md", "docs/c.md", "docs/deep/d.md"):
        put(name.encode(), name.encode())
    return Source(root)


def said(changes):
    """Everything a change set says, but for what is as it was."""
    every = {
        "added": [file.path for file in changes.added],
        "changed": [file.path for file in changes.changed],
        "moved": [(move.old, move.new) for move in changes.moved],
        "removed": list(changes.removed),
        "withdrawn": [(gone.path, str(gone.reason)) for gone in changes.withdrawn],
        "touched": [file.path for file in changes.touched],
        "deferred": list(changes.deferred),
        "held": [(held.path, str(held.reason)) for held in changes.held],
    }
    return {name: value for name, value in every.items() if value}


def test_nothing_changed_reads_nothing(source):
    changes = source.changes()

    assert said(changes) == {}
    assert changes.is_quiet
    assert len(changes.unchanged) == 4
    assert source.read == []


def test_first_scan_adds_everything_and_reads_nothing(source):
    source.known = {}

    assert said(source.changes(previous=None)) == {"added": ["a.md", "b.md", "docs/c.md", "docs/deep/d.md"]}
    assert source.read == []


def test_edit_of_another_size_is_a_change_without_reading(source):
    source.write("a.md", b"longer than before")

    assert said(source.changes()) == {"changed": ["a.md"]}
    assert source.read == []


def test_edit_of_the_same_size_is_a_change(source):
    source.write("a.md", b"A.MD")

    assert said(source.changes()) == {"changed": ["a.md"]}


def test_edit_of_the_same_size_with_its_time_put_back_is_a_change(source):
    before = os.stat(source.path("a.md"))
    source.write("a.md", b"A.MD")
    os.utime(source.path("a.md"), ns=(before.st_atime_ns, before.st_mtime_ns))

    assert said(source.changes()) == {"changed": ["a.md"]}


def test_older_time_is_a_change_too(source):
    source.write("a.md", b"A.MD")
    os.utime(source.path("a.md"), ns=(1, 1))

    assert said(source.changes()) == {"changed": ["a.md"]}


def test_new_time_with_the_same_bytes_is_only_touched(source):
    os.utime(source.path("a.md"), ns=(5, 5))

    changes = source.changes()

    assert said(changes) == {"touched": ["a.md"]}
    assert changes.is_quiet
    assert changes.touched[0].fingerprint.mtime_ns == 5


def test_time_in_the_future_is_read_every_time(source):
    future = time.time_ns() + 400 * 24 * LATER
    os.utime(source.path("a.md"), ns=(future, future))
    source.learn()

    assert said(source.changes()) == {}
    assert source.read == ["a.md"]


@pytest.mark.parametrize(("age_seconds", "reads"), [(1, ["a.md"]), (3, [])])
def test_file_written_about_when_the_last_scan_looked_is_read(source, age_seconds, reads):
    """Equal numbers prove nothing if the file could have been written again in the same instant."""
    found = os.stat(source.path("a.md"))
    latest = max(os.stat(source.path(path)).st_ctime_ns for path in source.known)
    started = max(latest, found.st_ctime_ns) + age_seconds * 1_000_000_000
    source.previous = replace(source.previous, started_at_ns=started)
    source.known = {"a.md": replace(source.known["a.md"], sha256="0" * 64)}

    changes = source.changes(scanned=scan(source.root, rules(path="a.md")))

    assert source.read == reads
    assert bool(said(changes)) is bool(reads)


def test_pass_over_all_content_finds_what_no_number_shows(source):
    source.known["a.md"] = replace(source.known["a.md"], sha256="0" * 64)

    assert said(source.changes()) == {}
    assert said(source.changes(hash_all=True)) == {"changed": ["a.md"]}


def test_new_device_number_alone_is_only_touched(source):
    for path, known in source.known.items():
        source.known[path] = replace(known, fingerprint=replace(known.fingerprint, dev=99))
    source.previous = replace(source.previous, root=replace(source.previous.root, device=99))

    changes = source.changes()

    assert said(changes) == {"touched": sorted(source.known)}
    assert source.read == []


def test_renamed_file_keeps_its_identity(source):
    os.rename(source.path("a.md"), source.path("docs/renamed.md"))

    assert said(source.changes()) == {"moved": [("a.md", "docs/renamed.md")]}


def test_renamed_folder_moves_all_below_and_reads_nothing(source):
    os.rename(source.path("docs"), source.path("papers"))

    assert said(source.changes()) == {
        "moved": [("docs/c.md", "papers/c.md"), ("docs/deep/d.md", "papers/deep/d.md")],
    }
    assert source.read == []


def test_renamed_folder_is_known_under_a_new_device_number(source):
    for path, known in source.known.items():
        source.known[path] = replace(known, fingerprint=replace(known.fingerprint, dev=99))
    source.previous = replace(source.previous, root=replace(source.previous.root, device=99))
    os.rename(source.path("docs"), source.path("papers"))

    assert [move.new for move in source.changes().moved] == ["papers/c.md", "papers/deep/d.md"]
    assert source.read == []


def test_move_is_found_by_content_where_inodes_change(source):
    shutil.copy(source.path("a.md"), source.path("docs/a.md"))
    os.remove(source.path("a.md"))

    assert said(source.changes()) == {"moved": [("a.md", "docs/a.md")]}
    assert source.read == ["docs/a.md"]


def test_move_of_one_of_two_identical_files_leaves_the_other(source):
    source.write("twin/a.md", b"a.md")
    source.learn()
    shutil.copy(source.path("twin/a.md"), source.path("docs/a.md"))
    os.remove(source.path("twin/a.md"))

    assert said(source.changes()) == {"moved": [("twin/a.md", "docs/a.md")]}


def test_two_identical_files_that_move_keep_their_names(source):
    source.write("x/one.md", b"same")
    source.write("x/two.md", b"same")
    source.learn()
    shutil.copytree(source.path("x"), source.path("y"))
    shutil.rmtree(source.path("x"))

    assert said(source.changes()) == {"moved": [("x/one.md", "y/one.md"), ("x/two.md", "y/two.md")]}


def test_one_of_several_copies_takes_over_from_the_original(source):
    for name in ("one.md", "two.md"):
        shutil.copy(source.path("a.md"), source.path(name))
    os.remove(source.path("a.md"))

    assert said(source.changes()) == {"moved": [("a.md", "one.md")], "added": ["two.md"]}


def test_one_of_several_links_takes_over_from_the_original(source):
    for name in ("one.md", "two.md"):
        os.link(source.path("a.md"), source.path(name))
    os.remove(source.path("a.md"))

    assert said(source.changes()) == {"moved": [("a.md", "one.md")], "added": ["two.md"]}


def test_copy_is_added_and_leaves_the_original(source):
    shutil.copy2(source.path("a.md"), source.path("copy.md"))

    assert said(source.changes()) == {"added": ["copy.md"]}


def test_hard_link_is_added_and_leaves_the_original(source):
    os.link(source.path("a.md"), source.path("link.md"))

    changes = said(source.changes())

    assert changes == {"added": ["link.md"], "touched": ["a.md"]}


def test_swapped_names_keep_identity_and_content(source):
    for old, new in (("a.md", "x"), ("b.md", "a.md"), ("x", "b.md")):
        os.rename(source.path(old), source.path(new))

    assert said(source.changes()) == {"moved": [("a.md", "b.md"), ("b.md", "a.md")]}


def test_swapped_content_is_two_changes(source):
    source.write("a.md", b"b.md")
    source.write("b.md", b"a.md")

    assert said(source.changes()) == {"changed": ["a.md", "b.md"]}


def test_names_passed_on_in_a_chain_are_moves(source):
    os.remove(source.path("docs/c.md"))
    os.rename(source.path("b.md"), source.path("docs/c.md"))
    os.rename(source.path("a.md"), source.path("b.md"))

    assert said(source.changes()) == {
        "moved": [("a.md", "b.md"), ("b.md", "docs/c.md")],
        "removed": ["docs/c.md"],
    }


def test_new_file_at_the_old_name_of_a_moved_one_is_added(source):
    os.rename(source.path("a.md"), source.path("old.md"))
    source.write("a.md", b"a new start")

    assert said(source.changes()) == {"moved": [("a.md", "old.md")], "added": ["a.md"]}


def test_inode_given_out_again_is_no_move(source):
    """The system may give a deleted file's number to a new file; only the content tells."""
    os.remove(source.path("a.md"))
    source.write("new.md", b"other content")
    reused = os.stat(source.path("new.md")).st_ino
    known = source.known["a.md"]
    source.known["a.md"] = replace(known, fingerprint=replace(known.fingerprint, inode=reused, size=13))

    assert said(source.changes()) == {"removed": ["a.md"], "added": ["new.md"]}


def vim(source):
    os.rename(source.path("a.md"), source.path("a.md~"))
    source.write("a.md", b"edited")


def vim_without_backup(source):
    source.write(".a.md.swp", b"swap")
    source.write("4913", b"")
    source.write("a.md", b"edited")


def code(source):
    source.write("a.md.tmp", b"edited")
    os.replace(source.path("a.md.tmp"), source.path("a.md"))


def obsidian(source):
    source.write("a.md", b"")
    source.write("a.md", b"edited")


def office(source):
    source.write("~$a.md", b"owner")
    source.write("~WRD0001.tmp", b"edited")
    os.rename(source.path("a.md"), source.path("~WRL0002.tmp"))
    os.rename(source.path("~WRD0001.tmp"), source.path("a.md"))


def text_edit(source):
    source.write("a.md.sb-1a2b3c4d-AbCdEf", b"edited")
    os.replace(source.path("a.md.sb-1a2b3c4d-AbCdEf"), source.path("a.md"))


@pytest.mark.parametrize("save", [vim, vim_without_backup, code, obsidian, office, text_edit])
def test_save_pattern_of_an_editor_is_one_change(source, save):
    save(source)

    assert said(source.changes()) == {"changed": ["a.md"]}


def test_save_without_an_edit_is_only_touched(source):
    source.write("a.md.tmp", b"a.md")
    os.replace(source.path("a.md.tmp"), source.path("a.md"))

    assert said(source.changes()) == {"touched": ["a.md"]}


def test_deleted_file_is_removed(source):
    os.remove(source.path("docs/c.md"))

    assert said(source.changes()) == {"removed": ["docs/c.md"]}


def test_file_replaced_by_a_folder_of_its_name(source):
    os.remove(source.path("a.md"))
    source.write("a.md/inner.md", b"inner")

    assert said(source.changes()) == {"removed": ["a.md"], "added": ["a.md/inner.md"]}


def test_file_moved_into_a_folder_of_its_old_name(source):
    os.rename(source.path("a.md"), source.path("x"))
    os.mkdir(source.path("a.md"))
    os.rename(source.path("x"), source.path("a.md/a.md"))

    assert said(source.changes()) == {"moved": [("a.md", "a.md/a.md")]}


def test_folder_replaced_by_a_file_of_its_name(source):
    shutil.rmtree(source.path("docs"))
    source.write("docs", b"a file of no known type")

    assert said(source.changes()) == {"removed": ["docs/c.md", "docs/deep/d.md"]}


def test_file_or_folder_replaced_by_a_link_is_removed(source):
    for name in ("a.md", "docs"):
        os.rename(source.path(name), source.path("../" + name))
        os.symlink("../" + name, source.path(name))

    assert said(source.changes()) == {"removed": ["a.md", "docs/c.md", "docs/deep/d.md"]}


def test_file_that_became_blank_is_withdrawn_not_removed(source):
    source.write("a.md", b"")

    changes = source.changes()

    assert said(changes) == {"withdrawn": [("a.md", "empty")]}
    assert not changes.is_quiet


def test_rule_that_now_leaves_files_out_withdraws_them(source):
    scanned = scan(source.root, rules(exclude=parse_globs(["docs", "a.md"])))

    assert said(source.changes(scanned=scanned)) == {
        "withdrawn": [("a.md", "excluded"), ("docs/c.md", "excluded"), ("docs/deep/d.md", "excluded")],
    }


def test_file_moved_out_of_a_folder_now_excluded_is_a_move(source):
    os.rename(source.path("docs/c.md"), source.path("c.md"))

    changes = source.changes(scanned=scan(source.root, rules(exclude=parse_globs(["docs"]))))

    assert said(changes) == {"moved": [("docs/c.md", "c.md")], "withdrawn": [("docs/deep/d.md", "excluded")]}


def test_files_below_a_source_never_indexed_are_withdrawn(source):
    os.rename(source.path("docs"), source.path("plan.ocr"))
    source.learn()
    source.write("plan.md", b"the note of these pages")
    source.known = {path: known for path, known in source.known.items() if path.startswith("plan.ocr/")}

    changes = source.changes(scanned=scan(source.root, rules(path="plan.ocr")))

    assert said(changes) == {"withdrawn": [("plan.ocr/c.md", "sidecar"), ("plan.ocr/deep/d.md", "sidecar")]}


def test_withdrawn_file_is_said_once_and_comes_back_as_changed(source):
    source.known["a.md"] = replace(source.known["a.md"], state=KnownState.WITHDRAWN)

    assert said(source.changes(scanned=scan(source.root, rules(exclude=parse_globs(["a.md"]))))) == {}
    assert said(source.changes()) == {"changed": ["a.md"]}


def test_withdrawn_file_that_is_deleted_is_removed(source):
    source.known["a.md"] = replace(source.known["a.md"], state=KnownState.WITHDRAWN)
    os.remove(source.path("a.md"))

    assert said(source.changes()) == {"removed": ["a.md"]}


def test_file_never_hashed_counts_as_changed_when_anything_differs(source):
    source.known["a.md"] = replace(source.known["a.md"], sha256=None)
    assert said(source.changes()) == {}

    os.utime(source.path("a.md"), ns=(5, 5))
    assert said(source.changes()) == {"changed": ["a.md"]}


def test_root_that_is_gone_holds_everything(source):
    shutil.rmtree(source.root)

    assert said(source.changes()) == {"held": [(path, "root_gone") for path in sorted(source.known)]}


def test_unread_folder_holds_what_is_below_it(source):
    scanned = scan(source.root, rules(), listing=lambda fd: _fail_in(fd, source.path("docs")))
    os.remove(source.path("b.md"))
    again = scan(source.root, rules(), listing=lambda fd: _fail_in(fd, source.path("docs")))

    assert said(source.changes(scanned=scanned)) == {"held": [("docs/c.md", "unread"), ("docs/deep/d.md", "unread")]}
    assert said(source.changes(scanned=again))["removed"] == ["b.md"]


def _fail_in(fd, folder):
    if os.fstat(fd).st_ino == os.stat(folder).st_ino:
        raise OSError(5, "failing disk")
    return os.scandir(fd)


def test_files_of_a_disk_that_went_away_are_held(source):
    for path in ("docs/c.md", "docs/deep/d.md"):
        known = source.known[path]
        source.known[path] = replace(known, fingerprint=replace(known.fingerprint, dev=99))
    shutil.rmtree(source.path("docs"))
    os.mkdir(source.path("docs"))

    assert said(source.changes()) == {"held": [("docs/c.md", "mount_gone"), ("docs/deep/d.md", "mount_gone")]}
    assert said(source.changes(previous=None)) == {"removed": ["docs/c.md", "docs/deep/d.md"]}


@pytest.mark.parametrize("gone", [["a.md"], ["a.md", "b.md", "docs/c.md", "docs/deep/d.md"]])
def test_deleted_files_of_a_disk_still_there_are_removed(source, gone):
    """The root was on another disk at the last scan, the files on this one: which is here, so they are deleted."""
    source.previous = replace(source.previous, root=replace(source.previous.root, device=98))
    for name in gone:
        os.remove(source.path(name))

    assert said(source.changes()) == {"removed": gone}


def test_known_files_beside_the_source_are_held(source):
    scanned = scan(source.root, rules(path="docs"))

    assert said(source.changes(scanned=scanned)) == {"held": [("a.md", "not_scanned"), ("b.md", "not_scanned")]}


@pytest.mark.parametrize("error", [ChangedWhileReading(), FileGone("a.md"), OSError(errno.EIO, "failing disk")])
def test_file_that_cannot_be_hashed_now_is_deferred(source, error):
    def hash_of(path):
        raise error

    os.utime(source.path("a.md"), ns=(5, 5))

    assert said(source.changes(hash_of=hash_of)) == {"deferred": ["a.md"]}


def test_move_that_cannot_be_hashed_now_holds_the_old_path(source):
    def hash_of(path):
        raise ChangedWhileReading

    os.rename(source.path("a.md"), source.path("renamed.md"))
    shutil.copy(source.path("docs/c.md"), source.path("copied.md"))
    os.remove(source.path("docs/c.md"))

    changes = source.changes(hash_of=hash_of)

    assert said(changes) == {
        "deferred": ["copied.md", "renamed.md"],
        "held": [("a.md", "unsettled"), ("docs/c.md", "unsettled")],
    }


def test_file_written_a_moment_ago_is_deferred(source):
    source.write("new.md", b"half")
    source.write("a.md", b"half of it")
    source.write("b.md", b"")

    assert said(source.changes(settle_ns=LATER)) == {"deferred": ["a.md", "b.md", "new.md"]}


def test_old_file_that_arrives_is_not_deferred(source):
    source.write("new.md", b"whole")
    os.utime(source.path("new.md"), ns=(1, 1))
    future = time.time_ns() + LATER
    source.write("future.md", b"whole")
    os.utime(source.path("future.md"), ns=(future, future))

    assert said(source.changes(settle_ns=LATER)) == {"added": ["future.md", "new.md"]}


def test_collisions_of_case_and_normalisation_are_told(source):
    for name in ("A.md", "Docs/c.md", "f\u00fcr.md", unicodedata.normalize("NFD", "f\u00fcr.md")):
        source.write(name, b"x")

    changes = source.changes()

    assert changes.collisions == (("A.md", "a.md"), ("Docs/c.md", "docs/c.md"), ("fu\u0308r.md", "f\u00fcr.md"))
    assert len(changes.added) == 4


def test_hashes_that_were_taken_come_along(source):
    os.rename(source.path("a.md"), source.path("renamed.md"))

    assert source.changes().hashes == {"renamed.md": hashlib.sha256(b"a.md").hexdigest()}


def test_names_not_utf8_move_like_others(source):
    os.rename(source.path("a.md"), source.path(b"caf\xe9.md"))

    assert said(source.changes()) == {"moved": [("a.md", "caf\\xe9.md")]}
