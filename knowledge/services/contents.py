"""Which content a file holds, without reading it anew for every picture of a page."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

from knowledge.scanner.fingerprint import sha256_of
from mnote.files.opening import OpenedFile
from mnote.models import Root

_KEPT = 2_000
#: A file that was written this short a time ago may be written again within the grain of the clock.
_SETTLED_NS = 2_000_000_000
_Key = tuple[int, str, int, int, int, int, int]

_known: OrderedDict[_Key, str] = OrderedDict()
_lock = threading.Lock()


def hash_of(*, root: Root, opened: OpenedFile) -> str:
    """Return "sha256:<hex>" of an open file. Kept while size, times, inode and device stay: the time of the last change
    of state cannot be set back by hand.

    Raises:
        ChangedWhileReading.
    """
    facts = opened.facts
    key = (root.pk, opened.path, facts.size, facts.mtime_ns, facts.ctime_ns, facts.inode, facts.device)
    with _lock:
        if key in _known:
            _known.move_to_end(key)
            return _known[key]
    found = f"sha256:{sha256_of(opened.fd)}"
    if time.time_ns() - facts.ctime_ns < _SETTLED_NS:
        return found
    with _lock:
        _known[key] = found
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    return found
