"""Who may see the knowledge pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from tests.matrix.rows import Row, Rule
from tests.matrix.world import World

_FILE = "notes.txt"


def _fill(pattern: str) -> Callable[[World], str]:
    def url(world: World) -> str:
        known = {
            "<str:workspace_id>": world.workspace_id,
            "<str:kb_id>": world.kb_id,
            "<str:document_id>": world.document.id,
            "<str:source_id>": world.library.source.id,
            "<str:run_id>": world.run.id,
            "<str:job_id>": world.job.id,
            "<int:exclusion_id>": str(world.exclusion.pk),
            "<below:path>": quote(world.document.source_path),
        }
        path = pattern
        for name, value in known.items():
            path = path.replace(name, value)
        return f"/{path}"

    return url


def _get(pattern: str, rule: Rule, query: str = "", **more: Any) -> Row:
    fill = _fill(pattern)
    return Row(pattern=pattern, method="GET", rule=rule, url=lambda world: fill(world) + query, form=True, **more)


def _post(pattern: str, rule: Rule, **more: Any) -> Row:
    return Row(pattern=pattern, method="POST", rule=rule, url=_fill(pattern), form=True, **more)


_KB = "kb/<str:kb_id>/"

ROWS = [
    _get("files/", Rule.PAGE),
    _get("w/<str:workspace_id>/files/", Rule.PAGE_READ),
    Row(
        pattern="w/<str:workspace_id>/files/<below:path>",
        method="GET",
        rule=Rule.PAGE_READ,
        url=lambda world: f"/w/{world.workspace_id}/files/guide",
        form=True,
    ),
    _get("w/<str:workspace_id>/tree/", Rule.PAGE_READ),
    _get("w/<str:workspace_id>/open/<below:path>", Rule.PAGE_READ),
    _get("w/<str:workspace_id>/find/", Rule.PAGE_READ, "?from=guide/contracts.md&name=notes.txt"),
    _get("w/<str:workspace_id>/raw/<below:path>", Rule.PAGE_READ),
    _get("w/<str:workspace_id>/page/<below:path>", Rule.PAGE_READ, "?n=1"),
    _get("kb/", Rule.PAGE),
    _get("kb/live", Rule.PAGE),
    _get("kb/new", Rule.PAGE_MANAGE),
    _post("kb/new/estimate", Rule.PAGE_MANAGE),
    _get("kb/search", Rule.PAGE, "?q=notice"),
    Row(
        pattern="kb/around",
        method="GET",
        rule=Rule.PAGE_READ,
        url=lambda world: f"/kb/around?cite={world.citation}",
        form=True,
    ),
    _get(_KB, Rule.PAGE_READ),
    *(_get(f"{_KB}{tail}", Rule.PAGE_READ) for tail in ("tree", "live", "filters", "about", "switch")),
    _post(f"{_KB}batch", Rule.PAGE_CURATE),
    _post(f"{_KB}sync", Rule.PAGE_CURATE),
    _post(f"{_KB}pin", Rule.PAGE_READ),
    _post(f"{_KB}pause", Rule.PAGE_CURATE),
    _get(f"{_KB}clear", Rule.PAGE_MANAGE),
    _post(f"{_KB}clear", Rule.PAGE_MANAGE),
    _get(f"{_KB}remove", Rule.PAGE_MANAGE),
    _post(f"{_KB}remove", Rule.PAGE_MANAGE),
    _get(f"{_KB}duplicate", Rule.PAGE_MANAGE),
    _post(f"{_KB}duplicate", Rule.PAGE_MANAGE),
    _get(f"{_KB}settings/", Rule.PAGE_MANAGE),
    _post(f"{_KB}settings/", Rule.PAGE_MANAGE),
    _get(f"{_KB}docs/<str:document_id>/", Rule.PAGE_READ),
    _get(f"{_KB}docs/<str:document_id>/menu", Rule.PAGE_READ),
    _get(f"{_KB}search/", Rule.PAGE_READ),
    _get(f"{_KB}sources/", Rule.PAGE_READ),
    _get(f"{_KB}sources/new", Rule.PAGE_CURATE),
    _post(f"{_KB}sources/new", Rule.PAGE_CURATE),
    _post(f"{_KB}sources/new/estimate", Rule.PAGE_CURATE),
    _get(f"{_KB}sources/<str:source_id>/edit", Rule.PAGE_MANAGE),
    _post(f"{_KB}sources/<str:source_id>/edit", Rule.PAGE_MANAGE),
    _post(f"{_KB}sources/<str:source_id>/estimate", Rule.PAGE_MANAGE),
    _get(f"{_KB}sources/<str:source_id>/remove", Rule.PAGE_MANAGE),
    _post(f"{_KB}sources/<str:source_id>/remove", Rule.PAGE_MANAGE),
    _post(f"{_KB}sources/<str:source_id>/thaw", Rule.PAGE_MANAGE),
    _post(f"{_KB}sources/<str:source_id>/sync", Rule.PAGE_CURATE),
    _post(f"{_KB}excluded/<int:exclusion_id>/include", Rule.PAGE_CURATE),
    _get(f"{_KB}upload/", Rule.PAGE_CURATE),
    _get(f"{_KB}upload/folders", Rule.PAGE_CURATE),
    _post(f"{_KB}upload/check", Rule.PAGE_CURATE),
    _get(f"{_KB}runs/", Rule.PAGE_READ),
    _get(f"{_KB}runs/<str:run_id>/", Rule.PAGE_READ),
    _post(f"{_KB}runs/<str:run_id>/confirm", Rule.PAGE_CURATE),
    _post(f"{_KB}runs/<str:run_id>/dismiss", Rule.PAGE_CURATE),
    _post(f"{_KB}runs/<str:run_id>/again", Rule.PAGE_CURATE),
    _get(f"{_KB}activity/", Rule.PAGE_READ),
    _get("activity/", Rule.PAGE),
    _post("activity/jobs/<str:job_id>/retry", Rule.PAGE_CURATE),
    _post("activity/jobs/<str:job_id>/cancel", Rule.PAGE_CURATE),
]
