"""Conversations with opencode itself, without OpenHub in between. What is said stays with opencode."""

from __future__ import annotations

from pageai.exceptions import PanelNotConfigured
from pageai.models import Run
from pageai.services import opencodes, prompting
from pageai.services.gatekeeping import Visit


def prepare(visit: Visit, question: str, *, request_id: str = "") -> Run:
    """Claim the conversation for a question and get everything ready for it; return its run. `request_id` is the
    host's key of one click.

    Raises:
        PanelNotConfigured: the conversation is not with opencode. ConversationPutAway, ConversationGone,
        AgentNotStarted, FolderNotForAgents, PanelError. TurnRunning: one at a time.
    """
    if not opencodes.is_direct(visit):
        raise PanelNotConfigured
    return prompting.prepare_direct(visit, question, request_id=request_id)


def send(visit: Visit, question: str) -> None:
    """Ask the question that was prepared; the agent works on by itself. Raises PanelError."""
    opencodes.opencode_of(visit).prompt(visit.session_id, directory=visit.directory, text=question)


def abort(visit: Visit) -> bool:
    """Stop the agent, and say whether there was work to stop. Raises PanelError."""
    opencode, directory = opencodes.running(visit), visit.directory
    if opencode is None or not visit.session_id or not opencode.is_busy(visit.session_id, directory=directory):
        return False
    opencode.abort(visit.session_id, directory=directory)
    return True
