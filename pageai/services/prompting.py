"""Getting a question ready: may it be asked, of which model, and what has the agent to be told before."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from pageai.exceptions import ModelNotPermitted, TurnRunning
from pageai.models import PanelIdentity
from pageai.panel import notes
from pageai.panel.bodies import PromptBody
from pageai.panel.errors import PanelError
from pageai.panel.notes import Facts
from pageai.panel.opencode import Opencode
from pageai.panel.tool_rules import Reach
from pageai.selectors import agent_settings
from pageai.services import binding_tokens, gatekeeping, provisioning, turns
from pageai.services.gatekeeping import Visit
from pageai.services.opencodes import opencode_of
from pageai.skills import skill_text

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A turn that was claimed: what to ask OpenHub, and as whom."""

    identity: PanelIdentity
    session_id: str
    path: str
    body: dict[str, Any] | None = None


def prepare_question(visit: Visit, asked: PromptBody) -> Prepared:
    """Claim the conversation for a question and get everything ready for it.

    Raises:
        ConversationPutAway, NotFound, SessionTaken: not this page's conversation. TurnRunning: one at a time.
        ModelNotPermitted, ConversationGone, PanelError.
    """
    gatekeeping.require_active(visit)
    if asked.conversation_id:
        gatekeeping.pinned(visit, asked.conversation_id)
    identity = provisioning.ensure_identity(visit)
    model = _model(identity, asked.model)

    def made(session_id: str) -> Prepared:
        provider, _slash, name = model.partition("/")
        body: dict[str, Any] = {
            "question": asked.question,
            "conversation_id": session_id,
            "agent": asked.agent,
            "model": {"providerID": provider, "modelID": name},
        }
        if asked.images:
            body["images"] = list(asked.images)
        return Prepared(identity=identity, session_id=session_id, path="/api/query/stream", body=body)

    return _claimed(visit, asked.question, made)


def prepare_retry(visit: Visit, session_id: str) -> Prepared:
    """The same for asking the last question again. Raises as `prepare_question`."""
    gatekeeping.require_active(visit)
    gatekeeping.pinned(visit, session_id)
    identity = provisioning.ensure_identity(visit)
    path = f"/api/sessions/{session_id}/retry"
    return _claimed(visit, f"retry {session_id}", lambda own: Prepared(identity=identity, session_id=own, path=path))


def _claimed(visit: Visit, question: str, made: Callable[[str], Prepared]) -> Prepared:
    turns.begin(binding=visit.binding, question=question)
    with _given_free_on_error(visit):
        is_new = not visit.session_id
        session_id = provisioning.ensure_session(visit)
        opencode, directory = opencode_of(visit), visit.directory
        # OpenHub may have given up on a turn that opencode still works on, or that waits for an answer.
        if not is_new and opencode.is_busy(session_id, directory=directory):
            raise TurnRunning(_("The assistant still works on the last question, or waits for your answer."))
        tell(visit, opencode, session_id)
        return made(session_id)


@contextmanager
def _given_free_on_error(visit: Visit) -> Iterator[None]:
    try:
        yield
    except BaseException:
        turns.end(binding_id=visit.binding.pk)
        raise


def _model(identity: PanelIdentity, wanted: str) -> str:
    """Choose the model: OpenHub checks permission and quota only for one that is named."""
    permitted = [str(each["model"]) for each in identity.permitted_json]
    if not permitted:
        raise ModelNotPermitted(_("No model may be used in this workspace. An administrator can allow one."))
    if wanted and wanted not in permitted:
        raise ModelNotPermitted
    return wanted or permitted[0]


def tell(visit: Visit, opencode: Opencode, session_id: str) -> None:
    """Tell the session its context when that changed, and give it its tools, with a key for this turn."""
    tools = agent_settings.tools_for(visit.principal.user, visit.binding)
    server = provisioning.mcp_server_of(visit.binding)
    has_tools = bool(tools) and _connect_tools(visit, opencode, server)
    note = notes.text_of(_facts(visit, skill_text(tools, server=server) if has_tools else ""))
    mark = notes.mark_of(note)
    if turns.told(binding=visit.binding) != mark:
        opencode.add_note(session_id, directory=visit.directory, text=note)
        turns.note_told(binding=visit.binding, mark=mark)


def _connect_tools(visit: Visit, opencode: Opencode, server: str) -> bool:
    """Without its tools the agent still answers; it is only not told of them."""
    _token, secret = binding_tokens.issue(binding=visit.binding)
    url = f"{settings.MNOTE_PUBLIC_URL}/mcp"
    try:
        return opencode.add_mcp_server(server, directory=visit.directory, url=url, token=secret)
    except PanelError as error:
        logger.warning("tools are not connected: %s", error.code, extra={"layer": error.layer})
        return False


def _facts(visit: Visit, skill: str) -> Facts:
    reach, binding = visit.reach(), visit.binding
    return Facts(
        person=visit.principal.user.shown_name,
        workspace=binding.workspace.name,
        root=visit.root.name,
        directory=visit.directory,
        page=binding.page_absolute_path,
        resource_id=binding.page_resource_id,
        readable=_prefixes(reach, {"read", "write"}),
        writable=_prefixes(reach, {"write"}),
        selection=turns.selection(binding=binding),
        skill=skill,
    )


def _prefixes(reach: Reach, wanted: set[str]) -> tuple[str, ...]:
    own = ("",) if reach.default in wanted else ()
    return (*own, *sorted(prefix for prefix, access in reach.prefixes.items() if access in wanted))
