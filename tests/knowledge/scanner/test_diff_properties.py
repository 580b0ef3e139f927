"""Whatever people do to a tree between two scans, the known files end up equal to a fresh look."""

import hashlib
import itertools
import os
import shutil
import tempfile
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge.scanner.changes import KnownFile, KnownState, PreviousScan
from knowledge.scanner.diff import diff
from knowledge.scanner.walk import scan
from mnote.files.opening import open_below
from tests.knowledge.scanner.conftest import rules

FOLDERS = ["", "x", "y", "x/z", "a.md"]
NAMES = ["a.md", "b.md", "c.txt", "语言.md"]
PATHS = [f"{folder}/{name}".lstrip("/") for folder in FOLDERS for name in NAMES]
CONTENTS = [b"one", b"two", b"three", b""]

path = st.sampled_from(PATHS)
content = st.sampled_from(CONTENTS)
steps = st.one_of(
    st.tuples(st.just("write"), path, content),
    st.tuples(st.just("save"), path, content),
    st.tuples(st.just("delete"), path),
    st.tuples(st.just("rename"), path, path),
    st.tuples(st.just("rename"), st.sampled_from(FOLDERS[1:]), st.sampled_from(["y", "w", "x/w", "a.md"])),
    st.tuples(st.just("swap"), path, path),
    st.tuples(st.just("copy"), path, path),
    st.tuples(st.just("link"), path, path),
)
batches = st.lists(st.lists(steps, max_size=6), min_size=1, max_size=5)


class Tree:
    """A folder to which things happen, and a service that keeps its list of known files by change sets only."""

    def __init__(self, root, *, is_doubtful):
        self.root = os.fsencode(root)
        self.is_doubtful = is_doubtful
        self.clock = itertools.count(1)
        self.ids = itertools.count(1)
        self.known = {}
        self.previous = None

    def do(self, kind, *arguments):
        """Do one thing; what the file system refuses does not happen."""
        try:
            getattr(self, kind)(*arguments)
        except OSError:
            return

    def at(self, relative):
        return os.path.join(self.root, os.fsencode(relative))

    def write(self, relative, data):
        os.makedirs(os.path.dirname(self.at(relative)), exist_ok=True)
        with open(self.at(relative), "wb") as file:
            file.write(data)
        os.utime(self.at(relative), ns=(0, next(self.clock)))

    def save(self, relative, data):
        self.write(relative + ".tmp", data)
        os.replace(self.at(relative + ".tmp"), self.at(relative))

    def delete(self, relative):
        if os.path.isdir(self.at(relative)):
            shutil.rmtree(self.at(relative))
        else:
            os.remove(self.at(relative))

    def rename(self, old, new):
        os.makedirs(os.path.dirname(self.at(new)), exist_ok=True)
        os.rename(self.at(old), self.at(new))

    def swap(self, one, other):
        if os.path.exists(self.at(one)) and os.path.exists(self.at(other)) and one != other:
            os.rename(self.at(one), self.at("spare"))
            os.rename(self.at(other), self.at(one))
            os.rename(self.at("spare"), self.at(other))

    def copy(self, one, other):
        shutil.copyfile(self.at(one), self.at(other))
        os.utime(self.at(other), ns=(0, next(self.clock)))

    def link(self, one, other):
        os.link(self.at(one), self.at(other))

    def hash_of(self, relative):
        with open_below(self.root, relative) as opened:
            return hashlib.sha256(opened.read(max_bytes=10**6)).hexdigest()

    def look(self):
        """Scan, compare, and apply the change set in its documented order."""
        found = scan(self.root, rules())
        known = [file for _, file in self.known.values()]
        changes = diff(known, found, hash_of=self.hash_of, previous=self.previous)
        kept = {path: entry for path, entry in self.known.items() if path not in changes.removed}
        moved = {move.new: self._entry(kept.pop(move.old)[0], move.found) for move in changes.moved}
        for gone in changes.withdrawn:
            identity, file = kept[gone.path]
            kept[gone.path] = (identity, self._withdrawn(file))
        self.known = {**kept, **moved}
        for file in (*changes.changed, *changes.touched, *changes.unchanged):
            self.known[file.path] = self._entry(self.known[file.path][0], file)
        for file in changes.added:
            assert file.path not in self.known
            self.known[file.path] = self._entry(next(self.ids), file)
        shift = 0 if self.is_doubtful else 3600 * 10**9
        self.previous = PreviousScan(started_at_ns=found.started_at_ns + shift, root=found.root)
        return changes

    def _entry(self, identity, file):
        known = KnownFile(path=file.path, fingerprint=file.fingerprint, sha256=self.hash_of(file.path))
        return identity, known

    def _withdrawn(self, file):
        return KnownFile(path=file.path, fingerprint=file.fingerprint, sha256=file.sha256, state=KnownState.WITHDRAWN)

    def indexed(self):
        return {path: file.sha256 for path, (_, file) in self.known.items() if file.state is KnownState.INDEXED}

    def fresh(self):
        return {file.path: self.hash_of(file.path) for file in scan(self.root, rules()).files}


@contextmanager
def tree(*, is_doubtful):
    with tempfile.TemporaryDirectory() as root:
        yield Tree(root, is_doubtful=is_doubtful)


def check_against_a_fresh_look(wanted, *, is_doubtful):
    with tree(is_doubtful=is_doubtful) as found:
        for batch in wanted:
            for step in batch:
                found.do(*step)
            found.look()

            assert found.indexed() == found.fresh()
            assert found.look().is_quiet


@settings(max_examples=150, deadline=None)
@given(batches)
def test_known_files_equal_a_fresh_look_by_numbers_alone(wanted):
    check_against_a_fresh_look(wanted, is_doubtful=False)


@settings(max_examples=100, deadline=None)
@given(batches)
def test_known_files_equal_a_fresh_look_when_all_is_in_doubt(wanted):
    check_against_a_fresh_look(wanted, is_doubtful=True)


moving = st.lists(
    st.one_of(
        st.tuples(st.just("rename"), path, path),
        st.tuples(st.just("swap"), path, path),
        st.tuples(st.just("swap"), st.sampled_from(["x", "x/z"]), st.sampled_from(["y", "w"])),
        st.tuples(st.just("rename"), st.sampled_from(["x", "y", "x/z"]), st.sampled_from(["w", "y/v"])),
    ),
    max_size=8,
)


@settings(max_examples=150, deadline=None)
@given(st.sets(path, min_size=2), moving)
def test_files_that_are_only_moved_keep_their_identity(start, wanted):
    with tree(is_doubtful=False) as found:
        for number, relative in enumerate(sorted(start)):
            found.do("write", relative, b"content %d" % number)
        found.look()
        before = {file.sha256: identity for identity, file in found.known.values()}
        for kind, old, new in wanted:
            if kind == "swap" or not os.path.exists(found.at(new)):
                found.do(kind, old, new)

        changes = found.look()

        assert (changes.added, changes.changed, changes.removed) == ((), (), ())
        assert {file.sha256: identity for identity, file in found.known.values()} == before


@pytest.mark.parametrize("is_doubtful", [True, False])
def test_tree_helper_can_fail(is_doubtful):
    """Without its change sets applied, the known files do differ: the properties above are no tautology."""
    with tree(is_doubtful=is_doubtful) as found:
        found.do("write", "a.md", b"one")

        assert found.indexed() != found.fresh()
