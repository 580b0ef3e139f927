"""Which opencode works for a conversation: OpenHub's, one that MNote starts for its person and root, or a given one."""

from __future__ import annotations

from django.conf import settings

from pageai.exceptions import PanelNotConfigured
from pageai.panel.connection import Endpoint
from pageai.panel.opencode import Opencode
from pageai.selectors.agent_settings import agent_of
from pageai.services import panel, runtimes
from pageai.services.gatekeeping import Visit

_PROVIDER = "opencode"


def opencode_of(visit: Visit) -> Opencode:
    """Return the opencode that works for a visit's conversation. Raises as `endpoint_of`."""
    return Opencode(endpoint_of(visit))


def endpoint_of(visit: Visit) -> Endpoint:
    """Return where the opencode of a visit's conversation listens; one of ours is started when it does not run.

    Raises:
        PanelNotConfigured, AgentNotStarted, FolderNotForAgents.
    """
    if not is_direct(visit):
        return panel.connection().opencode
    return runtimes.endpoint(visit) if runtimes.is_managed() else _given()


def running(visit: Visit) -> Opencode | None:
    """Return the opencode of a visit's conversation if it runs: looking starts nothing. Raises PanelNotConfigured."""
    if not (is_direct(visit) and runtimes.is_managed()):
        return opencode_of(visit)
    endpoint = runtimes.live_endpoint(visit)
    return Opencode(endpoint) if endpoint else None


def is_direct(visit: Visit) -> bool:
    """Say whether the conversation is with opencode itself, without OpenHub in between."""
    agent = agent_of(visit.binding)
    return agent is not None and agent.provider == _PROVIDER and is_set_up()


def is_set_up() -> bool:
    """Say whether there is an opencode to talk to without OpenHub."""
    return runtimes.is_managed() or bool(settings.MNOTE_OPENCODE_URL)


def _given() -> Endpoint:
    if not settings.MNOTE_OPENCODE_URL:
        raise PanelNotConfigured
    return Endpoint(
        url=settings.MNOTE_OPENCODE_URL,
        username=settings.MNOTE_OPENCODE_USERNAME,
        password=settings.MNOTE_OPENCODE_PASSWORD,
    )
