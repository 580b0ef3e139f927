from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from mnote.models import Job, JobStatus
from mnote.services import jobs, leases
from mnote.services.leases import Hold
from tests.bell import rung

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quiet_bell")]


def make_claimed(**values: object) -> Job:
    job = Job.objects.create(**{"kind": "test.kind", **values})
    claimed = leases.claim(job_id=job.pk, worker="one")
    assert claimed is not None
    return claimed


def row(job: Job) -> Job:
    return Job.objects.get(pk=job.pk)


def test_claim_starts_the_job_under_a_lease(settings: Settings) -> None:
    settings.MNOTE_JOB_LEASE_SECONDS = 60

    job = make_claimed()

    assert (job.status, job.attempt, job.worker) == (JobStatus.RUNNING, 1, "one")
    assert job.started_at is not None
    assert job.lease_expires_at == job.started_at + timedelta(seconds=60)


def test_claim_is_given_once() -> None:
    job = make_claimed()

    assert leases.claim(job_id=job.pk, worker="two") is None


def test_claim_ignores_an_unknown_id() -> None:
    assert leases.claim(job_id="job_unknown", worker="one") is None


def test_claim_refuses_a_job_that_is_not_due() -> None:
    job = Job.objects.create(kind="test.kind", run_at=timezone.now() + timedelta(seconds=30))

    assert leases.claim(job_id=job.pk, worker="one") is None


def test_claim_waits_while_its_key_runs() -> None:
    make_claimed(dedup_key="a")
    twin = Job.objects.create(kind="test.kind", dedup_key="a")

    assert leases.claim(job_id=twin.pk, worker="two") is None
    assert row(twin).status == JobStatus.QUEUED


def test_finish_rings_the_twin_that_had_to_wait(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    job = make_claimed(dedup_key="a")
    twin = jobs.enqueue(kind="test.kind", dedup_key="a")

    with django_capture_on_commit_callbacks(execute=True):
        leases.finish(job=job, result={})

    assert rung() == [twin.pk]


def test_renew_moves_the_lease_and_stores_progress() -> None:
    job = make_claimed()
    Job.objects.update(lease_expires_at=timezone.now())

    assert leases.renew(job=job, progress={"done": 3}) is Hold.HELD
    assert row(job).lease_expires_at > timezone.now()
    assert row(job).progress == {"done": 3}


def test_renew_tells_of_a_cancellation() -> None:
    job = make_claimed()
    jobs.cancel(job=row(job))

    assert leases.renew(job=job) is Hold.CANCELLED


@pytest.mark.parametrize(
    "change",
    [{"worker": "two"}, {"attempt": 2}, {"status": JobStatus.QUEUED}],
    ids=["other worker", "later attempt", "taken back"],
)
def test_renew_tells_of_a_lost_lease(change: dict[str, object]) -> None:
    job = make_claimed()
    Job.objects.update(**change)

    assert leases.renew(job=job) is Hold.LOST


def test_finish_stores_the_result() -> None:
    job = make_claimed()

    assert leases.finish(job=job, result={"count": 2}, progress={"done": 2})
    after = row(job)
    assert (after.status, after.result, after.progress) == (JobStatus.SUCCEEDED, {"count": 2}, {"done": 2})
    assert after.finished_at is not None
    assert after.lease_expires_at is None


@pytest.mark.parametrize("write", ["finish", "fail", "retry", "postpone", "cancel"])
def test_an_outcome_under_a_lost_lease_changes_nothing(write: str) -> None:
    job = make_claimed()
    Job.objects.update(worker="two", attempt=2)
    before = Job.objects.values().get()
    writes = {
        "finish": lambda: leases.finish(job=job, result={"late": True}),
        "fail": lambda: leases.fail(job=job, code="late"),
        "retry": lambda: leases.fail(job=job, code="late", retryable=True),
        "postpone": lambda: leases.postpone(job=job, seconds=0),
        "cancel": lambda: leases.finish_cancelled(job=job),
    }

    assert writes[write]() is False
    assert Job.objects.values().get() == before


def test_fail_ends_the_job_with_its_reason() -> None:
    job = make_claimed()

    leases.fail(job=job, code="not-found", detail="Not found")

    after = row(job)
    assert (after.status, after.error_code, after.error_detail) == (JobStatus.FAILED, "not-found", "Not found")


def test_fail_queues_a_retryable_job_after_a_backoff() -> None:
    job = make_claimed()
    now = timezone.now()

    leases.fail(job=job, code="provider-timeout", retryable=True)

    after = row(job)
    assert (after.status, after.attempt, after.error_code) == (JobStatus.QUEUED, 1, "provider-timeout")
    assert timedelta(seconds=2.5) <= after.run_at - now <= timedelta(seconds=6)


def test_fail_waits_as_long_as_the_other_side_asked() -> None:
    job = make_claimed()
    now = timezone.now()

    leases.fail(job=job, code="rate-limited", retryable=True, retry_after=300)

    assert row(job).run_at - now >= timedelta(seconds=300)


def test_fail_after_the_last_attempt_is_final() -> None:
    job = make_claimed(max_attempts=1)

    leases.fail(job=job, code="provider-timeout", retryable=True)

    assert row(job).status == JobStatus.FAILED


def test_fail_of_a_cancelled_job_ends_as_cancelled() -> None:
    job = make_claimed()
    jobs.cancel(job=row(job))

    leases.fail(job=job, code="provider-timeout", retryable=True)

    assert (row(job).status, row(job).error_code) == (JobStatus.CANCELLED, "cancelled")


def test_fail_leaves_the_work_to_a_queued_twin() -> None:
    job = make_claimed(dedup_key="a")
    twin = jobs.enqueue(kind="test.kind", dedup_key="a")

    leases.fail(job=job, code="provider-timeout", retryable=True)

    assert (row(job).status, row(job).error_code) == (JobStatus.CANCELLED, "superseded")
    assert row(twin).status == JobStatus.QUEUED


def test_postpone_counts_no_attempt() -> None:
    job = make_claimed()
    now = timezone.now()

    leases.postpone(job=job, seconds=20)

    assert (row(job).status, row(job).attempt) == (JobStatus.QUEUED, 0)
    assert row(job).run_at >= now + timedelta(seconds=20)


@pytest.mark.parametrize(("attempt", "most"), [(1, 5), (2, 10), (4, 40), (8, 640), (9, 900), (60, 900)])
def test_backoff_grows_to_a_cap_and_varies(attempt: int, most: float) -> None:
    waits = [leases.backoff_seconds(attempt) for _ in range(200)]

    assert most / 2 <= min(waits) < max(waits) <= most
