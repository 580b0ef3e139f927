"""The resolver: the one way from (principal, root, path) to an open local file.

Rights are asked before the disk is touched, so what may not be seen and what is not there look the same. Errors carry
no absolute path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.utils.translation import gettext_lazy as _

from mnote.exceptions import AppError, Gone, NotFound, ServiceUnavailable
from mnote.files import opening
from mnote.files.errors import FileGone, FilesError, NotAFile, NotAFolder, RootGone, Unreadable
from mnote.files.names import path_to_bytes, path_to_text
from mnote.files.opening import Entry, EntryKind, FileFacts, OpenedFile
from mnote.models import Root
from mnote.principals import Principal
from mnote.selectors.access import AccessMap, access_map


class RootUnavailable(ServiceUnavailable):
    """The root folder cannot be opened now: not mounted, renamed, or closed to the server."""

    code = "root-unavailable"
    title = _("This folder cannot be reached right now")


class FileUnreadable(ServiceUnavailable):
    """The file is there, but the system refuses to read it."""

    code = "file-unreadable"
    title = _("This file cannot be read right now")


def open_file(*, principal: Principal, root: Root, path: str) -> OpenedFile:
    """Open a readable regular file below a root; close it after use.

    Raises:
        NotFound: not readable for the principal, or no path of a regular file.
        Gone: it may be read, but is not there.
        RootUnavailable, FileUnreadable.
    """
    if not access_map(principal, root).may_read(path):
        raise NotFound
    with _public_errors():
        return open_for_indexing(root=root, path=path)


def open_for_indexing(*, root: Root, path: str) -> OpenedFile:
    """Open a regular file for a job, which acts for no person: what it finds is filtered by reader later.

    Raises:
        FilesError: with the code that becomes the document's reason.
    """
    return opening.open_below(path_of_root(root), path)


def list_folder(*, principal: Principal, root: Root, path: str) -> list[Entry]:
    """List what the principal may see in a folder: readable names, and folders that lead to readable ones.

    Raises:
        NotFound: nothing in it may be seen, or no path of a folder.
        Gone, RootUnavailable, FileUnreadable.
    """
    access = access_map(principal, root)
    if not access.may_enter(path):
        raise NotFound
    with _public_errors():
        entries = opening.list_folder(path_of_root(root), path)
    folder = f"{path}/" if path else ""
    return [entry for entry in entries if _is_visible(access, f"{folder}{entry.name}", entry.kind)]


def stat(*, principal: Principal, root: Root, path: str) -> FileFacts:
    """Say what is at a path that the principal may see, without following a link.

    Raises:
        NotFound, Gone, RootUnavailable, FileUnreadable.
    """
    access = access_map(principal, root)
    if not access.may_enter(path):
        raise NotFound
    with _public_errors():
        facts = opening.stat_below(path_of_root(root), path)
    if not _is_visible(access, path, facts.kind):
        raise NotFound
    return facts


def existing(*, principal: Principal, root: Root, paths: Iterable[str]) -> set[str]:
    """Say which of the paths are regular files that the principal may read; one look-up of rights for all of them.

    Raises:
        RootUnavailable.
    """
    access = access_map(principal, root)
    with _public_errors():
        return {path for path in paths if access.may_read(path) and _is_file(path_of_root(root), path)}


def path_of_root(root: Root) -> bytes:
    """Give the absolute path of a root. It must not leave the server."""
    return b"/" + path_to_bytes(root.path.removeprefix("/"))


def path_text(path: bytes) -> str:
    """Give the text form of an absolute path, as kept in `Root.path`."""
    return "/" + path_to_text(path.removeprefix(b"/"))


def _is_file(root: bytes, path: str) -> bool:
    try:
        return opening.stat_below(root, path).kind is EntryKind.FILE
    except RootGone:
        raise
    except FilesError:
        return False


def _is_visible(access: AccessMap, path: str, kind: EntryKind) -> bool:
    return access.may_enter(path) if kind is EntryKind.FOLDER else access.may_read(path)


@contextmanager
def _public_errors() -> Iterator[None]:
    try:
        yield
    except FilesError as error:
        raise _public(error) from error


def _public(error: FilesError) -> AppError:
    match error:
        case RootGone():
            return RootUnavailable()
        case Unreadable():
            return FileUnreadable()
        case FileGone():
            return Gone(_("This file is no longer there"))
        case NotAFile() | NotAFolder():
            return NotFound()
    return NotFound()
