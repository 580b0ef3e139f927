from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from mnote.models import Job, JobStatus
from mnote.services import jobs, leases, sweeping
from tests.bell import rung

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quiet_bell")]


@pytest.fixture(autouse=True)
def lease(settings: Settings) -> None:
    settings.MNOTE_JOB_LEASE_SECONDS = 60


def make_queued(*, due: int, touched: int) -> Job:
    """A queued row that was due and last rung so many seconds ago."""
    now = timezone.now()
    job = Job.objects.create(kind="test.kind", run_at=now - timedelta(seconds=due))
    Job.objects.filter(pk=job.pk).update(updated_at=now - timedelta(seconds=touched))
    return job


def make_lost(**values: object) -> Job:
    """A running row whose lease ran out."""
    lost = timezone.now() - timedelta(seconds=1)
    held = {"status": JobStatus.RUNNING, "worker": "gone", "attempt": 1, "lease_expires_at": lost}
    return Job.objects.create(**{"kind": "test.kind", **held, **values})


@pytest.mark.parametrize(
    ("due", "touched", "is_rung"),
    [(0, 10, True), (100, 100, True), (100, 50, False), (5, 3, False), (-30, 100, False)],
    ids=["due since", "message lost", "rung a moment ago", "rung when due", "not due"],
)
def test_sweep_rings_what_was_not_heard(*, due: int, touched: int, is_rung: bool) -> None:
    job = make_queued(due=due, touched=touched)

    swept = sweeping.sweep()

    assert rung() == ([job.pk] if is_rung else [])
    assert swept.rung == int(is_rung)


def test_sweep_twice_rings_once() -> None:
    job = make_queued(due=100, touched=100)

    sweeping.sweep()
    sweeping.sweep()

    assert rung() == [job.pk]


def test_sweep_rings_again_for_all_once_the_broker_was_emptied() -> None:
    job = make_queued(due=5, touched=3)

    sweeping.forget_rings()
    sweeping.sweep()

    assert rung() == [job.pk]


def test_sweep_takes_back_a_lost_job(django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks) -> None:
    job = make_lost()

    with django_capture_on_commit_callbacks(execute=True):
        swept = sweeping.sweep()

    job.refresh_from_db()
    assert (job.status, job.attempt, job.error_code, job.worker) == (JobStatus.QUEUED, 1, "worker_lost", "")
    assert swept.taken_back == 1
    assert rung() == [job.pk]


def test_sweep_lets_a_job_that_lost_two_workers_wait() -> None:
    job = make_lost(attempt=2)

    sweeping.sweep()

    job.refresh_from_db()
    assert job.run_at > timezone.now()


def test_sweep_fails_a_lost_job_without_attempts() -> None:
    job = make_lost(attempt=3, max_attempts=3)

    sweeping.sweep()

    job.refresh_from_db()
    assert (job.status, job.error_code) == (JobStatus.FAILED, "worker_lost")


@pytest.mark.parametrize("attempt", [1, 5])
def test_sweep_ends_a_lost_job_that_was_cancelled(attempt: int) -> None:
    job = make_lost(attempt=attempt, cancel_requested_at=timezone.now())

    sweeping.sweep()

    job.refresh_from_db()
    assert (job.status, job.error_code) == (JobStatus.CANCELLED, "cancelled")


def test_sweep_leaves_a_held_job_alone() -> None:
    job = make_lost(lease_expires_at=timezone.now() + timedelta(seconds=30))

    sweeping.sweep()

    job.refresh_from_db()
    assert job.status == JobStatus.RUNNING


def test_sweep_leaves_a_lost_job_to_its_twin() -> None:
    lost = make_lost(dedup_key="a")
    jobs.enqueue(kind="test.kind", dedup_key="a")

    sweeping.sweep()

    lost.refresh_from_db()
    assert lost.error_code == "superseded"


def test_take_back_spares_a_lease_renewed_meanwhile() -> None:
    """The row was read as lost, then its worker renewed: the conditional update must not match."""
    seen = make_lost()
    leases.renew(job=seen)

    assert sweeping._take_back(seen) is False
    seen.refresh_from_db()
    assert seen.status == JobStatus.RUNNING


@pytest.mark.parametrize(
    ("status", "days", "is_kept"),
    [
        (JobStatus.SUCCEEDED, 31, False),
        (JobStatus.FAILED, 31, False),
        (JobStatus.CANCELLED, 31, False),
        (JobStatus.SUCCEEDED, 29, True),
        (JobStatus.QUEUED, 31, True),
        (JobStatus.RUNNING, 31, True),
    ],
)
def test_prune_removes_what_ended_long_ago(*, status: JobStatus, days: int, is_kept: bool) -> None:
    job = Job.objects.create(kind="test.kind", status=status)
    Job.objects.update(updated_at=timezone.now() - timedelta(days=days))

    assert sweeping.prune() == int(not is_kept)
    assert Job.objects.filter(pk=job.pk).exists() is is_kept
