"""A process of its own that does to a world what it is told: one JSON array a line in, one JSON value a line out."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY  # noqa: E402
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db.models import F  # noqa: E402
from django.utils import timezone  # noqa: E402

from mnote import connections  # noqa: E402
from mnote.models import Job, JobStatus, Membership, Role, User, Workspace  # noqa: E402
from mnote.process import preflight  # noqa: E402
from mnote.services import doorbell, jobs, leases, readiness, sweeping  # noqa: E402
from tests.faults import knowledge_calls, remote_calls  # noqa: E402


def prepare() -> None:
    preflight.make_folders()
    call_command("migrate", verbosity=0, interactive=False)


def enqueue(kind: str, count: int = 1, key: str = "") -> list[str]:
    return [jobs.enqueue(kind=kind, dedup_key=key).pk for _ in range(count)]


def make_rows(count: int) -> list[str]:
    """Rows nobody is rung for."""
    return [Job.objects.create(kind="faults.quick").pk for _ in range(count)]


def lose(ids: list[str]) -> None:
    """Make the rows look as a dead worker leaves them."""
    past = timezone.now() - timedelta(seconds=1)
    Job.objects.filter(pk__in=ids).update(
        status=JobStatus.RUNNING, worker="gone", attempt=1, lease_expires_at=past, updated_at=past
    )


def claim(ids: list[str], worker: str) -> list[str]:
    claimed = [leases.claim(job_id=each, worker=worker) for each in ids]
    return [job.pk for job in claimed if job]


def row(job_id: str) -> dict[str, Any]:
    job = Job.objects.get(pk=job_id)
    return {"status": job.status, "attempt": job.attempt, "error": job.error_code, "worker": job.worker}


def statuses() -> dict[str, int]:
    found: dict[str, int] = {}
    for status in Job.objects.values_list("status", flat=True):
        found[status] = found.get(status, 0) + 1
    return found


def sweep() -> dict[str, int]:
    swept = sweeping.sweep()
    return {"rung": swept.rung, "taken_back": swept.taken_back}


def ring(job_id: str) -> bool:
    return doorbell.ring(job_id, "interactive")


def failing() -> list[str]:
    return [layer.name for layer in readiness.look() if not layer.is_ok]


def work_hard(seconds: float) -> int:
    """Write as a worker and read as a page does, without a pause; return the number of rounds."""
    ends_at, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < ends_at:
        job = leases.claim(job_id=jobs.enqueue(kind="faults.none").pk, worker="hard")
        if job is not None:
            leases.renew(job=job, progress={"rounds": rounds})
            list(Job.objects.order_by("-created_at")[:20])
            leases.finish(job=job, result={})
        connections.let_go()
        rounds += 1
    return rounds


def make_due(job_id: str) -> None:
    Job.objects.filter(pk=job_id).update(run_at=F("created_at"))


def sign_in() -> dict[str, str]:
    """A person with a workspace, and the cookie of their session."""
    person = User.objects.create_user("alice")
    workspace = Workspace.objects.create(name="Notes")
    Membership.objects.create(workspace=workspace, user=person, role=Role.OWNER)
    session = SessionStore()
    session[SESSION_KEY], session[BACKEND_SESSION_KEY] = str(person.pk), settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = person.get_session_auth_hash()
    session.save()
    return {"cookie": f"{settings.SESSION_COOKIE_NAME}={session.session_key}", "workspace": workspace.pk}


def enqueue_in(workspace_id: str) -> str:
    return jobs.enqueue(kind="faults.quick", workspace=Workspace.objects.get(pk=workspace_id)).pk


_calls: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        prepare, enqueue, make_rows, lose, claim, row, statuses, sweep, ring, failing, work_hard, make_due,
        sign_in, enqueue_in,
    )
} | knowledge_calls.CALLS | remote_calls.CALLS  # fmt: skip


def main() -> None:
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        answer = _calls[name](*arguments)
        connections.let_go()
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


main()
