from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks

from mnote.exceptions import Conflict
from mnote.models import Job, JobStatus
from mnote.services import jobs, leases
from mnote.services.jobs import JobState
from tests.bell import rung

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quiet_bell")]


def make_job(**values: object) -> Job:
    return Job.objects.create(**{"kind": "test.kind", **values})


def test_enqueue_rings_after_commit_only(django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        job = jobs.enqueue(kind="test.kind", payload={"id": 1})
        before = rung()

    assert before == []
    assert rung() == [job.pk]


@pytest.mark.django_db(transaction=True)
def test_enqueue_leaves_nothing_when_rolled_back() -> None:
    with transaction.atomic():
        jobs.enqueue(kind="test.kind")
        transaction.set_rollback(True)

    assert rung() == []
    assert not Job.objects.exists()


def test_enqueue_rings_the_queue_asked_for(django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        job = jobs.enqueue(kind="test.kind", queue="bulk")

    assert (rung("bulk"), rung()) == ([job.pk], [])


def test_enqueue_for_later_does_not_ring(django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        jobs.enqueue(kind="test.kind", run_at=timezone.now() + timedelta(minutes=1))

    assert rung() == []


def test_enqueue_joins_the_queued_job_of_its_key() -> None:
    first = jobs.enqueue(kind="test.kind", dedup_key="a")
    second = jobs.enqueue(kind="test.kind", dedup_key="a")

    assert second == first
    assert Job.objects.count() == 1


@pytest.mark.parametrize(
    ("kind", "key"), [("test.kind", ""), ("test.kind", "b"), ("test.other", "a")], ids=["no key", "key", "kind"]
)
def test_enqueue_makes_a_row_for_another(kind: str, key: str) -> None:
    first = jobs.enqueue(kind="test.kind", dedup_key="a" if key else "")

    assert jobs.enqueue(kind=kind, dedup_key=key) != first


def test_enqueue_makes_a_row_beside_the_running_one() -> None:
    running = jobs.enqueue(kind="test.kind", dedup_key="a")
    leases.claim(job_id=running.pk, worker="w")

    assert jobs.enqueue(kind="test.kind", dedup_key="a").pk != running.pk


def test_enqueue_brings_a_waiting_job_forward(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    now = timezone.now()
    with django_capture_on_commit_callbacks(execute=True):
        later = jobs.enqueue(kind="test.kind", dedup_key="a", run_at=now + timedelta(hours=1), queue="bulk")
        sooner = jobs.enqueue(kind="test.kind", dedup_key="a", run_at=now)

    assert (sooner.pk, sooner.run_at, sooner.queue) == (later.pk, now, "interactive")
    assert rung() == [later.pk]


def test_enqueue_does_not_push_a_job_back() -> None:
    first = jobs.enqueue(kind="test.kind", dedup_key="a")
    second = jobs.enqueue(kind="test.kind", dedup_key="a", run_at=timezone.now() + timedelta(hours=1))

    assert second.run_at == first.run_at


def test_enqueue_takes_keys_of_any_length() -> None:
    first = jobs.enqueue(kind="test.kind", dedup_key="k" * 5000)

    assert jobs.enqueue(kind="test.kind", dedup_key="k" * 5000) == first
    assert jobs.enqueue(kind="test.kind", dedup_key="k" * 5001) != first


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ({"status": JobStatus.QUEUED}, JobState.QUEUED),
        ({"status": JobStatus.QUEUED, "attempt": 1}, JobState.RETRYING),
        ({"status": JobStatus.RUNNING, "attempt": 2}, JobState.RUNNING),
        ({"status": JobStatus.SUCCEEDED}, JobState.DONE),
        ({"status": JobStatus.SUCCEEDED, "result": {"stale": True}}, JobState.STALE),
        ({"status": JobStatus.FAILED}, JobState.FAILED),
        ({"status": JobStatus.CANCELLED}, JobState.FAILED),
    ],
)
def test_public_state_translates_the_row(values: dict[str, object], state: JobState) -> None:
    assert jobs.public_state(Job(**values)) == state


def test_cancel_ends_a_waiting_job_at_once() -> None:
    job = jobs.cancel(job=make_job())

    assert (job.status, job.error_code) == (JobStatus.CANCELLED, "cancelled")
    assert job.finished_at is not None


def test_cancel_asks_a_running_job_to_stop() -> None:
    job = make_job()
    leases.claim(job_id=job.pk, worker="w")

    assert jobs.cancel(job=job).status == JobStatus.RUNNING
    assert job.cancel_requested_at is not None


def test_cancel_leaves_an_ended_job_alone() -> None:
    job = make_job(status=JobStatus.SUCCEEDED)

    assert jobs.cancel(job=job).status == JobStatus.SUCCEEDED


@pytest.mark.parametrize("status", [JobStatus.FAILED, JobStatus.CANCELLED])
def test_retry_queues_an_ended_job_with_fresh_attempts(
    status: JobStatus, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    job = make_job(status=status, attempt=5, error_code="internal", finished_at=timezone.now())

    with django_capture_on_commit_callbacks(execute=True):
        jobs.retry(job=job)

    assert (job.status, job.attempt, job.error_code, job.finished_at) == (JobStatus.QUEUED, 0, "", None)
    assert rung() == [job.pk]


def test_retry_runs_a_waiting_job_now(django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks) -> None:
    job = make_job(attempt=2, run_at=timezone.now() + timedelta(hours=1))

    with django_capture_on_commit_callbacks(execute=True):
        jobs.retry(job=job)

    assert job.attempt == 2
    assert rung() == [job.pk]


def test_retry_returns_the_twin_that_is_queued() -> None:
    failed = make_job(status=JobStatus.FAILED, dedup_key="a")
    twin = make_job(dedup_key="a")

    assert jobs.retry(job=failed) == twin


@pytest.mark.parametrize("status", [JobStatus.RUNNING, JobStatus.SUCCEEDED])
def test_retry_refuses_a_job_that_runs_or_succeeded(status: JobStatus) -> None:
    with pytest.raises(Conflict):
        jobs.retry(job=make_job(status=status))
