"""Look at jobs from the terminal: `manage.py job list|show|retry|cancel|run|kinds|sweep`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from mnote import job_kinds, jobs
from mnote.exceptions import AppError
from mnote.models import Job
from mnote.selectors import jobs as job_rows
from mnote.services import jobs as job_service
from mnote.services import sweeping
from mnote.services.jobs import JobState


class Command(BaseCommand):
    """One action a call. `run` runs a waiting job here, in the foreground."""

    help = "List jobs, show one, try it again, cancel it, or run it here in the foreground."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        listing = actions.add_parser("list", help="The newest jobs.")
        listing.add_argument("--state", choices=[state.value for state in JobState])
        listing.add_argument("--kind")
        listing.add_argument("--limit", type=int, default=20)
        for name, words in (
            ("show", "One job."),
            ("retry", "Try it again."),
            ("cancel", "Cancel it."),
            ("run", "Run it."),
        ):
            actions.add_parser(name, help=words).add_argument("job_id")
        actions.add_parser("kinds", help="The kinds of jobs that there are.")
        actions.add_parser("sweep", help="Send what waits, and take back what a dead worker held.")

    def handle(self, *_: Any, action: str, **options: Any) -> None:
        actions: dict[str, Callable[[dict[str, Any]], None]] = {
            "list": self._list,
            "kinds": self._kinds,
            "sweep": self._sweep,
        }
        if action in actions:
            actions[action](options)
        else:
            self._one(action, _job(options["job_id"]))

    def _list(self, options: dict[str, Any]) -> None:
        rows = Job.objects.order_by("-created_at", "-id")
        if options["state"]:
            rows = rows.filter(job_rows.in_state(options["state"]))
        if options["kind"]:
            rows = rows.filter(kind=options["kind"])
        for job in rows[: options["limit"]]:
            self.stdout.write(_line(job))

    def _kinds(self, _options: dict[str, Any]) -> None:
        for name in job_kinds.names():
            self.stdout.write(name)

    def _sweep(self, _options: dict[str, Any]) -> None:
        swept = sweeping.sweep()
        self.stdout.write(f"rang for {swept.rung}, took back {swept.taken_back}, removed {swept.pruned}")

    def _one(self, action: str, job: Job) -> None:
        acts: dict[str, Callable[[Job], object]] = {
            "retry": lambda job: job_service.retry(job=job),
            "cancel": lambda job: job_service.cancel(job=job),
            "run": lambda job: jobs.run(job.pk),
            "show": lambda _job: None,
        }
        try:
            acts[action](job)
        except AppError as error:
            raise CommandError(str(error.detail)) from error
        job.refresh_from_db()
        self.stdout.write(_line(job))
        if action in {"show", "run"}:
            self._details(job)

    def _details(self, job: Job) -> None:
        facts = {
            "attempt": f"{job.attempt} of {job.max_attempts}",
            "due": job.run_at,
            "worker": job.worker,
            "payload": job.payload,
            "progress": job.progress,
            "result": job.result,
            "error": f"{job.error_code} {job.error_detail}".strip(),
        }
        for name, value in facts.items():
            if value:
                self.stdout.write(f"  {name}: {value}")


def _job(job_id: str) -> Job:
    job = Job.objects.filter(pk=job_id).first()
    if job is None:
        raise CommandError(f"There is no job {job_id}.")
    return job


def _line(job: Job) -> str:
    state = job_service.public_state(job).value
    return f"{job.pk}  {state:<9} {job.created_at:%Y-%m-%d %H:%M:%S}  {job.kind}  {job.error_code}".rstrip()
