"""Health, versions, models and the like of a WeKnora stub."""

from __future__ import annotations

from tests.stubs.weknora_replies import Ask, Refused, Reply, failure, reply, success
from tests.stubs.weknora_world import LITE, World, stamp

_FEATURES = [
    "agents", "integrations.api", "integrations.embed", "integrations.im", "settings.mcp", "settings.sandbox",
    "settings.storage", "settings.vectorstore", "settings.websearch",
]  # fmt: skip


def health(world: World, ask: Ask) -> Reply:
    return reply({"status": "ok"})


def capabilities(world: World, ask: Ask) -> Reply:
    known: dict[str, object] = {name: {"supported": True} for name in _FEATURES}
    lite = {"supported": False, "reason": "not_supported_in_lite"}
    known["organizations"] = lite if world.edition == LITE else {"supported": True}
    return reply({"code": 0, "data": {"edition": world.edition, "capabilities": known}, "msg": "success"})


def info(world: World, ask: Ask) -> Reply:
    data = {
        "version": "unknown",
        "edition": world.edition,
        "commit_id": "unknown",
        "build_time": "unknown",
        "go_version": "unknown",
        "keyword_index_engine": "sqlite",
        "vector_store_engine": "sqlite",
        "graph_database_engine": "Not Enabled",
        "db_version": "11",
        "started_at": stamp(world.started_at.replace(microsecond=0)),
    }
    return reply({"code": 0, "data": data, "msg": "success"})


def engines(world: World, ask: Ask) -> Reply:
    why = "" if world.has_reader else "DocReader service not connected"
    rows = [
        {
            "Name": "builtin",
            "Description": "DocReader built-in parser engine",
            "FileTypes": ["docx", "pdf", "md"],
            "Available": world.has_reader,
            "UnavailableReason": why,
        },
        {
            "Name": "simple",
            "Description": "Simple format & image parsing (no external service required)",
            "FileTypes": ["md", "markdown", "txt", "csv", "json"],
            "Available": True,
            "UnavailableReason": "",
        },
    ]
    body = {"code": 0, "connected": world.has_reader, "data": rows, "docreader_addr": "", "docreader_transport": "grpc"}
    return reply({**body, "msg": "success"})


def model(world: World, ask: Ask) -> Reply:
    found = world.models.get(ask.parts["model"])
    if found is None:
        raise Refused(failure(404, 1003, "model not found"))
    return success(
        {"id": found.id, "name": found.name, "type": "Embedding", "source": "remote", "status": found.status}
    )
