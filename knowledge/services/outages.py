"""What is out of order for all documents at once: no document is to blame, and none uses up an attempt.

A provider outside that does not work is written down, see `provider_outages`: all work for it waits, with one reason
and since when, and one document at a time asks whether it works again.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from knowledge.providers.base import (
    CheckResult,
    KBRef,
    KnowledgeProvider,
    ProviderBusy,
    ProviderDeleting,
    ProviderError,
    ProviderMisconfigured,
    ProviderProtocolError,
    ProviderTimeout,
    ProviderUnavailable,
)

log = logging.getLogger(__name__)

#: How long documents wait for their folder, their provider or a disk before they are tried again.
ROOT_PAUSE_SECONDS = 10.0
PAUSE_SECONDS = 10.0
#: A damaged index was set aside when it was met: the next call finds a new one.
_MENDED = frozenset({"index-damaged"})
#: These hold for whatever is sent.
_FOR_ALL = frozenset({"provider-quota"})
#: A model that fails for one document may fail for all, or not like this text.
_OF_MODELS = frozenset({"provider-embedder", "provider-model-missing"})
_OF_ONE = {"provider-embedder": "provider-embedder-refused"}
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Outage(Exception):
    """Nothing can be indexed now. `code` is the reason that the waiting documents get; after `seconds` they are tried
    again, at once where what was wrong has been put right. `asked_to_wait`: the provider named the time itself."""

    def __init__(self, code: str, *, seconds: float = PAUSE_SECONDS, asked_to_wait: bool = False) -> None:
        super().__init__(code)
        self.code, self.seconds, self.asked_to_wait = code, seconds, asked_to_wait

    @property
    def is_turn(self) -> bool:
        """Whether nothing is wrong, and it is only somebody else's turn."""
        return self.code == ProviderBusy.code


@contextmanager
def outages() -> Iterator[None]:
    """Raise Outage for a provider or disk that does not work; other errors pass."""
    try:
        yield
    except ProviderError as error:
        if not is_outage(error):
            raise
        if not isinstance(error, ProviderBusy):
            log.warning("the provider does not work", extra={"code": error.code})
        raise Outage(error.code, seconds=_pause_after(error), asked_to_wait=error.retry_after is not None) from error
    except OSError as error:
        log.warning("the data folder does not take what was made", extra={"errno": error.errno})
        raise Outage("disk_full" if error.errno in _FULL else "disk_error") from error


def is_outage(error: ProviderError) -> bool:
    """Say whether an error is about the provider and not about what it was given."""
    return isinstance(error, ProviderUnavailable | ProviderMisconfigured | ProviderProtocolError)


def concerns_all(provider: KnowledgeProvider, kb: KBRef, error: ProviderError) -> bool:
    """Say whether an error that came with one document holds for all. A connection that breaks, or an answer that
    never comes, can be the fault of either: a provider that answers otherwise does not like the document."""
    if isinstance(error, ProviderDeleting) or not is_outage(error):
        return False
    if isinstance(error, ProviderMisconfigured | ProviderBusy) or error.code in _FOR_ALL:
        return True
    if not provider.capabilities.needs_polling:
        return not isinstance(error, ProviderTimeout)
    return error.retry_after is not None or not works(provider, kb, error.code)


def works(provider: KnowledgeProvider, kb: KBRef, code: str) -> bool:
    """Ask a provider whether what failed with `code` works in general. Never raises."""
    if code not in _OF_MODELS:
        return provider.status().reachable
    return not any(check.result is CheckResult.FAILED for check in provider.check(kb))


def is_of_models(code: str | None) -> bool:
    """Say whether a code is about a model behind the provider."""
    return code in _OF_MODELS


def of_one(code: str) -> str:
    """Return the code for a document at which something failed that works for others."""
    return _OF_ONE.get(code, code)


def _pause_after(error: ProviderError) -> float:
    if error.retry_after is not None:
        return error.retry_after
    return 0.0 if error.code in _MENDED else PAUSE_SECONDS
