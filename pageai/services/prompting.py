"""Getting a question ready: may it be asked, of which model, what has the agent to be told before; and its run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from django.conf import settings
from django.utils.translation import gettext as _

from pageai.exceptions import ModelNotPermitted, TurnRunning
from pageai.models import PanelIdentity, Run
from pageai.panel import notes
from pageai.panel.bodies import PromptBody
from pageai.panel.errors import PanelError
from pageai.panel.notes import Facts
from pageai.panel.opencode import Opencode
from pageai.panel.tool_rules import Reach
from pageai.selectors import agent_settings
from pageai.services import (
    binding_tokens,
    gatekeeping,
    journals,
    provisioning,
    run_hashes,
    runs,
    settling,
    turns,
)
from pageai.services.gatekeeping import Visit
from pageai.services.opencodes import opencode_of
from pageai.services.runs import Wanted
from pageai.skills import skill_text

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A turn that was claimed: what to ask OpenHub, and as whom."""

    identity: PanelIdentity
    session_id: str
    path: str
    run: Run
    body: dict[str, Any] | None = None


def prepare_question(visit: Visit, asked: PromptBody, *, request_id: str = "") -> Prepared:
    """Claim the conversation for a question and get everything ready for it. `request_id` is the host's key of it.

    Raises:
        ConversationPutAway, NotFound, SessionTaken: not this page's conversation. TurnRunning: one at a time.
        ModelNotPermitted, ConversationGone, PanelError.
    """
    gatekeeping.require_active(visit)
    if asked.conversation_id:
        gatekeeping.pinned(visit, asked.conversation_id)
    identity = provisioning.ensure_identity(visit)
    model = _model(identity, asked.model)

    def made(session_id: str, run: Run) -> Prepared:
        provider, _slash, name = model.partition("/")
        body: dict[str, Any] = {
            "question": asked.question,
            "conversation_id": session_id,
            "agent": asked.agent,
            "model": {"providerID": provider, "modelID": name},
        }
        if asked.images:
            body["images"] = list(asked.images)
        return Prepared(identity=identity, session_id=session_id, path="/api/query/stream", run=run, body=body)

    wanted = _wanted(visit, asked.question, {"model": model, "mode": asked.agent}, request_id)
    return _claimed(visit, asked.question, wanted, made)


def prepare_retry(visit: Visit, session_id: str, *, request_id: str = "") -> Prepared:
    """The same for asking the last question again. Raises as `prepare_question`."""
    gatekeeping.require_active(visit)
    gatekeeping.pinned(visit, session_id)
    identity = provisioning.ensure_identity(visit)
    path = f"/api/sessions/{session_id}/retry"
    last = runs.newest_of(binding=visit.binding)
    wanted = _wanted(visit, last.title if last else "", {"isRetry": True}, request_id, last)
    return _claimed(
        visit,
        f"retry {session_id}",
        wanted,
        lambda own, run: Prepared(identity=identity, session_id=own, path=path, run=run),
    )


def prepare_reconnect(visit: Visit, session_id: str) -> Prepared:
    """Claim the conversation for reading a turn on that OpenHub may still run, for its run or a new one. Raises
    TurnRunning, PanelError."""
    turns.begin(binding=visit.binding, question=f"reconnect {session_id}")
    with _given_free_on_error(visit):
        identity = provisioning.ensure_identity(visit)
        run = runs.live_of(binding=visit.binding)
        if run is None:
            run = runs.begin(binding=visit.binding, wanted=_wanted(visit, "", {"isReconnect": True}))
        else:
            runs.attend(run=run)
        return Prepared(identity=identity, session_id=session_id, path="/api/query/stream/reconnect", run=run)


def _wanted(
    visit: Visit, question: str, facts: dict[str, Any], request_id: str = "", parent: Run | None = None
) -> Wanted:
    agent = agent_settings.agent_of(visit.binding)
    return Wanted(
        request_id=request_id,
        agent_id=agent.agent_id if agent else "openhub",
        provider=agent.provider if agent else "openhub",
        title=journals.scrub_of(visit).text(question[:500]),
        target=run_hashes.target_of(visit),
        capability=run_hashes.capability_of(visit),
        facts=facts,
        parent=parent,
    )


def prepare_direct(visit: Visit, question: str, *, request_id: str = "") -> Run:
    """The same for a question that opencode itself is asked, without OpenHub; return its run. Raises as
    `prepare_question`, and AgentNotStarted, FolderNotForAgents."""
    gatekeeping.require_active(visit)
    wanted = _wanted(visit, question, {"isDirect": True}, request_id)
    return _claimed(visit, question, wanted, lambda _session_id, run: run)


def _claimed(visit: Visit, question: str, wanted: Wanted, made: Callable[[str, Run], T]) -> T:
    turns.begin(binding=visit.binding, question=question)
    with _given_free_on_error(visit):
        is_new = not visit.session_id
        session_id = provisioning.ensure_session(visit)
        opencode, directory = opencode_of(visit), visit.directory
        # OpenHub may have given up on a turn that opencode still works on, or that waits for an answer.
        if not is_new and opencode.is_busy(session_id, directory=directory):
            raise TurnRunning(_("The assistant still works on the last question, or waits for your answer."))
        settling.settle_before(visit)
        run = runs.begin(binding=visit.binding, wanted=wanted)
        tell(visit, opencode, session_id, run_id=run.pk)
        return made(session_id, run)


@contextmanager
def _given_free_on_error(visit: Visit) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        settling.give_up(visit, code=str(getattr(error, "code", "internal")))
        raise


def _model(identity: PanelIdentity, wanted: str) -> str:
    """Choose the model: OpenHub checks permission and quota only for one that is named."""
    permitted = [str(each["model"]) for each in identity.permitted_json]
    if not permitted:
        raise ModelNotPermitted(_("No model may be used in this workspace. An administrator can allow one."))
    if wanted and wanted not in permitted:
        raise ModelNotPermitted
    return wanted or permitted[0]


def tell(visit: Visit, opencode: Opencode, session_id: str, *, run_id: str = "") -> None:
    """Tell the session its context when that changed, and give it its tools, with a key for this turn."""
    tools = agent_settings.tools_for(visit.principal.user, visit.binding)
    server = provisioning.mcp_server_of(visit.binding)
    has_tools = bool(tools) and _connect_tools(visit, opencode, server, run_id)
    note = notes.text_of(_facts(visit, skill_text(tools, server=server) if has_tools else ""))
    mark = notes.mark_of(note)
    if turns.told(binding=visit.binding) != mark:
        opencode.add_note(session_id, directory=visit.directory, text=note)
        turns.note_told(binding=visit.binding, mark=mark)


def _connect_tools(visit: Visit, opencode: Opencode, server: str, run_id: str) -> bool:
    """Without its tools the agent still answers; it is only not told of them."""
    _token, secret = binding_tokens.issue(binding=visit.binding)
    url = f"{settings.MNOTE_PUBLIC_URL}/mcp"
    try:
        return opencode.add_mcp_server(server, directory=visit.directory, url=url, token=secret, run_id=run_id)
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
