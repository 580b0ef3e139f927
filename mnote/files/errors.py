"""Why a path or file below a root could not be used. Messages hold codes and relative paths, never an absolute one."""

from __future__ import annotations

import errno
from typing import ClassVar


class FilesError(Exception):
    """Base of the tree. `path` is the text form of a path relative to the root, `""` for the root itself.

    `code` is stable; `retryable` only where the same call may succeed later without the file changing.
    """

    code: ClassVar[str] = "files_error"
    retryable: ClassVar[bool] = False

    def __init__(self, path: str = "", detail: str = "") -> None:
        super().__init__(path, detail)
        self.path = path
        self.detail = detail

    def __str__(self) -> str:
        return " ".join(part for part in (self.code, repr(self.path), self.detail) if part)


class InvalidPath(FilesError):
    """A path that cannot name anything below a root: `..`, absolute, NUL, empty component, broken escape."""

    code = "invalid_path"


class FileGone(FilesError):
    """Nothing of that name is there, or a component on the way is not a real folder."""

    code = "file_gone"


class NotAFile(FilesError):
    """Something is there, but not a regular file: a folder, link, pipe, socket or device."""

    code = "not_a_file"


class NotAFolder(FilesError):
    """Something is there, but not a real folder."""

    code = "not_a_folder"


class Unreadable(FilesError):
    """The system refuses to read it: rights, or a failing disk or share. `denied` tells the first from the second."""

    code = "unreadable"
    retryable = True

    def __init__(self, path: str = "", detail: str = "", *, denied: bool = False) -> None:
        super().__init__(path, detail)
        self.denied = denied


class RootGone(FilesError):
    """The root folder itself cannot be opened: unmounted, renamed, deleted, or not readable."""

    code = "root_gone"
    retryable = True


class TooLarge(FilesError):
    """More bytes than allowed. `limit` is in bytes."""

    code = "too_large"

    def __init__(self, path: str = "", *, limit: int) -> None:
        super().__init__(path, f"limit {limit} bytes")
        self.limit = limit


class NameTaken(FilesError):
    """A file of that name exists. `suggestion` is a free name in the same folder, as plain text."""

    code = "name_taken"

    def __init__(self, path: str, *, suggestion: str) -> None:
        super().__init__(path)
        self.suggestion = suggestion


class NotWritable(FilesError):
    """The folder takes no new file: rights, read-only or failing mount, or one without safe renames."""

    code = "not_writable"


class NoSpace(FilesError):
    """The disk is full, a quota of the system is reached, or the file system takes no file of that size."""

    code = "no_space"
    retryable = True


_GONE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
_DENIED = {errno.EACCES, errno.EPERM}


def read_error(error: OSError, path: str) -> FilesError:
    """Put an OSError from opening or reading `path` into this tree. The system's own message stays out of it."""
    if error.errno in _GONE:
        return FileGone(path)
    if error.errno == errno.ENAMETOOLONG:
        return InvalidPath(path, "name too long")
    return Unreadable(path, error_name(error), denied=error.errno in _DENIED)


def write_error(error: OSError, path: str) -> FilesError:
    """Put an OSError from creating or writing a file into this tree."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return NoSpace(path)
    known = read_error(error, path)
    return NotWritable(path, error_name(error)) if isinstance(known, Unreadable) else known


def error_name(error: OSError) -> str:
    """The symbol of the error number (`EIO`), which names no path."""
    return errno.errorcode.get(error.errno or 0, "unknown")
