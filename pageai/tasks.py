"""Work of Page AI in the background."""

from __future__ import annotations

from typing import Any

from celery import shared_task

from mnote.job_kinds import BULK, job
from mnote.jobs import JobContext, Postpone
from mnote.models import User
from pageai.exceptions import PanelNotConfigured
from pageai.panel.errors import PanelError
from pageai.services import agent_files, panel, provisioning, pruning, settling, tool_calls

_LOOK_AGAIN_SECONDS = 3.0


@job(provisioning.CLOSE_KIND, max_attempts=8)
def close_identities(context: JobContext) -> dict[str, Any]:
    """Close the accounts at OpenHub of a person whose account is closed here."""
    user = User.objects.filter(pk=context.payload["userId"], is_active=False).first()
    if user is None:
        return {"closed": 0}  # gone, or open again
    try:
        return {"closed": provisioning.close_at_openhub(user=user)}
    except PanelNotConfigured:
        return {"closed": 0}
    except PanelError as error:
        raise panel.as_app_error(error) from error


@job(settling.SETTLE_KIND, max_attempts=8, deadline_seconds=120)
def settle_run(context: JobContext) -> dict[str, Any]:
    """Bring a run that nobody reads to its end; again and again while its agent works on."""
    if settling.settle(context.payload["runId"]):
        raise Postpone(_LOOK_AGAIN_SECONDS)
    return {}


@job(pruning.PRUNE_KIND, queue=BULK, max_attempts=2)
def prune_runs(context: JobContext) -> dict[str, Any]:
    """Forget old runs and their events."""
    return {"removed": pruning.prune(beat=context.beat)}


@shared_task(name="pageai.tend_runs", ignore_result=True)
def tend_runs() -> None:
    """Have runs that nobody reads settled, and old ones forgotten."""
    settling.ask_for_all()
    pruning.ask_when_due()


@shared_task(name="pageai.refresh_agent_files")
def refresh_agent_files() -> None:
    """Bring the generated files of agents up to date with rights, knowledge bases and settings."""
    agent_files.refresh()


@shared_task(name="pageai.prune_tool_calls")
def prune_tool_calls() -> None:
    """Remove tool calls that are older than they are kept."""
    tool_calls.prune()
