"""The only code that opens what a user names. Every path is text relative to a root; nothing outside can be reached.

Each component is opened from the folder before it, never following a link, so a folder that is swapped for a link
between two steps gives an error and not another file. Links are shown in listings and never followed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Self

from mnote.files.errors import FileGone, FilesError, NotAFile, NotAFolder, RootGone, TooLarge, error_name, read_error
from mnote.files.names import name_to_text, path_to_bytes
from mnote.files.spelling import is_spelled_as_stored

# A folder that may be passed but not listed is still a folder on the way (Linux); elsewhere it must be readable.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ROOT = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
# O_NONBLOCK: a pipe put in the place of a file must not hang us until somebody writes to it.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_BLOCK = 1024 * 1024


class EntryKind(StrEnum):
    """What a name stands for. A link is never anything else, wherever it points."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """What the system says of one file. Size in bytes, times in nanoseconds since 1970."""

    kind: EntryKind
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One name in a folder. `name` is its text form."""

    name: str
    kind: EntryKind
    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedFile:
    """An open file or folder. Close it, or use it in a `with`. `facts` were taken from the open descriptor."""

    fd: int
    path: str
    facts: FileFacts

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptor; once only."""
        os.close(self.fd)

    def chunks(self, size: int = _BLOCK) -> Iterator[bytes]:
        """Yield the content from its start, at most `size` bytes at a time.

        Raises:
            Unreadable: the system stops reading.
        """
        offset = 0
        try:
            while block := os.pread(self.fd, size, offset):
                offset += len(block)
                yield block
        except OSError as error:
            raise read_error(error, self.path) from error

    def read(self, *, max_bytes: int) -> bytes:
        """Give the whole content, never more than `max_bytes`.

        Raises:
            TooLarge, Unreadable.
        """
        if self.facts.size > max_bytes:
            raise TooLarge(self.path, limit=max_bytes)
        content = bytearray()
        for block in self.chunks():
            content += block
            if len(content) > max_bytes:
                raise TooLarge(self.path, limit=max_bytes)
        return bytes(content)


def open_below(root: bytes, relative: str) -> OpenedFile:
    """Open the regular file `relative` below the folder `root` (absolute bytes) for reading.

    Raises:
        InvalidPath, FileGone, NotAFile, Unreadable, RootGone.
    """
    with _parent(root, relative) as (parent, name):
        if name == b".":
            raise NotAFile(relative)
        _refuse_special(parent, name, relative)
        fd = _open(name, _READ, parent, relative, wrong_kind=NotAFile)
        return _opened(fd, relative, EntryKind.FILE)


def open_folder(root: bytes, relative: str) -> OpenedFile:
    """Open the folder `relative` (`""` is the root) so that it can be listed or used as `dir_fd`.

    Raises:
        InvalidPath, FileGone, NotAFolder, Unreadable, RootGone.
    """
    with _parent(root, relative) as (parent, name):
        fd = _open(name, _LIST, parent, relative, wrong_kind=NotAFolder)
        return _opened(fd, relative, EntryKind.FOLDER)


def open_subfolder(folder: OpenedFile, name: bytes, path: str) -> OpenedFile:
    """Open the folder `name`, as listed in `folder`, without walking from the root again. `path` is for messages.

    Raises:
        FileGone, NotAFolder, Unreadable.
    """
    try:
        fd = os.open(name, _LIST, dir_fd=folder.fd)
    except NotADirectoryError as error:
        raise NotAFolder(path) from error
    except OSError as error:
        raise read_error(error, path) from error
    return _opened(fd, path, EntryKind.FOLDER)


def list_folder(root: bytes, relative: str) -> list[Entry]:
    """List a folder, sorted by name. Names that vanish while being listed are left out.

    Raises:
        InvalidPath, FileGone, NotAFolder, Unreadable, RootGone.
    """
    with open_folder(root, relative) as folder:
        try:
            with os.scandir(folder.fd) as names:
                found = [_entry(each) for each in names]
        except OSError as error:
            raise read_error(error, relative) from error
    return sorted((entry for entry in found if entry), key=lambda entry: entry.name)


def stat_below(root: bytes, relative: str) -> FileFacts:
    """Say what is at `relative`, of whatever kind, without opening or following it.

    Raises:
        InvalidPath, FileGone, Unreadable, RootGone.
    """
    with _parent(root, relative) as (parent, name):
        _check_spelling(parent, name, relative)
        try:
            return facts_of(os.stat(name, dir_fd=parent, follow_symlinks=False))
        except OSError as error:
            raise read_error(error, relative) from error


def facts_of(found: os.stat_result) -> FileFacts:
    """Put a stat result into our words."""
    return FileFacts(
        kind=kind_of(found.st_mode),
        size=found.st_size,
        mtime_ns=found.st_mtime_ns,
        ctime_ns=found.st_ctime_ns,
        inode=found.st_ino,
        device=found.st_dev,
    )


def kind_of(mode: int) -> EntryKind:
    """Name the kind of a stat mode."""
    if stat.S_ISREG(mode):
        return EntryKind.FILE
    if stat.S_ISDIR(mode):
        return EntryKind.FOLDER
    return EntryKind.LINK if stat.S_ISLNK(mode) else EntryKind.OTHER


@contextmanager
def _parent(root: bytes, relative: str) -> Iterator[tuple[int, bytes]]:
    """Give the descriptor of the folder that holds the last component, and that component (`b"."` for the root)."""
    *folders, last = path_to_bytes(relative).split(b"/") if relative else [b"."]
    current = _open_root(root)
    try:
        for name in folders:
            above = current
            current = _open(name, _PASS, above, relative, wrong_kind=FileGone)
            os.close(above)
        yield current, last
    finally:
        os.close(current)


def _open_root(root: bytes) -> int:
    try:
        return os.open(root, _ROOT)
    except OSError as error:
        # The error names the absolute path, so it must not be chained.
        raise RootGone("", error_name(error)) from None


def _open(name: bytes, flags: int, parent: int, relative: str, *, wrong_kind: type[FilesError]) -> int:
    _check_spelling(parent, name, relative)
    try:
        return os.open(name, flags, dir_fd=parent)
    except (NotADirectoryError, IsADirectoryError) as error:
        raise wrong_kind(relative) from error
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO}:
            raise wrong_kind(relative) from error
        raise read_error(error, relative) from error


def _check_spelling(parent: int, name: bytes, relative: str) -> None:
    if not is_spelled_as_stored(parent, name):
        raise FileGone(relative, "spelled otherwise")


def _refuse_special(parent: int, name: bytes, relative: str) -> None:
    """Refuse what is no file before it is opened: opening a device can already do something."""
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except OSError as error:
        raise read_error(error, relative) from error
    if not stat.S_ISREG(found.st_mode):
        raise NotAFile(relative)


def _opened(fd: int, relative: str, wanted: EntryKind) -> OpenedFile:
    facts = facts_of(os.fstat(fd))
    if facts.kind is not wanted:
        os.close(fd)
        raise NotAFile(relative)
    return OpenedFile(fd=fd, path=relative, facts=facts)


def _entry(found: os.DirEntry[str]) -> Entry | None:
    try:
        facts = facts_of(found.stat(follow_symlinks=False))
    except FileNotFoundError:
        return None
    name = name_to_text(os.fsencode(found.name))
    return Entry(name=name, kind=facts.kind, size=facts.size, mtime_ns=facts.mtime_ns, inode=facts.inode)
