"""One way to ask OpenHub and opencode: JSON in, JSON out, and one table from what went wrong to an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mnote.http import Answer, Client
from mnote.http_limits import DoorError, Timeouts
from pageai.panel.errors import PanelProtocolError, PanelRefused, PanelUnavailable
from pageai.panel.headers import is_json

TIMEOUTS = Timeouts(connect=5, read=20, total=25)
#: For what a page waits for only to show more.
SHORT = Timeouts(connect=2, read=4, total=5)
_BROKEN_FROM = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Asks one service. `layer` names it in errors."""

    client: Client
    layer: str

    def ask(self, method: str, path: str, **parts: Any) -> Answer:
        """Return the answer, whatever its status. Raises PanelUnavailable."""
        try:
            return self.client.request(method, path, **parts)
        except DoorError:
            raise PanelUnavailable(layer=self.layer) from None

    def json(self, method: str, path: str, **parts: Any) -> Any:
        """Return what a successful answer holds.

        Raises:
            PanelUnavailable: no answer, or the service is broken. PanelRefused: it said no.
            PanelProtocolError: the answer is no JSON.
        """
        answer = self.ask(method, path, **parts)
        if answer.status >= _BROKEN_FROM:
            raise PanelUnavailable(layer=self.layer, reason=f"status {answer.status}")
        if not answer.is_ok:
            raise PanelRefused(layer=self.layer, status=answer.status)
        return self.read(answer)

    def read(self, answer: Answer) -> Any:
        """Return the JSON of an answer. Raises PanelProtocolError."""
        if not is_json(answer.headers):
            raise PanelProtocolError(layer=self.layer, reason="no JSON")
        try:
            return answer.json()
        except ValueError:
            raise PanelProtocolError(layer=self.layer, reason="no JSON") from None

    def mapping(self, method: str, path: str, **parts: Any) -> Mapping[str, Any]:
        """Return a JSON object. Raises as `json`."""
        return as_mapping(self.json(method, path, **parts), self.layer)


def as_mapping(value: Any, layer: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise PanelProtocolError(layer=layer, reason="no object")
    return value


def as_list(value: Any, layer: str) -> list[Mapping[str, Any]]:
    """Return a list of objects; what is no object in it is left out."""
    if not isinstance(value, list):
        raise PanelProtocolError(layer=layer, reason="no list")
    return [each for each in value if isinstance(each, dict)]
