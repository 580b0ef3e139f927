"""Who may call Page AI."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from tests.matrix.rows import MAY, PEOPLE, TOKENS, Row, Rule
from tests.matrix.world import World

#: The token that lacks the scope of knowledge has the one of the panel; the others have not.
_BUT = {"no scope": MAY, "read only": 403, "other base": 403}


def _page(world: World) -> dict[str, Any]:
    return {**world.scope, "pagePath": "notes.txt"}


#: The tool facade takes tokens with the scope mcp and nothing else, least of all a session.
ROWS = [
    Row(
        pattern="mcp",
        method="POST",
        rule=Rule.OWN_SESSION,
        url=lambda _: "/mcp",
        body=lambda _: {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        but=dict.fromkeys((*PEOPLE, *TOKENS), 401),
    ),
    Row(
        pattern="api/page-ai/bootstrap",
        method="POST",
        rule=Rule.READ_SCOPE,
        url=lambda _: "/api/page-ai/bootstrap",
        body=_page,
        but=_BUT,
    ),
    Row(
        pattern="api/page-ai/bootstrap",
        method="GET",
        rule=Rule.READ_SCOPE,
        url=lambda world: f"/api/page-ai/bootstrap?{urlencode(_page(world))}",
        but=_BUT,
    ),
    Row(pattern="api/page-ai/health", method="GET", rule=Rule.OWN, url=lambda _: "/api/page-ai/health", but=_BUT),
    Row(
        pattern="api/page-ai/agents/descriptors",
        method="GET",
        rule=Rule.OWN,
        url=lambda _: "/api/page-ai/agents/descriptors",
        but=_BUT,
    ),
]
