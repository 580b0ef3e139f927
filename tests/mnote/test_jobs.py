from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone
from pytest_django import Settings

from mnote import job_kinds
from mnote import jobs as jobs_module
from mnote.exceptions import NotFound, RateLimited, ServiceUnavailable
from mnote.jobs import JobContext, Postpone, StopReason, run
from mnote.models import Job, JobStatus
from mnote.services import jobs, leases
from tests.bell import rung
from tests.kinds import handled_by

pytestmark = pytest.mark.django_db

in_threads = pytest.mark.django_db(transaction=True)


class ProviderLike(Exception):
    code, retryable, retry_after = "provider-timeout", True, 120.0


def make_job(**values: Any) -> Job:
    return Job.objects.create(**{"kind": "test.kind", **values})


def run_with(handler: Callable[[JobContext], dict[str, Any]], **values: Any) -> Job:
    job = make_job(**values)
    with handled_by(handler):
        run(job.pk)
    job.refresh_from_db()
    return job


def raising(error: Exception) -> Callable[[JobContext], dict[str, Any]]:
    def handler(context: JobContext) -> dict[str, Any]:
        raise error

    return handler


def test_run_stores_what_the_handler_returns() -> None:
    job = run_with(lambda context: {"sum": context.payload["a"] + 1}, payload={"a": 1})

    assert (job.status, job.result, job.attempt) == (JobStatus.SUCCEEDED, {"sum": 2}, 1)


def test_run_stores_the_last_progress() -> None:
    def handler(context: JobContext) -> dict[str, Any]:
        context.beat(done=1, total=2)
        context.beat(done=2)
        return {}

    assert run_with(handler).progress == {"done": 2, "total": 2}


@pytest.mark.parametrize("job_id", ["job_unknown", ""])
def test_run_ignores_an_unknown_id(job_id: str) -> None:
    run(job_id)

    assert not Job.objects.exists()


def test_run_ignores_a_job_that_runs_elsewhere() -> None:
    job = make_job()
    leases.claim(job_id=job.pk, worker="other")
    calls: list[str] = []

    with handled_by(lambda context: calls.append(context.job.pk) or {}):
        run(job.pk)

    assert calls == []


def test_run_twice_calls_the_handler_once() -> None:
    calls: list[str] = []
    job = make_job()

    with handled_by(lambda context: calls.append(context.job.pk) or {}):
        run(job.pk)
        run(job.pk)

    assert calls == [job.pk]


def test_run_fails_an_unknown_kind_with_a_reason() -> None:
    job = make_job(kind="test.gone")

    run(job.pk)

    job.refresh_from_db()
    assert (job.status, job.error_code) == (JobStatus.FAILED, "unknown-kind")
    assert "test.gone" in job.error_detail


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (NotFound("No such knowledge base"), JobStatus.FAILED, "not-found"),
        (ServiceUnavailable(), JobStatus.QUEUED, "service-unavailable"),
        (ProviderLike("busy"), JobStatus.QUEUED, "provider-timeout"),
        (OperationalError("database is locked"), JobStatus.QUEUED, "database-unavailable"),
        (KeyError("kb_id"), JobStatus.FAILED, "internal"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_run_lets_the_error_decide(error: Exception, status: JobStatus, code: str) -> None:
    job = run_with(raising(error))

    assert (job.status, job.error_code, job.attempt) == (status, code, 1)


@pytest.mark.parametrize("error", [ProviderLike("busy"), RateLimited(retry_after=120)], ids=["provider", "ours"])
def test_run_waits_as_long_as_it_was_asked_to(error: Exception) -> None:
    now = timezone.now()

    assert run_with(raising(error)).run_at >= now + timedelta(seconds=120)


def test_run_tells_nothing_of_an_unexpected_error(caplog: pytest.LogCaptureFixture) -> None:
    job = run_with(raising(KeyError("a secret")))

    assert "secret" not in job.error_detail
    assert "KeyError" in caplog.text


def test_run_postpones_without_counting() -> None:
    now = timezone.now()
    job = run_with(raising(Postpone(30)))

    assert (job.status, job.attempt, job.error_code) == (JobStatus.QUEUED, 0, "")
    assert job.run_at >= now + timedelta(seconds=30)


def test_beat_stops_a_cancelled_job() -> None:
    reached: list[str] = []

    def handler(context: JobContext) -> dict[str, Any]:
        jobs.cancel(job=Job.objects.get(pk=context.job.pk))
        context.renew()
        context.beat()
        reached.append("after")
        return {}

    job = run_with(handler)

    assert (job.status, job.error_code) == (JobStatus.CANCELLED, "cancelled")
    assert reached == []


def test_beat_stops_a_job_that_lost_its_lease() -> None:
    def handler(context: JobContext) -> dict[str, Any]:
        Job.objects.filter(pk=context.job.pk).update(worker="other", attempt=2)
        context.renew()
        context.beat()
        return {"late": True}

    job = run_with(handler)

    assert (job.status, job.worker, job.result) == (JobStatus.RUNNING, "other", {})


def test_beat_gives_the_job_back_when_the_worker_stops() -> None:
    def handler(context: JobContext) -> dict[str, Any]:
        context.stop(StopReason.SHUTDOWN)
        context.beat()
        return {}

    job = run_with(handler)

    assert (job.status, job.attempt) == (JobStatus.QUEUED, 0)
    assert job.run_at <= timezone.now()


@in_threads
def test_run_keeps_the_lease_while_the_handler_is_silent(settings: Settings) -> None:
    settings.MNOTE_JOB_LEASE_SECONDS = 0.3
    job = make_job()

    def handler(context: JobContext) -> dict[str, Any]:
        first = Job.objects.get(pk=job.pk).lease_expires_at
        renewed = threading.Event()
        while not renewed.wait(0.02):
            if Job.objects.get(pk=job.pk).lease_expires_at > first:
                renewed.set()
        return {}

    with handled_by(handler):
        run(job.pk)

    job.refresh_from_db()
    assert job.status == JobStatus.SUCCEEDED


@in_threads
def test_run_tells_a_silent_handler_of_a_cancellation(settings: Settings) -> None:
    settings.MNOTE_JOB_LEASE_SECONDS = 0.3

    def handler(context: JobContext) -> dict[str, Any]:
        jobs.cancel(job=Job.objects.get(pk=context.job.pk))
        assert context.stopped.wait(10)
        context.beat()
        return {}

    assert run_with(handler).status == JobStatus.CANCELLED


@in_threads
def test_run_takes_the_job_from_a_handler_past_its_deadline(settings: Settings) -> None:
    job = make_job()

    def handler(context: JobContext) -> dict[str, Any]:
        assert context.stopped.wait(10)
        return {"late": True}

    with handled_by(handler, deadline_seconds=0.1):
        run(job.pk)

    job.refresh_from_db()
    assert (job.status, job.error_code, job.result) == (JobStatus.QUEUED, "deadline", {})


@in_threads
def test_run_leaves_no_connection_open() -> None:
    job = make_job()
    seen: list[Any] = []

    def work() -> None:
        run(job.pk)
        seen.append(connection.connection)

    with handled_by(lambda context: {}):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    assert seen == [None]


@in_threads
def test_bulk_jobs_leave_a_thread_to_interactive_ones(settings: Settings) -> None:
    """All bulk room is taken: a bulk job stays queued, an interactive one runs; then the bulk one is rung for."""
    rung("bulk")
    waiting, urgent = make_job(queue="bulk"), make_job()
    room = jobs_module._bulk_room()
    taken = [room.acquire(blocking=False) for _ in range(settings.MNOTE_WORKER_THREADS - 1)]

    with handled_by(lambda context: {}):
        run(waiting.pk)
        run(urgent.pk)
    room.release()
    with handled_by(lambda context: {}, name="test.other"):
        run(make_job(kind="test.other", queue="bulk").pk)
    for _ in taken[1:]:
        room.release()

    waiting.refresh_from_db()
    urgent.refresh_from_db()
    assert all(taken)
    assert (waiting.status, urgent.status) == (JobStatus.QUEUED, JobStatus.SUCCEEDED)
    assert rung("bulk") == [waiting.pk]


def test_a_kind_has_one_handler() -> None:
    with handled_by(lambda context: {"first": True}), pytest.raises(ValueError, match=r"test\.kind"):
        job_kinds.job("test.kind")(raising(KeyError()))


def test_a_kind_lends_its_queue_and_attempts_to_new_jobs() -> None:
    with handled_by(lambda context: {}, queue="bulk", max_attempts=2):
        job = jobs.enqueue(kind="test.kind")

    assert (job.queue, job.max_attempts) == ("bulk", 2)
