import errno
import os
import queue
import shutil
import threading

import pytest
import watchfiles

from knowledge.scanner.watch import watch_roots


class Hints:
    """Collects what a watcher says in a thread of its own, and waits for it."""

    def __init__(self, *roots, **options):
        self.stop = threading.Event()
        self.arrived = queue.Queue()
        self.seen = set()
        self.thread = threading.Thread(target=self._collect, args=(roots, options))
        self.thread.start()

    def _collect(self, roots, options):
        for hints in watch_roots(roots, self.stop, **options):
            self.arrived.put(hints)

    def await_hint(self, wanted, poke):
        """Poke until the hint comes: the watcher does not tell when it has begun."""
        for _ in range(40):
            poke()
            try:
                hints = self.arrived.get(timeout=0.5)
            except queue.Empty:
                continue
            self.seen |= hints
            if wanted in hints:
                return
        pytest.fail(f"no hint {wanted}, only {self.seen}")

    def close(self):
        self.stop.set()
        self.thread.join(timeout=10)
        assert not self.thread.is_alive()


@pytest.fixture
def watching():
    opened = []

    def start(*roots, **options):
        opened.append(Hints(*roots, **options))
        return opened[-1]

    yield start
    for hints in opened:
        hints.close()


def test_edit_gives_a_hint_for_its_folder(root, put, watching):
    put(b"docs/deep/a.md")
    hints = watching(root)

    hints.await_hint((root, "docs/deep"), lambda: put(b"docs/deep/a.md"))
    hints.await_hint((root, ""), lambda: put(b"b.md"))


def test_new_folder_is_watched_too(root, put, watching):
    hints = watching(root)
    hints.await_hint((root, ""), lambda: put(b"first.md"))

    hints.await_hint((root, "new"), lambda: put(b"new/a.md"))


def test_renamed_folder_is_watched_under_its_new_name(root, put, watching):
    put(b"old/a.md")
    hints = watching(root)
    hints.await_hint((root, "old"), lambda: put(b"old/a.md"))
    os.rename(os.path.join(root, b"old"), os.path.join(root, b"new"))

    hints.await_hint((root, "new"), lambda: put(b"new/a.md"))


def test_what_is_never_indexed_gives_no_hint(root, put, watching):
    for path in (b"docs/a.md", b".git/x", b"b.md"):
        put(path)
    hints = watching(root)

    def poke():
        for path in (b"docs/.a.md.swp", b"docs/a.md~", b".git/index", b"b.md"):
            put(path)

    hints.await_hint((root, ""), poke)
    hints.await_hint((root, ""), poke)
    assert hints.seen == {(root, "")}


def test_links_do_not_lead_the_watch_outside(root, put, watching, tmp_path):
    put(b"a.md")
    os.symlink(tmp_path / "beside", os.path.join(root, b"link"))
    hints = watching(root)

    def poke():
        (tmp_path / "beside" / "secret.md").write_text("again")
        put(b"a.md")

    hints.await_hint((root, ""), poke)
    hints.await_hint((root, ""), poke)
    assert hints.seen == {(root, "")}


def test_root_that_vanishes_and_returns_is_taken_up_again(root, put, watching, tmp_path):
    other = os.fsencode(tmp_path / "other")
    put(b"a.md")
    hints = watching(root, other)
    hints.await_hint((root, ""), lambda: put(b"a.md"))
    shutil.rmtree(root)

    hints.await_hint((root, ""), lambda: put(b"a.md"))
    hints.await_hint((other, ""), lambda: os.makedirs(other, exist_ok=True))


def test_refusal_of_the_system_is_survived(root, put, watching):
    refusals = [OSError(errno.ENOSPC, "no watches left")]

    def watcher(*paths, **options):
        if refusals:
            raise refusals.pop()
        yield from watchfiles.watch(*paths, **options)

    hints = watching(root, retry_seconds=0.01, watcher=watcher)

    hints.await_hint((root, ""), lambda: put(b"a.md"))
    assert refusals == []


def test_refusal_of_the_system_does_not_delay_the_end(root, watching):
    asked = threading.Event()

    def watcher(*paths, **options):
        asked.set()
        raise OSError(errno.ENOSPC, "no watches left")

    hints = watching(root, retry_seconds=3600, watcher=watcher)
    assert asked.wait(10)

    hints.close()
    assert hints.arrived.empty()


def test_names_not_utf8_give_a_hint_for_the_root(root, put, watching):
    put(b"docs/a.md")
    put(b"caf\xe9/a.md")
    hints = watching(root)
    hints.await_hint((root, "docs"), lambda: put(b"docs/a.md"))

    hints.await_hint((root, ""), lambda: put(b"docs/caf\xe9.md"))
    hints.await_hint((root, "docs"), lambda: put(b"docs/a.md"))
