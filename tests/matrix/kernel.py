"""Who may call the kernel's pages and API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.matrix.rows import MAY, PEOPLE, TOKENS, Row, Rule
from tests.matrix.world import World


def _page(pattern: str, method: str, rule: Rule, url: Callable[[World], str] | None = None, **more: Any) -> Row:
    return Row(pattern=pattern, method=method, rule=rule, url=url or (lambda _: f"/{pattern}"), form=True, **more)


def _api(pattern: str, method: str, rule: Rule, url: Callable[[World], str] | None = None, **more: Any) -> Row:
    return Row(pattern=pattern, method=method, rule=rule, url=url or (lambda _: f"/{pattern}"), **more)


def _job(tail: str = "") -> Callable[[World], str]:
    return lambda world: f"/api/jobs/{world.job.id}{tail}"


ROWS = [
    _page("", "GET", Rule.PAGE),
    _page("w/<str:workspace_id>/", "GET", Rule.PAGE_READ, lambda world: f"/w/{world.workspace_id}/"),
    _page("sign-in/", "GET", Rule.PUBLIC),
    _page("sign-in/<str:secret>", "GET", Rule.PUBLIC, lambda _: "/sign-in/unknown"),
    _page("sign-out/", "POST", Rule.PUBLIC),
    _page("account/", "GET", Rule.PAGE),
    _page("account/name/", "POST", Rule.PAGE, body=lambda _: {"display_name": "x"}),
    _page("account/password/", "POST", Rule.PAGE),
    _page("account/tokens/", "POST", Rule.PAGE),
    _page(
        "account/tokens/<int:token_id>/revoke/",
        "POST",
        Rule.PAGE_BOBS,
        lambda world: f"/account/tokens/{world.bobs_token.pk}/revoke/",
    ),
    _page("language/", "POST", Rule.PUBLIC),
    _page("theme/", "POST", Rule.PUBLIC),
    _page("healthz", "GET", Rule.PUBLIC),
    # It is asked by load balancers; without a worker the honest answer to anybody is 503.
    _page("readyz", "GET", Rule.PUBLIC, but=dict.fromkeys((*PEOPLE, *TOKENS), 503)),
    _page("_styleguide/", "GET", Rule.ADMIN),
    _api("metrics", "GET", Rule.ADMIN_API),
    _api("api/openapi.json", "GET", Rule.OWN, but={"nobody": MAY}),
    _api("api/workspaces", "GET", Rule.LIST, but={"no scope": MAY}),
    _api("api/tokens", "GET", Rule.OWN_SESSION),
    _api("api/tokens", "POST", Rule.OWN_SESSION, body=lambda _: {"name": "x", "scopes": ["knowledge:read"]}),
    _api("api/tokens/<int:token_id>", "DELETE", Rule.BOBS_SESSION, lambda world: f"/api/tokens/{world.bobs_token.pk}"),
    _api("api/jobs", "GET", Rule.LIST),
    _api("api/jobs/<str:job_id>", "GET", Rule.READ, _job()),
    _api("api/jobs/<str:job_id>/cancel", "POST", Rule.CURATE, _job("/cancel")),
    _api("api/jobs/<str:job_id>/retry", "POST", Rule.CURATE, _job("/retry")),
    _api(
        "api/jobs/events",
        "GET",
        Rule.READ_SCOPE,
        lambda world: f"/api/jobs/events?workspaceId={world.workspace_id}",
        needs_commit=True,
    ),
    _api("api/ui/preferences", "GET", Rule.OWN),
    _api("api/ui/preferences", "PUT", Rule.OWN, body=lambda _: {"kb.list.view": "rows"}),
]
