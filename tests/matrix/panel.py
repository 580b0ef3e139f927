"""Who may call Page AI."""

from __future__ import annotations

from tests.matrix.rows import PEOPLE, TOKENS, Row, Rule

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
]
