"""One call to the server: through the door, in its shapes, within the limits that all workers share."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from knowledge.providers.base import (
    ProviderBusy,
    ProviderError,
    ProviderProtocolError,
    ProviderTimeout,
    ProviderUnavailable,
)
from knowledge.providers.weknora.config import WeKnoraConfig
from knowledge.providers.weknora.errors import ServerError, error_of, problem_of
from knowledge.providers.weknora.limiter import Limiter
from mnote.http import Answer, build_client
from mnote.http_limits import AnswerTooLarge, TimedOut, Timeouts, Unreachable

STATUS = Timeouts(connect=5, read=10, total=20)
READ = Timeouts(connect=5, read=60, total=90)
SEARCH = Timeouts(connect=5, read=30, total=45)
UPLOAD = Timeouts(connect=5, read=300, total=600)

_MAX_BYTES = 64 * 1024 * 1024
#: How often a repeatable call is asked again when the connection breaks or the server fails without a reason.
_MORE_TRIES = 2
_PASSING = (ProviderUnavailable, ServerError)
_REST_AFTER_429 = 5.0
_LONGEST_REST = 600.0
_SLOT_SECONDS = 30.0


class Transport:
    """Calls one server with one key. Safe to use from several threads."""

    def __init__(self, config: WeKnoraConfig, limiter: Limiter) -> None:
        self._server = config.server
        self._limiter = limiter
        self._slots = threading.BoundedSemaphore(config.calls_at_once)
        self._clock_skew = 0.0
        headers = {"X-API-Key": config.key, "Accept-Language": config.language, "X-Tenant-ID": config.tenant_id}
        self._client = build_client(
            config.base_url,
            role="weknora",
            timeouts=READ,
            headers=headers,
            max_bytes=_MAX_BYTES,
            tries=1,
            verify=config.verify,
        )

    @property
    def now(self) -> datetime:
        """The time as the server tells it, for its own times."""
        return datetime.fromtimestamp(time.time() + self._clock_skew, tz=UTC)

    def call(
        self,
        method: str,
        path: str,
        *,
        timeouts: Timeouts = READ,
        repeat: bool | None = None,
        ends: float | None = None,
        **parts: Any,
    ) -> Any:
        """Make one call and return the decoded body; `parts` as of the door. Raises ProviderError and nothing else.

        `repeat` says that the call does no harm twice; None decides by the method. `ends` (monotonic seconds) bounds
        all tries together. A server that names a time to come back is not waited for here: its error says when.
        """
        may_repeat = method in ("GET", "PUT", "DELETE") if repeat is None else repeat
        for tries_left in range(_MORE_TRIES if may_repeat else 0, -1, -1):
            try:
                return self._once(method, path, timeouts=_left(timeouts, ends), **parts)
            except ProviderUnavailable as error:
                if not tries_left or type(error) not in _PASSING or error.retry_after is not None:
                    raise
                time.sleep(random.uniform(0.05, 0.3))  # noqa: S311 jitter
        raise AssertionError("unreachable")

    def _once(self, method: str, path: str, *, timeouts: Timeouts, **parts: Any) -> Any:
        self._mind_rest()
        with self._slot(min(_SLOT_SECONDS, timeouts.total)):
            answer = self._ask(method, path, timeouts=timeouts, **parts)
        self._mind_clock(answer)
        if not answer.is_ok:
            raise self._failure(answer)
        return _body(answer)

    def _ask(self, method: str, path: str, **parts: Any) -> Answer:
        try:
            return self._client.request(method, path, **parts)
        except TimedOut:
            raise ProviderTimeout("the server answers too slowly") from None
        except Unreachable:
            raise ProviderUnavailable("the server cannot be reached, or broke off") from None
        except AnswerTooLarge:
            raise ProviderProtocolError("the server answers more than it should") from None

    def _failure(self, answer: Answer) -> ProviderError:
        wanted = _seconds(answer.headers.get("Retry-After")) if answer.status in (429, 503) else None
        if answer.status == 429 and wanted is None:
            wanted = _REST_AFTER_429
        if wanted:
            self._limiter.rest(self._server, min(wanted, _LONGEST_REST))
        return error_of(problem_of(answer), retry_after=wanted)

    def _mind_rest(self) -> None:
        """Leave a server alone that asked one of us to."""
        left = self._limiter.resting(self._server)
        if left > 0:
            raise ProviderUnavailable("the server asked to be left alone for a while", retry_after=left)

    def _mind_clock(self, answer: Answer) -> None:
        try:
            said = parsedate_to_datetime(answer.headers.get("Date", ""))
        except (TypeError, ValueError):
            return
        self._clock_skew = said.timestamp() - time.time()

    @contextmanager
    def _slot(self, seconds: float) -> Iterator[None]:
        if not self._slots.acquire(timeout=seconds):
            raise ProviderBusy("too many calls to the server at once", retry_after=1.0)
        try:
            yield
        finally:
            self._slots.release()


def _left(timeouts: Timeouts, ends: float | None) -> Timeouts:
    """Raises ProviderTimeout when the time is over."""
    if ends is None:
        return timeouts
    left = ends - time.monotonic()
    if left <= 0:
        raise ProviderTimeout("the server did not answer in time")
    return timeouts.within(left)


def _body(answer: Answer) -> Any:
    if not answer.body:
        return None
    try:
        return answer.json()
    except (ValueError, RecursionError):
        raise ProviderProtocolError("the server answered with something that is no JSON") from None


def _seconds(retry_after: str | None) -> float | None:
    if not retry_after:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        when = parsedate_to_datetime(retry_after)
    except (TypeError, ValueError):
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
