"""Running jobs: claim the row, call its handler under a lease that is kept alive, write how it ended.

A handler gets a JobContext and returns a small JSON result. It must do no harm when run twice, re-read the world from
the ids in its payload, and call `context.beat()` often. It may raise an error with `code` and `retryable`, or Postpone.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import cache
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError

from mnote import connections, job_kinds
from mnote.job_kinds import JobKind, job
from mnote.logs import log_facts
from mnote.models import Job
from mnote.services import leases, sweeping
from mnote.services.leases import Hold

__all__ = ["JobCancelled", "JobContext", "JobKind", "Postpone", "job", "run", "stop_all", "worker_name"]

logger = logging.getLogger(__name__)

_PROGRESS_SECONDS = 1.0
_HEARTBEAT_SECONDS = 5.0


class JobCancelled(Exception):
    """The job is no longer wanted here. Handlers let it pass; they only clean up."""


class Postpone(Exception):
    """Run the job again `seconds` from now, without counting this attempt."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"again in {seconds} s")
        self.seconds = seconds


class StopReason(StrEnum):
    CANCELLED = "cancelled"
    LOST = "lost"
    DEADLINE = "deadline"
    SHUTDOWN = "shutdown"


class JobContext:
    """What a handler knows of its job, and how it says that it lives."""

    def __init__(self, claimed: Job) -> None:
        self.job = claimed
        self.stopped = threading.Event()
        self.reason: StopReason | None = None
        self.progress: dict[str, Any] = {}
        self._renewed_at = time.monotonic()

    @property
    def payload(self) -> dict[str, Any]:
        payload: dict[str, Any] = self.job.payload
        return payload

    def beat(self, **progress: Any) -> None:
        """Renew the lease and store `progress` (merged into what was said before), at most once a second.

        Raises JobCancelled when the job was cancelled, its lease was lost, its deadline passed, or the worker stops.
        """
        self.progress |= progress
        if not self.stopped.is_set() and time.monotonic() - self._renewed_at >= _PROGRESS_SECONDS:
            self.renew(self.progress)
        if self.stopped.is_set():
            raise JobCancelled(self.reason)

    def renew(self, progress: dict[str, Any] | None = None) -> None:
        self._renewed_at = time.monotonic()
        hold = leases.renew(job=self.job, progress=progress)
        if hold is not Hold.HELD:
            self.stop(StopReason(hold.value))

    def stop(self, reason: StopReason) -> None:
        """Make the next beat raise. The first reason counts."""
        if self.reason is None:
            self.reason = reason
        self.stopped.set()


class _Running:
    """The contexts at work in this process, so that a worker that must stop can tell them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._contexts: set[JobContext] = set()
        self._closed = False

    @contextmanager
    def holding(self, context: JobContext) -> Iterator[None]:
        with self._lock:
            self._contexts.add(context)
            if self._closed:
                context.stop(StopReason.SHUTDOWN)
        try:
            yield
        finally:
            with self._lock:
                self._contexts.discard(context)

    def stop_all(self) -> None:
        with self._lock:
            self._closed = True
            for context in self._contexts:
                context.stop(StopReason.SHUTDOWN)


_running = _Running()


def stop_all() -> None:
    """This worker ends: every handler is stopped at its next beat, and its job goes back to the queue at once."""
    _running.stop_all()


def worker_name() -> str:
    return f"{socket.gethostname()[:80]}:{os.getpid()}"


def run(job_id: str) -> None:
    """Claim the job and see it through. Returns quietly when it is unknown, not due, or somebody else's."""
    connections.let_go()
    try:
        queue = leases.queue_of_due(job_id)
        if queue is None:
            return
        with _room_for(queue) as is_free:
            claimed = leases.claim(job_id=job_id, worker=worker_name()) if is_free else None
            if claimed is not None:
                _see_through(claimed)
    finally:
        connections.let_go()


@contextmanager
def _room_for(queue: str) -> Iterator[bool]:
    """Leave one thread of this process to work that people wait for: bulk work may take all but one.

    A bulk job that finds no room stays queued; whichever ends next rings for it.
    """
    if queue != job_kinds.BULK:
        yield True
        return
    is_free = _bulk_room().acquire(blocking=False)
    try:
        yield is_free
    finally:
        if is_free:
            _bulk_room().release()
            sweeping.ring_next(queue)


@cache
def _bulk_room() -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(max(1, settings.MNOTE_WORKER_THREADS - 1))


def _see_through(claimed: Job) -> None:
    started = time.monotonic()
    with log_facts(job_id=claimed.pk, job_kind=claimed.kind):
        kind = job_kinds.find(claimed.kind)
        if kind is None:
            outcome = "unknown-kind"
            leases.fail(
                job=claimed, code="unknown-kind", detail=f"No installed app handles jobs of kind {claimed.kind}"
            )
        else:
            outcome = _work(kind, JobContext(claimed))
        took = round(time.monotonic() - started, 3)
        logger.info("job ended", extra={"outcome": outcome, "attempt": claimed.attempt, "seconds": took})


def _work(kind: JobKind, context: JobContext) -> str:
    """Call the handler and write its outcome; return one word for the log."""
    claimed = context.job
    try:
        with _running.holding(context), _kept_alive(context, kind.deadline_seconds):
            result = kind.handler(context)
    except JobCancelled:
        return _write_stop(context)
    except Postpone as again:
        leases.postpone(job=claimed, seconds=again.seconds)
        return "postponed"
    except (OperationalError, InterfaceError) as error:
        logger.warning("the database failed a job", extra={"error": type(error).__name__})
        connections.let_go()
        leases.fail(job=claimed, code="database-unavailable", retryable=True)
        return "database-unavailable"
    except Exception as error:  # noqa: BLE001 the edge: whatever a handler raises ends here, in the row and the log
        return _write_error(claimed, error)
    said = context.progress or None
    return "succeeded" if leases.finish(job=claimed, result=result or {}, progress=said) else "lease-lost"


def _write_stop(context: JobContext) -> str:
    reason = context.reason or StopReason.CANCELLED
    if reason is StopReason.CANCELLED:
        leases.finish_cancelled(job=context.job)
    elif reason is StopReason.SHUTDOWN:
        leases.postpone(job=context.job, seconds=0)
    return reason.value


def _write_error(claimed: Job, error: Exception) -> str:
    """A typed error says itself whether to try again; anything else is our mistake and is logged in full."""
    code = getattr(error, "code", None)
    if isinstance(code, str) and hasattr(error, "retryable"):
        detail = str(getattr(error, "detail", "") or error)
        leases.fail(
            job=claimed, code=code, detail=detail, retryable=bool(error.retryable), retry_after=_asked_to_wait(error)
        )
        return code
    logger.error("a job handler failed", exc_info=error)
    leases.fail(job=claimed, code="internal")
    return "internal"


def _asked_to_wait(error: Exception) -> float | None:
    """The seconds a provider's error carries itself, and one of ours among its extras."""
    after = getattr(error, "retry_after", None) or getattr(error, "extra", {}).get("retry_after")
    return float(after) if isinstance(after, int | float) else None


@contextmanager
def _kept_alive(context: JobContext, deadline_seconds: float) -> Iterator[None]:
    """Renew the lease from a second thread while the handler works, up to the deadline of the attempt."""
    over = threading.Event()
    heart = threading.Thread(target=_beat_until, args=(context, over, deadline_seconds), name="job-heart", daemon=True)
    heart.start()
    try:
        yield
    finally:
        over.set()
        heart.join()


def _beat_until(context: JobContext, over: threading.Event, deadline_seconds: float) -> None:
    pause = min(settings.MNOTE_JOB_LEASE_SECONDS / 3, _HEARTBEAT_SECONDS)
    ends_at = time.monotonic() + deadline_seconds
    try:
        while not over.wait(min(pause, max(0.0, ends_at - time.monotonic()))) and not context.stopped.is_set():
            _beat_once(context, is_late=time.monotonic() >= ends_at)
    finally:
        connections.let_go()


def _beat_once(context: JobContext, *, is_late: bool) -> None:
    try:
        if is_late:
            context.stop(StopReason.DEADLINE)
            leases.fail(job=context.job, code="deadline", retryable=True)
        else:
            context.renew()
    except DatabaseError as error:
        # The lease outlives two missed beats; the next one may get through.
        logger.warning("a heartbeat could not be written", extra={"error": type(error).__name__})
        connections.let_go()
