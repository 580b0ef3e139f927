"""Which opencode works for a conversation: OpenHub's, one that MNote starts for its person and root, or a given one."""

from __future__ import annotations

from django.conf import settings

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
    return runtimes.endpoint(visit) if runtimes.is_managed() else given()


def running(visit: Visit) -> Opencode | None:
    """Return the opencode of a visit's conversation if it runs: looking starts nothing. Raises PanelNotConfigured."""
    endpoint = running_endpoint(visit)
    return Opencode(endpoint) if endpoint else None


def running_endpoint(visit: Visit) -> Endpoint | None:
    """Return where the opencode of a visit's conversation listens if it runs. Raises PanelNotConfigured."""
    is_ours = is_direct(visit) and runtimes.is_managed()
    return runtimes.live_endpoint(visit) if is_ours else endpoint_of(visit)


def is_direct(visit: Visit) -> bool:
    """Say whether the conversation is with opencode itself, without OpenHub in between."""
    agent = agent_of(visit.binding)
    return agent is not None and agent.provider == _PROVIDER and is_set_up()


def is_set_up() -> bool:
    """Say whether there is an opencode to talk to without OpenHub."""
    return runtimes.is_managed() or bool(settings.MNOTE_OPENCODE_URL) or panel.is_configured()


def layers_set_up() -> frozenset[str]:
    """Name the layers (of the health answer) that agents can run on here."""
    of_openhub = {"openhub_fastapi", "openhub_redis", "opencode"} if panel.is_configured() else set()
    of_model = {"chat_model"} if settings.MNOTE_CHAT_MODEL_URL and settings.MNOTE_CHAT_MODEL else set()
    return frozenset(of_openhub | ({"opencode"} if is_set_up() else set()) | of_model)


def given() -> Endpoint:
    """Return the opencode that the operator named, else that of OpenHub. Raises PanelNotConfigured."""
    if not settings.MNOTE_OPENCODE_URL:
        return panel.connection().opencode
    return Endpoint(
        url=settings.MNOTE_OPENCODE_URL,
        username=settings.MNOTE_OPENCODE_USERNAME,
        password=settings.MNOTE_OPENCODE_PASSWORD,
    )
