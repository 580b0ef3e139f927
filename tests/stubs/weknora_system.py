"""Health, versions, models and the like of a WeKnora stub."""

from __future__ import annotations

from tests.stubs.weknora_replies import Ask, Refused, Reply, failure, reply, success
from tests.stubs.weknora_world import LITE, World, stamp

_FEATURES = [
    "agents", "integrations.api", "integrations.embed", "integrations.im", "settings.mcp", "settings.sandbox",
    "settings.storage", "settings.vectorstore", "settings.websearch",
]  # fmt: skip


_SCANS = ["pdf", "jpg", "jpeg", "png", "bmp", "tiff"]
_OUTSIDE: list[tuple[str, list[str], str]] = [
    ("mineru", [*_SCANS, "docx", "pptx"], "MinerU service not configured"),
    ("mineru_cloud", [*_SCANS, "docx", "pptx"], "MinerU API Key not configured"),
    ("paddleocr_vl", _SCANS, "PaddleOCR-VL service not configured"),
]


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
            "FileTypes": [
                "docx",
                "doc",
                "pdf",
                "md",
                "xlsx",
                "xls",
                "pptx",
                "epub",
                "html",
                "htm",
                "jpg",
                "jpeg",
                "png",
            ],
            "Available": world.has_reader,
            "UnavailableReason": why,
        },
        {
            "Name": "simple",
            "Description": "Simple format & image parsing (no external service required)",
            "FileTypes": ["md", "markdown", "txt", "csv", "json", "jpg", "jpeg", "png", "gif", "mp3", "wav"],
            "Available": True,
            "UnavailableReason": "",
        },
        *(_outside(world, *each) for each in _OUTSIDE),
    ]
    if world.has_reader:  # known to the reader only
        types = ["docx", "html", "pdf", "pptx", "xlsx"]
        rows.append({"Name": "markitdown", "Description": "", "FileTypes": types, "Available": True})
    body = {"code": 0, "connected": world.has_reader, "data": rows, "docreader_addr": "", "docreader_transport": "grpc"}
    return reply({**body, "msg": "success"})


def _outside(world: World, name: str, types: list[str], reason: str) -> dict[str, object]:
    """An engine that needs a service of its own; `world.engines` says what is wrong with it, "" for nothing."""
    why = world.engines.get(name, reason)
    return {"Name": name, "Description": "", "FileTypes": types, "Available": not why, "UnavailableReason": why}


def model(world: World, ask: Ask) -> Reply:
    found = world.models.get(ask.parts["model"])
    if found is None:
        raise Refused(failure(404, 1003, "model not found"))
    return success({"id": found.id, "name": found.name, "type": found.kind, "source": "remote", "status": found.status})
