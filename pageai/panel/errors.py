"""What goes wrong with the panel's own services. `layer` is the key of the health answer; codes, no sentences."""

from __future__ import annotations


class PanelError(Exception):
    """One of OpenHub, its Redis or its opencode gave no usable answer."""

    code = "panel-error"

    def __init__(self, *, layer: str, reason: str = "") -> None:
        super().__init__(f"{layer}: {reason or self.code}")
        self.layer = layer
        self.reason = reason


class PanelUnavailable(PanelError):
    """No connection, or no answer in time."""

    code = "panel-unavailable"


class PanelProtocolError(PanelError):
    """An answer that is none: HTML for JSON, a missing field, a status that means nothing here."""

    code = "panel-protocol"


class PanelRefused(PanelError):
    """The service understood and said no."""

    code = "panel-refused"

    def __init__(self, *, layer: str, status: int, reason: str = "") -> None:
        super().__init__(layer=layer, reason=reason)
        self.status = status
