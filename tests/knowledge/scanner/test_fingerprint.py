import hashlib
import os
import threading

import pytest

from knowledge.scanner.fingerprint import ChangedWhileReading, Fingerprint, sha256_of


def hashed(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        return sha256_of(fd)
    finally:
        os.close(fd)


@pytest.mark.parametrize("content", [b"", b"text", b"x" * (1024 * 1024), b"x" * (3 * 1024 * 1024 + 1)])
def test_hash_is_that_of_the_content(put, content):
    assert hashed(put(b"a.md", content)) == hashlib.sha256(content).hexdigest()


def test_hash_leaves_the_position(put):
    fd = os.open(put(b"a.md", b"0123456789"), os.O_RDONLY)
    os.lseek(fd, 4, os.SEEK_SET)
    sha256_of(fd)

    assert os.read(fd, 2) == b"45"
    os.close(fd)


def test_hash_never_mixes_two_states(put):
    """A writer puts one letter at the start, then at the end, and so on; only what was ever whole is hashed."""
    letters, body = b"abcdefgh", b"-" * (16 * 1024 * 1024)  # longer than any clock's grain
    path = put(b"a.md", letters[:1] + body + letters[:1])
    following = zip(letters[1:] + letters[:1], letters, strict=True)
    pairs = [*zip(letters, letters, strict=True), *following]
    whole = {hashlib.sha256(bytes([start]) + body + bytes([end])).hexdigest() for start, end in pairs}
    outcomes = outcomes_while_writing(path, letters, at=(0, len(body) + 1))

    assert outcomes - {"refused"} <= whole
    assert "refused" in outcomes


def outcomes_while_writing(path, letters, *, at):
    stop = threading.Event()

    def rewrite():
        fd = os.open(path, os.O_WRONLY)
        while not stop.is_set():
            for letter in letters:
                for offset in at:
                    os.pwrite(fd, bytes([letter]), offset)
        os.close(fd)

    writer = threading.Thread(target=rewrite)
    writer.start()
    outcomes = set()
    try:
        for _ in range(40):
            try:
                outcomes.add(hashed(path))
            except ChangedWhileReading:
                outcomes.add("refused")
    finally:
        stop.set()
        writer.join()
    return outcomes


def test_fingerprint_sees_a_same_size_edit_with_its_time_put_back(put):
    path = put(b"a.md", b"one")
    before = os.stat(path)
    put(b"a.md", b"two")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    after = Fingerprint.of(os.stat(path))

    assert after.mtime_ns == before.st_mtime_ns
    assert not after.is_same_state(Fingerprint.of(before))


def test_fingerprint_does_not_mind_a_new_device_number():
    values = {"size": 1, "mtime_ns": 2, "inode": 3, "ctime_ns": 4}

    assert Fingerprint(dev=5, **values).is_same_state(Fingerprint(dev=6, **values))
    assert Fingerprint(dev=5, **values) != Fingerprint(dev=6, **values)
