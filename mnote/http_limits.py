"""How long a call to another service may take and how much it may answer, and the errors of what exceeds it."""

from __future__ import annotations

import email.utils
import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime

_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 20.0


class DoorError(Exception):
    """A call that gave no usable answer. Messages name the role of the service, never its address."""

    retryable = False


class Unreachable(DoorError):
    """No connection, or it broke."""

    retryable = True


class TimedOut(DoorError):
    """A time limit passed."""

    retryable = True


class AnswerTooLarge(DoorError):
    """More bytes than allowed."""


class TooManyRedirects(DoorError):
    """The address leads on and on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds to connect, between two bytes, and for the whole call with its repeats."""

    connect: float
    read: float
    total: float

    def within(self, seconds: float) -> Timeouts:
        """Return the same, none longer than `seconds`."""
        return Timeouts(
            connect=min(self.connect, seconds), read=min(self.read, seconds), total=min(self.total, seconds)
        )


class Limits:
    """What is left of a call's time, and how large its answer may be."""

    def __init__(self, timeouts: Timeouts, max_bytes: int) -> None:
        self.timeouts = timeouts
        self.max_bytes = max_bytes
        self._ends = time.monotonic() + timeouts.total
        self._pauses = 0

    @property
    def left(self) -> float:
        """Seconds."""
        return self._ends - time.monotonic()

    def for_one_try(self, role: str) -> tuple[float, float]:
        """Return the seconds to connect and between two bytes. Raises TimedOut when none are left."""
        left = self.left
        if left <= 0:
            raise TimedOut(f"{role}: no time left")
        return min(self.timeouts.connect, left), min(self.timeouts.read, left)

    def pause(self, retry_after: str | None) -> bool:
        """Wait before the next try; False when there is no time for it."""
        wanted = _seconds(retry_after)
        if wanted is None:
            wanted = random.uniform(0, _PAUSE_SECONDS * 2**self._pauses)  # noqa: S311 jitter
        self._pauses += 1
        if wanted > _LONGEST_PAUSE_SECONDS or wanted >= self.left:
            return False
        time.sleep(wanted)
        return True


def _seconds(retry_after: str | None) -> float | None:
    """Return what a Retry-After header asks for; None when it asks for nothing that can be read."""
    if not retry_after:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        when = email.utils.parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
