"""Ringing: tell a worker that a job row waits. A broken bell loses nothing, the sweep finds the row."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from kombu.exceptions import KombuError

from mnote.celery import app

logger = logging.getLogger(__name__)

_SILENCE_SECONDS = 5.0


@dataclass(slots=True)
class _Bell:
    """Remembers a failure for a moment: a request that enqueues 1,000 jobs must not wait 1,000 times for a dead broker.

    Threads share it without a lock: the worst a race can do is one ring more.
    """

    silent_until: float = 0.0

    def ring(self, job_id: str, queue: str) -> bool:
        if time.monotonic() < self.silent_until:
            return False
        try:
            app.send_task("mnote.run_job", args=(job_id,), queue=queue, retry=False, ignore_result=True)
        except (KombuError, OSError) as error:
            self.silent_until = time.monotonic() + _SILENCE_SECONDS
            logger.warning("the broker cannot be reached, the sweep will send the job", extra=_facts(job_id, error))
            return False
        return True


def _facts(job_id: str, error: Exception) -> dict[str, str]:
    return {"job_id": job_id, "error": type(error).__name__}


_bell = _Bell()


def ring(job_id: str, queue: str) -> bool:
    """Send the job's id to the workers of `queue`. Return whether the broker took it; never raises for a broken one."""
    return _bell.ring(job_id, queue)


def is_reachable() -> bool:
    """Say whether the broker answers within a few seconds."""
    try:
        with app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=3)
    except (KombuError, OSError) as error:
        logger.warning("the broker does not answer", extra={"error": type(error).__name__})
        return False
    return True
