"""Who may call the knowledge API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from tests.matrix.rows import MAY, Row, Rule
from tests.matrix.world import World

_KB = "api/knowledge/knowledge-bases/<public_id:kb_id>"
_SOURCE = "api/knowledge/sources/<public_id:source_id>"


def _scoped(**body: Any) -> Callable[[World], Any]:
    return lambda world: {**world.scope, **{name: _value(world, value) for name, value in body.items()}}


def _value(world: World, value: Any) -> Any:
    return value(world) if callable(value) else value


def _url(path: str, **query: Any) -> Callable[[World], str]:
    def fill(world: World) -> str:
        address = path.format(kb=world.kb_id, source=world.document.id, set=world.library.source.id, run=world.run.id)
        wanted = {name: _value(world, value) for name, value in query.items()}
        return f"{address}?{urlencode(wanted)}" if wanted else address

    return fill


def _rag(name: str, rule: Rule, body: Callable[[World], Any], **more: Any) -> Row:
    path = f"api/knowledge-rag/{name}"
    return Row(pattern=path, method="POST", rule=rule, url=_url(f"/{path}"), body=body, **more)


def _scope_query(path: str, **query: Any) -> Callable[[World], str]:
    return lambda world: f"{path}?{urlencode({**world.scope, **query})}"


def _kb(tail: str, method: str, rule: Rule, **more: Any) -> Row:
    pattern = f"{_KB}/{tail}" if tail else _KB
    url = "/api/knowledge/knowledge-bases/{kb}" + (f"/{tail}" if tail else "")
    return Row(pattern=pattern, method=method, rule=rule, url=_url(url), **more)


def _source(tail: str, method: str, rule: Rule, **more: Any) -> Row:
    pattern = f"{_SOURCE}/{tail}" if tail else _SOURCE
    url = "/api/knowledge/sources/{source}" + (f"/{tail}" if tail else "")
    return Row(pattern=pattern, method=method, rule=rule, url=_url(url), **more)


def _locator(world: World) -> dict[str, str]:
    return {"rootUri": world.library.root.root_uri, "resourcePath": world.document.source_path}


ROWS = [
    Row(
        pattern="api/knowledge-rag/status",
        method="GET",
        rule=Rule.READ_SCOPE,
        url=_scope_query("/api/knowledge-rag/status"),
    ),
    Row(
        pattern="api/knowledge-rag/lamps",
        method="GET",
        rule=Rule.READ_SCOPE,
        url=_scope_query("/api/knowledge-rag/lamps"),
    ),
    _rag("search", Rule.READ_SCOPE, _scoped(query="notice")),
    _rag("query", Rule.READ_SCOPE, _scoped(question="notice")),
    _rag("section-context", Rule.READ, _scoped(sourceId=lambda world: world.document.id)),
    _rag("open-reference", Rule.READ, _scoped(sourceId=lambda world: world.document.id)),
    _rag("ingest", Rule.CURATE, _scoped(knowledgeBaseId=lambda world: world.kb_id, paths=["notes.txt"])),
    _rag("delete-source", Rule.CURATE_SCOPE, _scoped(paths=["notes.txt"])),
    _rag("prune-registry", Rule.CURATE_SCOPE, _scoped()),
    Row(
        pattern="api/evidence/search",
        method="POST",
        rule=Rule.READ_SCOPE,
        url=_url("/api/evidence/search"),
        body=lambda world: {"query": "notice", "scope": world.scope},
    ),
    *(
        Row(
            pattern=f"api/evidence/{name}",
            method="POST",
            rule=Rule.READ,
            url=_url(f"/api/evidence/{name}"),
            body=lambda world: {"locator": _locator(world)},
        )
        for name in ("read", "open")
    ),
    Row(
        pattern="api/search/documents",
        method="GET",
        rule=Rule.READ_SCOPE,
        url=_scope_query("/api/search/documents", q="notice"),
    ),
    Row(
        pattern="api/search/documents",
        method="POST",
        rule=Rule.READ_SCOPE,
        url=_url("/api/search/documents"),
        body=_scoped(query="notice"),
    ),
    Row(pattern="api/schemas/<slug:name>.json", method="GET", rule=Rule.PUBLIC, url=_url("/api/schemas/locator.json")),
    Row(
        pattern="api/schema",
        method="GET",
        rule=Rule.OWN,
        url=_url("/api/schema"),
        but={"nobody": MAY},
    ),
    Row(pattern="api/docs/", method="GET", rule=Rule.PAGE, url=_url("/api/docs/"), form=True),
    Row(
        pattern="api/knowledge/knowledge-bases",
        method="GET",
        rule=Rule.LIST,
        url=_url("/api/knowledge/knowledge-bases"),
    ),
    Row(
        pattern="api/knowledge/knowledge-bases",
        method="POST",
        rule=Rule.MANAGE_SCOPE,
        url=_url("/api/knowledge/knowledge-bases"),
        body=_scoped(name="Made by the matrix"),
    ),
    Row(
        pattern="api/knowledge/provider-profiles",
        method="GET",
        rule=Rule.MANAGE_SCOPE,
        url=_scope_query("/api/knowledge/provider-profiles"),
    ),
    _kb("", "GET", Rule.READ),
    _kb("", "PATCH", Rule.MANAGE, body=lambda _: {"description": "x"}),
    _kb("", "DELETE", Rule.MANAGE),
    _kb("status", "GET", Rule.READ),
    _kb("tags", "GET", Rule.READ),
    _kb("sync", "POST", Rule.CURATE, body=lambda _: {}),
    _kb("source-sets", "GET", Rule.READ),
    _kb("source-sets", "POST", Rule.CURATE, body=lambda _: {"path": "guide"}),
    _kb("sources", "GET", Rule.READ),
    _kb("sources", "POST", Rule.CURATE, body=lambda _: {"path": "notes.txt"}),
    _kb("sync-runs", "GET", Rule.READ),
    Row(
        pattern="api/knowledge/source-sets/<public_id:source_set_id>",
        method="GET",
        rule=Rule.READ,
        url=_url("/api/knowledge/source-sets/{set}"),
    ),
    Row(
        pattern="api/knowledge/source-sets/<public_id:source_set_id>",
        method="PATCH",
        rule=Rule.MANAGE,
        url=_url("/api/knowledge/source-sets/{set}"),
        body=lambda _: {"graceHours": 48},
    ),
    Row(
        pattern="api/knowledge/source-sets/<public_id:source_set_id>",
        method="DELETE",
        rule=Rule.MANAGE,
        url=_url("/api/knowledge/source-sets/{set}"),
    ),
    Row(
        pattern="api/knowledge/sync-runs/<public_id:run_id>",
        method="GET",
        rule=Rule.READ,
        url=_url("/api/knowledge/sync-runs/{run}"),
    ),
    Row(
        pattern="api/knowledge/sync-runs/<public_id:run_id>/confirm",
        method="POST",
        rule=Rule.CURATE,
        url=_url("/api/knowledge/sync-runs/{run}/confirm"),
    ),
    _source("", "GET", Rule.READ),
    _source("", "DELETE", Rule.CURATE),
    _source("reparse", "POST", Rule.CURATE),
    _source("cancel", "POST", Rule.CURATE),
    _source("tags", "PUT", Rule.CURATE, body=lambda _: {"tags": ["a"]}),
    _source("timeline", "GET", Rule.READ),
    _source("chunks", "GET", Rule.READ),
    _source("source-map", "GET", Rule.READ),
    _source("artifacts", "GET", Rule.READ),
    _source("links", "GET", Rule.READ),
    Row(
        pattern="api/knowledge/files",
        method="POST",
        rule=Rule.WRITE_FILE,
        url=_scope_query("/api/knowledge/files", folder="guide", name="new.md"),
        headers={"Content-Type": "application/octet-stream"},
        body=lambda _: "# New",
    ),
    Row(
        pattern="api/knowledge/citations/open-reference",
        method="GET",
        rule=Rule.READ,
        url=_url("/api/knowledge/citations/open-reference", token=lambda world: world.citation),
    ),
]
