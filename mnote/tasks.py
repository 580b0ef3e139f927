"""The three messages the broker may carry. Everything else about work stands in the job rows."""

from __future__ import annotations

from mnote import jobs
from mnote.celery import app
from mnote.selectors import health
from mnote.services import sweeping, worker_beats


@app.task(name="mnote.run_job")
def run_job(job_id: str) -> None:
    jobs.run(job_id)


@app.task(name="mnote.sweep_jobs")
def sweep_jobs() -> None:
    sweeping.sweep()


@app.task(name="mnote.beat_worker")
def beat_worker() -> None:
    """Show that the whole chain works: the clock sent this, the broker carried it, a worker took it."""
    worker_beats.record(worker=health.SCHEDULE)
