"""The one way in which we write into a root: a new file, complete or not at all, never over another."""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import PurePosixPath

from mnote.files.errors import FilesError, InvalidPath, NameTaken, TooLarge, write_error
from mnote.files.names import name_to_text, path_to_bytes
from mnote.files.opening import open_folder
from mnote.files.prefixes import components

TEMPORARY_PREFIX = ".mnote-upload-"
MAX_NAME_BYTES = 255
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE = 0o644
_FOLDER_MODE = 0o755
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_RENAME_NOREPLACE = 1


def write_new(
    root: bytes, folder: str, name: str, chunks: Iterable[bytes], *, max_bytes: int, makes_folders: bool = False
) -> str:
    """Write `chunks` as the new file `name` in `folder` and give its path (text form).

    `folder` is a relative path in text form; `name` is a plain name, already through `safe_name`. Other readers see
    the whole file or none. With `makes_folders`, folders on the way that are not there are made. Whatever goes wrong,
    an error from `chunks` included, no part of it stays.

    Raises:
        InvalidPath, FileGone, NotAFolder, Unreadable, RootGone: the folder cannot be used.
        NameTaken: something of that name exists, now or when the content has arrived.
        TooLarge: `chunks` hold more than `max_bytes`.
        NotWritable, NoSpace: the system does not take it.
    """
    final = _encoded(name)
    path = "/".join(part for part in (folder, name_to_text(final)) if part)
    with _folders_for(root, folder if makes_folders else ""), open_folder(root, folder) as opened:
        _refuse_taken(opened.fd, final, path)
        temporary = f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}".encode()
        try:
            _write_temporary(opened.fd, temporary, chunks, path, max_bytes)
            _publish(opened.fd, temporary, final, path)
        finally:
            _remove(opened.fd, temporary)
    return path


def safe_name(wanted: str) -> str:
    """Make a plain file name out of what a person or browser sent, changing only what the file system needs.

    `/`, NUL, surrogates and characters that normalise to `/` become `_`; so does a name that is or normalises to `.`
    or `..`; a name over 255 bytes is cut at a character, its extension kept. Everything else stays as it is.

    Raises:
        InvalidPath: nothing is left.
    """
    name = "".join("_" if _is_forbidden(character) else character for character in wanted)
    if unicodedata.normalize("NFKC", name).strip() in {".", ".."}:
        name = "_" * len(name)
    if not name.strip():
        raise InvalidPath("", "empty name")
    return _cut(name, room=MAX_NAME_BYTES)


def free_name(folder: int, name: str) -> str:
    """Find a name like `name (2).ext` that nothing has in the open folder `folder`."""
    return next(candidate for candidate in other_names(name) if not _exists(folder, candidate.encode()))


def other_names(name: str) -> Iterator[str]:
    """Yield `name (2).ext`, `name (3).ext` and so on without end, each short enough."""
    suffix = _suffix(name)
    stem = name.removesuffix(suffix)
    for number in count(2):
        mark = f" ({number}){suffix}"
        yield _cut(stem, room=MAX_NAME_BYTES - len(mark.encode())) + mark


@contextmanager
def _folders_for(root: bytes, folder: str) -> Iterator[None]:
    """Make the missing folders on the way to `folder`; when what follows fails, take away those made and empty."""
    made: list[tuple[str, bytes]] = []
    try:
        parts = components(folder)
        for depth, part in enumerate(parts):
            above = "/".join(parts[:depth])
            raw = path_to_bytes(part)
            with open_folder(root, above) as opened:
                if _make_folder(opened.fd, raw, f"{above}/{part}"):
                    made.append((above, raw))
        yield
    except BaseException:
        for above, raw in reversed(made):
            # Not empty: somebody else puts something there by now.
            with suppress(OSError, FilesError), open_folder(root, above) as opened:
                os.rmdir(raw, dir_fd=opened.fd)
        raise


def _make_folder(folder: int, name: bytes, path: str) -> bool:
    """Make a folder unless something has its name; say whether one was made."""
    if _exists(folder, name):
        return False
    if name != safe_name(name.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape"):
        raise InvalidPath(path, "not a folder name")
    try:
        os.mkdir(name, _FOLDER_MODE, dir_fd=folder)
    except FileExistsError:
        return False
    except OSError as error:
        raise write_error(error, path) from error
    return True


def _encoded(name: str) -> bytes:
    try:
        raw = name.encode()
        name_to_text(raw)
    except UnicodeEncodeError as error:
        raise InvalidPath("", "not text") from error
    return raw


def _write_temporary(folder: int, temporary: bytes, chunks: Iterable[bytes], path: str, max_bytes: int) -> None:
    try:
        fd = os.open(temporary, _CREATE, _MODE, dir_fd=folder)
    except OSError as error:
        raise write_error(error, path) from error
    try:
        written = 0
        for chunk in chunks:
            written += len(chunk)
            if written > max_bytes:
                raise TooLarge(path, limit=max_bytes)
            _append(fd, chunk, path)
        _sync(fd, path)
    finally:
        os.close(fd)


def _append(fd: int, chunk: bytes, path: str) -> None:
    rest = memoryview(chunk)
    try:
        while rest:
            rest = rest[os.write(fd, rest) :]
    except OSError as error:
        raise write_error(error, path) from error


def _sync(fd: int, path: str) -> None:
    try:
        os.fsync(fd)
    except OSError as error:
        raise write_error(error, path) from error


def _publish(folder: int, temporary: bytes, final: bytes, path: str) -> None:
    """Give the finished file its name unless something has it by now, and make the name durable."""
    try:
        os.link(temporary, final, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError as error:
        raise NameTaken(path, suggestion=free_name(folder, final.decode())) from error
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise write_error(error, path) from error
        _rename_new(folder, temporary, final, path)
    # The file is there by now; some file systems cannot sync a folder.
    with suppress(OSError):
        os.fsync(folder)


def _rename_new(folder: int, temporary: bytes, final: bytes, path: str) -> None:
    """Rename without replacing, for file systems that have no hard links. Linux only; elsewhere: not writable."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename and rename(folder, temporary, folder, final, _RENAME_NOREPLACE) == 0:
        return
    error = OSError(ctypes.get_errno() if rename else errno.EOPNOTSUPP, "renameat2")
    if error.errno == errno.EEXIST:
        raise NameTaken(path, suggestion=free_name(folder, final.decode())) from error
    raise write_error(error, path) from error


def _remove(folder: int, temporary: bytes) -> None:
    # Never created, renamed away, or the disk is failing: the scanner ignores what may be left.
    with suppress(OSError):
        os.unlink(temporary, dir_fd=folder)


def _refuse_taken(folder: int, final: bytes, path: str) -> None:
    """Refuse before the body is read; `_publish` decides."""
    if _exists(folder, final):
        raise NameTaken(path, suggestion=free_name(folder, final.decode()))


def _exists(folder: int, name: bytes) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def _is_forbidden(character: str) -> bool:
    """NUL, a surrogate (no UTF-8), or what is or normalises to `/`."""
    return character == "\0" or "\ud800" <= character <= "\udfff" or "/" in unicodedata.normalize("NFKC", character)


def _suffix(name: str) -> str:
    suffix = PurePosixPath(name).suffix
    return suffix if len(suffix.encode()) <= MAX_NAME_BYTES // 4 else ""


def _cut(name: str, *, room: int) -> str:
    """Shorten to `room` bytes of UTF-8 at a character, taking from the stem."""
    if len(name.encode()) <= room:
        return name
    suffix = _suffix(name)
    stem = name.removesuffix(suffix).encode()[: room - len(suffix.encode())]
    return stem.decode("utf-8", "ignore") + suffix
