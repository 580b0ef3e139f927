"""A source of hints that something changed below a root, so that a scan need not wait for its turn.

Only hints: events get lost, shares send none, and the system's watches run out. The periodic scan is the truth. Each
folder is watched by itself, because a recursive watch would follow links out of the root.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from watchfiles import Change, watch
from watchfiles._rust_notify import WatchfilesRustInternalError

from knowledge.scanner.ignore import ignore_reason
from knowledge.scanner.result import RootState, ScanRules
from knowledge.scanner.walk import scan
from mnote.files.errors import FilesError
from mnote.files.names import path_to_bytes
from mnote.files.opening import stat_below
from mnote.files.roots import RootIdentity

_TICK_MS = 1000
_GROUP_MS = 500
_NO_WATCH_SECONDS = 60.0

Hint = tuple[bytes, str]
FileChange = tuple[Change, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watched:
    """What is watched: the hint of each folder by its path as the watcher spells it, and which roots were there."""

    folders: Mapping[str, Hint]
    identities: Mapping[bytes, RootIdentity | None]


def watch_roots(
    roots: Sequence[bytes],
    stop_event: Event,
    *,
    retry_seconds: float = _NO_WATCH_SECONDS,
    watcher: Callable[..., Iterable[set[FileChange]]] = watch,
) -> Iterator[set[Hint]]:
    """Yield sets of (root, relative folder) in which something may have changed, until `stop_event` is set.

    `roots` are absolute and resolved. A root that is not there is taken up when it appears; where the system refuses
    to watch, nothing comes and it is asked again after `retry_seconds`. A name that is not UTF-8 gives a hint for
    every root. `watcher` is called as `watchfiles.watch`.
    """
    watched = _look(roots)
    late: set[Hint] = set()
    while not stop_event.is_set():
        try:
            for hints, is_stale in _watch(watched, stop_event, watcher):
                if hints | late:
                    yield hints | late
                # Files may have come before the next watch does: the same hints once more then.
                late = hints if is_stale else set()
                if is_stale:
                    break
        except WatchfilesRustInternalError:
            late = {(root, "") for root, identity in watched.identities.items() if identity}
            yield late
            stop_event.wait(_TICK_MS / 1000)
        except OSError:
            stop_event.wait(retry_seconds)
        before, watched = watched, _look(roots)
        late = late | _appeared(before, watched)


def _look(roots: Sequence[bytes]) -> _Watched:
    folders: dict[str, Hint] = {}
    for root in roots:
        found = scan(root, ScanRules(takes=lambda _name: False))
        if found.root_state is RootState.GONE:
            continue
        for folder in ("", *found.folders):
            path = os.fsdecode(os.path.join(root, path_to_bytes(folder)) if folder else root)  # noqa: PTH118 bytes
            if _is_utf8(path):
                folders[path] = (root, folder)
    return _Watched(folders=folders, identities=_identities(roots))


def _watch(
    watched: _Watched, stop_event: Event, watcher: Callable[..., Iterable[set[FileChange]]]
) -> Iterator[tuple[set[Hint], bool]]:
    """Yield hints, with whether the folders themselves are no longer those that are watched."""
    if not watched.folders:
        stop_event.wait(_TICK_MS / 1000)
        yield set(), True
        return
    for changes in watcher(
        *watched.folders,
        watch_filter=_is_of_interest,
        debounce=_GROUP_MS,
        stop_event=stop_event,
        rust_timeout=_TICK_MS,
        yield_on_timeout=True,
        raise_interrupt=False,
        recursive=False,
        ignore_permission_denied=True,
    ):
        hints = {watched.folders[folder] for _, path in changes if (folder := _folder_of(path, watched))}
        yield hints, _is_stale(watched, changes)


def _is_stale(watched: _Watched, changes: set[FileChange]) -> bool:
    """Say whether folders or roots came or went, so that others are to be watched now."""
    if any(path in watched.folders or (change is Change.added and Path(path).is_dir()) for change, path in changes):
        return True
    return _identities(list(watched.identities)) != watched.identities


def _appeared(before: _Watched, now: _Watched) -> set[Hint]:
    return {(root, "") for root, identity in now.identities.items() if identity and before.identities[root] != identity}


def _identities(roots: Sequence[bytes]) -> dict[bytes, RootIdentity | None]:
    return {root: _identity(root) for root in roots}


def _identity(root: bytes) -> RootIdentity | None:
    try:
        facts = stat_below(root, "")
    except FilesError:
        return None
    return RootIdentity(device=facts.device, inode=facts.inode)


def _folder_of(path: str, watched: _Watched) -> str | None:
    """Give the watched folder that an event is about; an event on a root itself is about the root."""
    above = str(Path(path).parent)
    return above if above in watched.folders else path if path in watched.folders else None


def _is_of_interest(_change: Change, path: str) -> bool:
    return ignore_reason(Path(path).name, is_folder=False) is None


def _is_utf8(path: str) -> bool:
    return path.isascii() or not any("\ud800" <= character <= "\udfff" for character in path)
