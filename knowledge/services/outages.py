"""What is out of order for all documents at once: no document is to blame, and none uses up an attempt."""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from knowledge.providers.base import ProviderError, ProviderMisconfigured, ProviderTimeout, ProviderUnavailable

log = logging.getLogger(__name__)

#: How long documents wait for their folder, their provider or a disk before they are tried again.
ROOT_PAUSE_SECONDS = 10.0
PAUSE_SECONDS = 10.0
#: A damaged index was set aside when it was met: the next call finds a new one.
_MENDED = frozenset({"index-damaged"})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Outage(Exception):
    """Nothing can be indexed now. `code` is the reason that the waiting documents get; after `seconds` they are tried
    again, at once where what was wrong has been put right."""

    def __init__(self, code: str, *, seconds: float = PAUSE_SECONDS) -> None:
        super().__init__(code)
        self.code, self.seconds = code, seconds


@contextmanager
def outages() -> Iterator[None]:
    """Raise Outage for a provider or disk that does not work; other errors pass."""
    try:
        yield
    except ProviderError as error:
        if not is_outage(error):
            raise
        log.warning("the provider does not work", extra={"code": error.code})
        raise Outage(error.code, seconds=_pause_after(error)) from error
    except OSError as error:
        log.warning("the data folder does not take what was made", extra={"errno": error.errno})
        raise Outage("disk_full" if error.errno in _FULL else "disk_error") from error


def _pause_after(error: ProviderError) -> float:
    if error.retry_after is not None:
        return error.retry_after
    return 0.0 if error.code in _MENDED else PAUSE_SECONDS


def is_outage(error: ProviderError) -> bool:
    """Say whether an error is about the provider and not about what it was given; a timeout can be either."""
    unavailable = isinstance(error, ProviderUnavailable) and not isinstance(error, ProviderTimeout)
    return unavailable or isinstance(error, ProviderMisconfigured)
