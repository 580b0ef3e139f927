"""Hints from the file system turned into looks at the sources concerned. The periodic look stays the truth."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterable

from django.db import close_old_connections

from knowledge.models import Source, SyncMode
from knowledge.scanner.watch import Hint, watch_roots
from knowledge.services import sources
from mnote.files.prefixes import is_below
from mnote.services import files

#: How often new and removed roots are noticed.
_ROOTS_SECONDS = 20.0


def watch(stop: threading.Event) -> None:
    """Ask for a look at each source in whose folders something happens, until `stop` is set."""
    while not stop.is_set():
        watched = _watched()
        if not watched:
            stop.wait(_ROOTS_SECONDS)
            continue
        turn = threading.Event()
        threading.Thread(target=_end_turn, args=(turn, stop, set(watched)), daemon=True).start()
        for hints in watch_roots(sorted(watched), turn):
            request_for(hints)
            close_old_connections()


def request_for(hints: Iterable[Hint]) -> int:
    """Ask for a look at every source that a hint may concern; returns how many."""
    watched = _watched()
    concerned = {
        source.id: source
        for root, folder in hints
        for source in watched.get(root, ())
        if is_below(source.path, folder) or is_below(folder, source.path)
    }
    for source in concerned.values():
        sources.request_sync(source=source, trigger="change")
    return len(concerned)


def _watched() -> dict[bytes, list[Source]]:
    """Return the sources to watch, by the absolute path of their root."""
    by_root: dict[bytes, list[Source]] = defaultdict(list)
    live = Source.objects.filter(
        sync_mode=SyncMode.ON_CHANGE, frozen_at__isnull=True, kb__archived_at__isnull=True, kb__paused_at__isnull=True
    )
    for source in live.select_related("root", "kb__workspace"):
        by_root[files.path_of_root(source.root)].append(source)
    return by_root


def _end_turn(turn: threading.Event, stop: threading.Event, roots: set[bytes]) -> None:
    """End one turn of watching when we are told to stop or the roots are others."""
    looked = time.monotonic()
    while not stop.wait(1.0):
        if time.monotonic() - looked < _ROOTS_SECONDS:
            continue
        looked = time.monotonic()
        is_other = set(_watched()) != roots
        close_old_connections()
        if is_other:
            break
    turn.set()
