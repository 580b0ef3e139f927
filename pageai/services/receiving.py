"""Announcing a run before its question is asked, so that a host that asks twice makes one run."""

from __future__ import annotations

from mnote.principals import Principal
from pageai.agents import agent_named
from pageai.exceptions import SessionTaken
from pageai.models import Run
from pageai.selectors import agent_settings
from pageai.selectors import bindings as selectors
from pageai.services import bindings, gatekeeping, run_hashes, runs
from pageai.services.pages import Page
from pageai.services.runs import Wanted


def announce(
    *, principal: Principal, page: Page, request_id: str, session_id: str = "", agent_id: str = ""
) -> tuple[Run, bool]:
    """Return the run of a request on a page, and whether it is new.

    Raises:
        NotFound: the session is nobody's, or another person's. SessionTaken: it is another page's.
    """
    if session_id:
        binding = selectors.binding_of_session(principal, session_id)
        if binding.page_resource_id != page.resource_id or binding.workspace_id != page.root.workspace_id:
            raise SessionTaken
    else:
        binding = bindings.open_binding(principal=principal, page=page).binding
    visit = gatekeeping.enter(principal=principal, binding_id=binding.pk)
    agent = agent_named(agent_id) if agent_id else agent_settings.agent_of(binding)
    wanted = Wanted(
        request_id=request_id,
        agent_id=agent.agent_id if agent else "openhub",
        provider=agent.provider if agent else "openhub",
        target=run_hashes.target_of(visit),
        capability=run_hashes.capability_of(visit),
    )
    return runs.receive(binding=binding, wanted=wanted)
