"""What can be wrong with the index, as provider errors. Messages hold no path."""

from __future__ import annotations

from knowledge.providers.base import ProviderMisconfigured, ProviderUnavailable


class IndexBusy(ProviderUnavailable):
    """Other writers held the index longer than we wait."""

    code = "index-busy"


class IndexFull(ProviderUnavailable):
    """The disk or quota that holds the index is full."""

    code = "index-disk-full"


class IndexUnreadable(ProviderUnavailable):
    """The disk failed to read or write."""

    code = "index-disk-error"


class IndexDamaged(ProviderUnavailable):
    """The index file was damaged; it was set aside, and an empty one waits to be filled again."""

    code = "index-damaged"


class IndexNotWritable(ProviderMisconfigured):
    """The index folder or a file in it cannot be opened for writing."""

    code = "index-not-writable"
