"""Who may call Page AI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from tests.matrix.rows import MAY, PEOPLE, TOKENS, Row, Rule
from tests.matrix.world import World

#: The token that lacks the scope of knowledge has the one of the panel; the others have not.
_BUT = {"no scope": MAY, "read only": 403, "other base": 403}


def _page(world: World) -> dict[str, Any]:
    return {**world.scope, "pagePath": "notes.txt"}


def _where(world: World) -> str:
    return urlencode({"workspaceId": world.workspace_id, "path": "notes.txt"})


_PATTERNS = {
    "belongs?session=none": "belongs",
    "asks/none": "asks/<str:ask_id>",
    "questions/none": "questions/<str:request_id>",
    "": "",
    "api/auth/me": "api/<path:path>",
    "admin": "<path:rest>",
}


#: What the panel's own script calls answers with a problem, not with the sign-in page.
_SIGNED_OUT: dict[str, int | str] = dict.fromkeys(("nobody", *TOKENS), 401)
#: No OpenHub is connected in this world.
_NOT_SET_UP: dict[str, int | str] = {**_SIGNED_OUT, "bob": 503}
_NOBODY_HAS_IT: dict[str, int | str] = {"bob": 404}


def _of_binding(rest: str, method: str, but: Mapping[str, int | str], *, needs_commit: bool = False) -> Row:
    """A part of the panel that belongs to one conversation, here one of bob's."""
    return Row(
        pattern=f"page-ai/<str:binding_id>/{_PATTERNS.get(rest, rest)}",
        method=method,
        rule=Rule.PAGE_BOBS,
        url=lambda world: f"/page-ai/{world.bobs_binding}/{rest}",
        form=method == "POST",
        but=but,
        needs_commit=needs_commit,
    )


def _of_panel(rest: str, but: Mapping[str, int | str], *, needs_commit: bool = False) -> Row:
    """OpenHub itself, under the address of one conversation of bob's."""
    return Row(
        pattern=f"pageai/openhub/<str:binding_id>/{_PATTERNS[rest]}",
        method="GET",
        rule=Rule.PAGE_BOBS,
        url=lambda world: f"/pageai/openhub/{world.bobs_binding}/{rest}",
        but=but,
        needs_commit=needs_commit,
    )


def _of_run(rest: str, method: str = "GET") -> Row:
    """A run of bob's."""
    return Row(
        pattern=f"api/page-ai/runs/<str:run_id>{rest}",
        method=method,
        rule=Rule.BOBS_SESSION,
        url=lambda world: f"/api/page-ai/runs/{world.bobs_run}{rest}",
        but=_BUT,
    )


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
    Row(pattern="api/page-ai/runs", method="GET", rule=Rule.OWN, url=lambda _: "/api/page-ai/runs", but=_BUT),
    Row(
        pattern="api/page-ai/runs",
        method="POST",
        rule=Rule.READ_SCOPE,
        url=lambda _: "/api/page-ai/runs",
        body=lambda world: _page(world) | {"requestId": "click-0001"},
        but=_BUT,
    ),
    *(_of_run(rest) for rest in ("", "/events")),
    _of_run("/cancel", "POST"),
    Row(
        pattern="api/page-ai/sessions/<str:session_id>/active-run",
        method="GET",
        rule=Rule.BOBS_SESSION,
        url=lambda _: "/api/page-ai/sessions/ses_of_bob/active-run",
        but=_BUT,
    ),
    Row(
        pattern="page-ai/aside", method="GET", rule=Rule.PAGE_READ, url=lambda world: f"/page-ai/aside?{_where(world)}"
    ),
    Row(pattern="page-ai/page", method="GET", rule=Rule.PAGE_READ, url=lambda world: f"/page-ai/page?{_where(world)}"),
    Row(pattern="page-ai/runs", method="GET", rule=Rule.PAGE_READ, url=lambda world: f"/page-ai/runs?{_where(world)}"),
    Row(
        pattern="page-ai/runs/<str:run_id>",
        method="GET",
        rule=Rule.PAGE_BOBS,
        url=lambda world: f"/page-ai/runs/{world.bobs_run}",
    ),
    _of_binding("now", "GET", {}),
    _of_binding("belongs?session=none", "GET", _NOBODY_HAS_IT),
    _of_binding("events", "GET", _SIGNED_OUT, needs_commit=True),
    Row(
        pattern="page-ai/runs/<str:run_id>/changes",
        method="GET",
        rule=Rule.PAGE_BOBS,
        url=lambda world: f"/page-ai/runs/{world.bobs_run}/changes",
    ),
    _of_binding("talk", "GET", {}),
    _of_binding("stop", "POST", {}),
    _of_binding("ask", "POST", {"bob": 400}, needs_commit=True),
    *(_of_binding(rest, "POST", {}) for rest in ("new", "reopen", "settings", "selection")),
    *(_of_binding(rest, "POST", _NOBODY_HAS_IT) for rest in ("asks/none", "questions/none")),
    _of_panel("", _NOT_SET_UP),
    _of_panel("api/auth/me", _NOT_SET_UP, needs_commit=True),
    _of_panel("admin", _SIGNED_OUT),
    Row(pattern="pageai/openhub/", method="GET", rule=Rule.PAGE, url=lambda _: "/pageai/openhub/", but=_SIGNED_OUT),
    Row(
        pattern="pageai/openhub/app/assets/<str:name>",
        method="GET",
        rule=Rule.PAGE,
        url=lambda _: "/pageai/openhub/app/assets/none.js",
        but={**_SIGNED_OUT, **dict.fromkeys(PEOPLE[1:], 503)},
    ),
]
