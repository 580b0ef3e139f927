"""Conversations with opencode itself, without OpenHub in between. What is said stays with opencode."""

from __future__ import annotations

from django.utils.translation import gettext as _

from pageai.exceptions import TurnRunning
from pageai.services import changes, gatekeeping, prompting, provisioning
from pageai.services.gatekeeping import Visit
from pageai.services.opencodes import opencode_of


def ask(visit: Visit, question: str) -> str:
    """Ask a question and return the session; the agent works on by itself.

    Raises:
        ConversationPutAway, ConversationGone, AgentNotStarted, FolderNotForAgents, PanelError. TurnRunning: one at a
        time.
    """
    gatekeeping.require_active(visit)
    opencode, directory = opencode_of(visit), visit.directory
    is_new = not visit.session_id
    session_id = provisioning.ensure_session(visit)
    if not is_new and opencode.is_busy(session_id, directory=directory):
        raise TurnRunning(_("The assistant still works on the last question, or waits for your answer."))
    prompting.tell(visit, opencode, session_id)
    opencode.prompt(session_id, directory=directory, text=question)
    return session_id


def is_working(visit: Visit) -> bool:
    """Say whether the agent still works, or waits for its person; what a finished turn left behind is noted. Raises
    PanelError."""
    if not visit.session_id:
        return False
    opencode, session_id, directory = opencode_of(visit), visit.session_id, visit.directory
    if opencode.is_busy(session_id, directory=directory):
        return True
    if opencode.has_just_been_asked(session_id, directory=directory):
        return True
    changes.note_turn(visit)
    return False
