"""Which opencode works for a conversation."""

from __future__ import annotations

from pageai.panel.connection import Endpoint
from pageai.panel.opencode import Opencode
from pageai.services import panel
from pageai.services.gatekeeping import Visit


def opencode_of(visit: Visit) -> Opencode:
    """Return the opencode that works for a visit's conversation. Raises as `endpoint_of`."""
    return Opencode(endpoint_of(visit))


def endpoint_of(visit: Visit) -> Endpoint:  # noqa: ARG001 every conversation is OpenHub's
    """Return where the opencode of a visit's conversation listens. Raises PanelNotConfigured."""
    return panel.connection().opencode
