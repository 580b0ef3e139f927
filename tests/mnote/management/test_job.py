from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from mnote.models import Job, JobStatus
from tests.factories.mnote import JobFactory
from tests.kinds import handled_by

pytestmark = pytest.mark.django_db


def said(*arguments: str) -> str:
    out = StringIO()
    call_command("job", *arguments, stdout=out)
    return out.getvalue()


def test_list_shows_the_newest_first() -> None:
    older, newer = JobFactory(kind="test.a"), JobFactory(kind="test.b")

    lines = said("list").splitlines()

    assert [line.split()[0] for line in lines] == [newer.pk, older.pk]


def test_list_is_narrowed_by_state_and_kind() -> None:
    JobFactory(kind="test.a")
    JobFactory(kind="test.b", status=JobStatus.FAILED)
    wanted = JobFactory(kind="test.a", status=JobStatus.FAILED)

    assert said("list", "--state", "failed", "--kind", "test.a").split()[0] == wanted.pk


def test_run_runs_the_job_here() -> None:
    job = JobFactory(kind="test.kind", payload={"a": 1})

    with handled_by(lambda context: {"doubled": context.payload["a"] * 2}):
        output = said("run", job.pk)

    assert "done" in output
    assert "{'doubled': 2}" in output


@pytest.mark.parametrize(
    ("action", "before", "after"),
    [("retry", JobStatus.FAILED, JobStatus.QUEUED), ("cancel", JobStatus.QUEUED, JobStatus.CANCELLED)],
)
def test_an_action_changes_the_job(action: str, before: JobStatus, after: JobStatus) -> None:
    job = JobFactory(status=before)

    said(action, job.pk)

    assert Job.objects.get().status == after


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("show", "job_unknown"), "no job"), (("retry", "{running}"), "tried again")],
)
def test_what_cannot_be_done_is_said(arguments: tuple[str, ...], message: str) -> None:
    running = JobFactory(status=JobStatus.RUNNING)

    with pytest.raises(CommandError, match=message):
        said(*(each.format(running=running.pk) for each in arguments))


def test_sweep_counts() -> None:
    JobFactory(status=JobStatus.RUNNING, lease_expires_at="2020-01-01T00:00:00Z", attempt=1)

    assert said("sweep").startswith("rang for 0, took back 1")


def test_kinds_names_the_registered() -> None:
    with handled_by(lambda context: {}):
        assert "test.kind" in said("kinds").split()
