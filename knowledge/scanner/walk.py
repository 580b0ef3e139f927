"""One look at a source: which files are there to index, what is left out and why, what could not be read.

Links are never followed, so no walk can leave the root or run in circles. A hard-linked file is found at each of its
paths: they are different paths. No more descriptors are open than the tree is deep.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field

from knowledge.scanner.fingerprint import Fingerprint
from knowledge.scanner.globs import Glob, fold
from knowledge.scanner.ignore import OCR_SUFFIX, SkipReason, ignore_reason, is_note_sidecar
from knowledge.scanner.result import FoundFile, RootState, ScanResult, ScanRules, Skipped, Unread, UnreadCause
from mnote.files.errors import FileGone, FilesError, NotAFolder, RootGone, Unreadable
from mnote.files.names import name_to_text
from mnote.files.opening import EntryKind, OpenedFile, list_folder, open_folder, open_subfolder, stat_below
from mnote.files.roots import RootIdentity

Listing = Callable[[int], AbstractContextManager[Iterator[os.DirEntry[str]]]]

# What lies in a folder that a person would call empty.
_UNNOTICED = {SkipReason.SYSTEM, SkipReason.HIDDEN, SkipReason.TEMPORARY}


def scan(root: bytes, rules: ScanRules, *, listing: Listing = os.scandir) -> ScanResult:
    """Look at `rules.path` below `root` (absolute bytes). Failures are part of the result, never raised.

    `listing` reads an open folder as `os.scandir` does.

    Raises:
        InvalidPath: `rules.path` is no path.
    """
    started = time.time_ns()
    walk = _Walk(rules=rules, listing=listing)
    try:
        facts = stat_below(root, "")
        state = walk.run(root)
    except (RootGone, Unreadable):
        return ScanResult(path=rules.path, root_state=RootState.GONE, root=None, started_at_ns=started)
    return ScanResult(
        path=rules.path,
        root_state=state,
        root=RootIdentity(device=facts.device, inode=facts.inode),
        started_at_ns=started,
        files=tuple(sorted(walk.files, key=lambda file: file.path)),
        skipped=tuple(sorted(walk.skipped, key=lambda entry: entry.path)),
        folders=tuple(sorted(walk.folders)),
        errors=tuple(sorted(walk.errors, key=lambda error: error.path)),
    )


@dataclass(slots=True, kw_only=True)
class _Folder:
    """A folder on the way down. `names` are its folded names from the source on, as patterns see them."""

    opened: OpenedFile
    names: tuple[str, ...]
    is_included: bool
    pending: list[_Subfolder] = field(default_factory=list)

    @property
    def identity(self) -> tuple[int, int]:
        return self.opened.facts.device, self.opened.facts.inode


@dataclass(slots=True, kw_only=True)
class _Subfolder:
    name: bytes
    path: str
    names: tuple[str, ...]
    is_included: bool


@dataclass(slots=True, kw_only=True)
class _Walk:
    rules: ScanRules
    listing: Listing
    files: list[FoundFile] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    errors: list[Unread] = field(default_factory=list)

    def run(self, root: bytes) -> RootState:
        """Look at the source, be it a folder, a file, or nothing (any more)."""
        path = self.rules.path
        reason = _reason_of_source(root, path)
        if reason:
            self._skip(path, reason, is_folder=True)
            return RootState.OK
        try:
            return self._run_there(root, path)
        except (FileGone, NotAFolder):
            return _state_without_source(root, path)
        except Unreadable as error:
            self._fail(path, UnreadCause.DENIED if error.denied else UnreadCause.FAILED)
            return RootState.PARTIAL

    def _run_there(self, root: bytes, path: str) -> RootState:
        facts = stat_below(root, path)
        if facts.kind is EntryKind.FOLDER:
            self._walk(open_folder(root, path))
            return self._state()
        with open_folder(root, path.rpartition("/")[0]) as parent:
            self._take_single(parent, path)
        return RootState.PARTIAL if self.errors else RootState.OK

    def _take_single(self, parent: OpenedFile, path: str) -> None:
        folder = _Folder(opened=parent, names=(), is_included=not self.rules.include)
        entries = [(entry, name) for entry, name in self._list(folder) if name == path.rpartition("/")[2]]
        self._take(folder, entries, siblings=set())

    def _state(self) -> RootState:
        if self.errors:
            return RootState.PARTIAL
        seen = self.files or self.folders or any(entry.reason not in _UNNOTICED for entry in self.skipped)
        return RootState.OK if seen else RootState.EMPTY

    def _walk(self, start: OpenedFile) -> None:
        stack = [_Folder(opened=start, names=(), is_included=not self.rules.include)]
        try:
            self._read(stack[0])
            while stack:
                if not stack[-1].pending:
                    stack.pop().opened.close()
                elif len(self.files) >= self.rules.max_files:
                    self._fail(self.rules.path, UnreadCause.TOO_MANY)
                    return
                else:
                    self._descend(stack, stack[-1].pending.pop())
        finally:
            for folder in stack:
                folder.opened.close()

    def _descend(self, stack: list[_Folder], child: _Subfolder) -> None:
        try:
            opened = open_subfolder(stack[-1].opened, child.name, child.path)
        except Unreadable as error:
            self._fail(child.path, UnreadCause.DENIED if error.denied else UnreadCause.FAILED)
            self._skip(child.path, SkipReason.UNREADABLE, is_folder=True)
            return
        except (FileGone, NotAFolder):
            # Moved or swapped since it was listed: its files may now be where we have looked already.
            self._fail(child.path, UnreadCause.VANISHED)
            return
        folder = _Folder(opened=opened, names=child.names, is_included=child.is_included)
        if any(folder.identity == above.identity for above in stack):
            opened.close()
            self._skip(child.path, SkipReason.LOOP, is_folder=True)
            return
        stack.append(folder)
        self.folders.append(child.path)
        self._read(folder)

    def _read(self, folder: _Folder) -> None:
        """Take what lies in a folder: files at once, folders for later."""
        entries = self._list(folder)
        self._take(folder, entries, siblings={name for _, name in entries})

    def _take(self, folder: _Folder, entries: list[tuple[os.DirEntry[str], str]], *, siblings: set[str]) -> None:
        base = folder.opened.path
        for entry, name in entries:
            path = f"{base}/{name}" if base else name
            try:
                if entry.is_dir(follow_symlinks=False):
                    self._take_folder(folder, entry, name, path, siblings)
                else:
                    self._take_entry(folder, entry, name, path)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._fail(path, UnreadCause.DENIED if isinstance(error, PermissionError) else UnreadCause.FAILED)
                self._skip(path, SkipReason.UNREADABLE)

    def _list(self, folder: _Folder) -> list[tuple[os.DirEntry[str], str]]:
        """List a folder; what came before an error is kept, and the error remembered."""
        found: list[tuple[os.DirEntry[str], str]] = []
        try:
            with self.listing(folder.opened.fd) as entries:
                for entry in entries:
                    found.append((entry, name_to_text(os.fsencode(entry.name))))  # noqa: PERF401 kept on error
        except OSError:
            self._fail(folder.opened.path, UnreadCause.FAILED)
        return found

    def _take_folder(self, folder: _Folder, entry: os.DirEntry[str], name: str, path: str, siblings: set[str]) -> None:
        names = (*folder.names, fold(name))
        reason = ignore_reason(name, is_folder=True)
        if not reason and is_note_sidecar(name, siblings):
            reason = SkipReason.SIDECAR
        reason = reason or self._reason_by_place(names)
        if reason:
            self._skip(path, reason, is_folder=True)
            return
        is_included = folder.is_included or _matches_any(self.rules.include, names, is_folder=True)
        folder.pending.append(_Subfolder(name=os.fsencode(entry.name), path=path, names=names, is_included=is_included))

    def _reason_by_place(self, names: tuple[str, ...]) -> SkipReason | None:
        if _matches_any(self.rules.exclude, names, is_folder=True):
            return SkipReason.EXCLUDED
        if not self.rules.recursive:
            return SkipReason.NOT_INCLUDED
        return SkipReason.TOO_DEEP if len(names) > self.rules.max_depth else None

    def _take_entry(self, folder: _Folder, entry: os.DirEntry[str], name: str, path: str) -> None:
        found = entry.stat(follow_symlinks=False)
        reason = self._reason_of_file(folder, found, name)
        if reason:
            self._skip(path, reason, size=found.st_size, mtime_ns=found.st_mtime_ns)
        else:
            self.files.append(FoundFile(path=path, fingerprint=Fingerprint.of(found)))

    def _reason_of_file(self, folder: _Folder, found: os.stat_result, name: str) -> SkipReason | None:
        reason = ignore_reason(name, is_folder=False) or _reason_of_kind(found.st_mode)
        if reason:
            return reason
        names = (*folder.names, fold(name))
        if _matches_any(self.rules.exclude, names, is_folder=False):
            return SkipReason.EXCLUDED
        if not (folder.is_included or _matches_any(self.rules.include, names, is_folder=False)):
            return SkipReason.NOT_INCLUDED
        if not self.rules.takes(name):
            return SkipReason.UNSUPPORTED_TYPE
        if found.st_size > self.rules.max_bytes:
            return SkipReason.TOO_LARGE
        return None if found.st_size else SkipReason.EMPTY

    def _skip(
        self, path: str, reason: SkipReason, *, is_folder: bool = False, size: int = 0, mtime_ns: int = 0
    ) -> None:
        self.skipped.append(Skipped(path=path, reason=reason, is_folder=is_folder, size=size, mtime_ns=mtime_ns))

    def _fail(self, path: str, cause: UnreadCause) -> None:
        self.errors.append(Unread(path=path, cause=cause))


def _matches_any(globs: Sequence[Glob], names: tuple[str, ...], *, is_folder: bool) -> bool:
    return any(glob.matches(names, is_folder=is_folder) for glob in globs)


def _reason_of_kind(mode: int) -> SkipReason | None:
    if stat.S_ISREG(mode):
        return None
    return SkipReason.LINK if stat.S_ISLNK(mode) else SkipReason.SPECIAL


def _reason_of_source(root: bytes, path: str) -> SkipReason | None:
    """Say why a source may never be indexed because of where it lies. Hidden folders may: somebody chose this one."""
    names = path.split("/") if path else []
    for depth, name in enumerate(names):
        reason = ignore_reason(name, is_folder=True)
        if reason and reason is not SkipReason.HIDDEN:
            return reason
        if name.endswith(OCR_SUFFIX) and is_note_sidecar(name, _names_in(root, "/".join(names[:depth]))):
            return SkipReason.SIDECAR
    return None


def _names_in(root: bytes, path: str) -> set[str]:
    with suppress(FilesError):
        return {entry.name for entry in list_folder(root, path)}
    return set()


def _state_without_source(root: bytes, path: str) -> RootState:
    """Tell a deleted source from a root that is not mounted: there, even the folders above are bare."""
    above = path
    while above:
        above = above.rpartition("/")[0]
        with suppress(FileGone, NotAFolder):
            names = [entry.name for entry in list_folder(root, above)]
            noticed = [name for name in names if ignore_reason(name, is_folder=False) not in _UNNOTICED]
            return RootState.OK if noticed else RootState.EMPTY
    return RootState.EMPTY
