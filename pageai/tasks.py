"""Work of Page AI in the background."""

from __future__ import annotations

from typing import Any

from celery import shared_task

from mnote.job_kinds import job
from mnote.jobs import JobContext
from mnote.models import User
from pageai.exceptions import PanelNotConfigured
from pageai.panel.errors import PanelError
from pageai.services import agent_files, panel, provisioning, tool_calls


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


@shared_task(name="pageai.refresh_agent_files")
def refresh_agent_files() -> None:
    """Bring the generated files of agents up to date with rights, knowledge bases and settings."""
    agent_files.refresh()


@shared_task(name="pageai.prune_tool_calls")
def prune_tool_calls() -> None:
    """Remove tool calls that are older than they are kept."""
    tool_calls.prune()
