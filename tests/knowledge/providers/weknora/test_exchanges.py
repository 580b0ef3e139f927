"""The stub against what a live server answered: the same requests, the same codes, the same shapes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import requests

from knowledge.providers.weknora.client import NOBODY
from tests.knowledge.providers.weknora.desk import recorded_exchanges
from tests.stubs.weknora import WeKnoraStub
from tests.stubs.weknora_work import passages_of
from tests.stubs.weknora_world import COLLISION, EMBEDDER_TEXTS, KB, READER_DOWN, RESTARTED, Document, Tag

_ID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
#: Requests whose object is not there.
_ABSENT = re.compile(r"unknown$|unknown-(kb|doc)|probe|kb-put-ro|delete-again|delete-twice|recreate|kbdel-search")
#: Members that only some answers have.
_MAY_LACK = frozenset(
    {
        *("uptime_seconds", "started_at", "finished_at", "duration_ms", "parent_span_id", "input", "output"),
        *("error_code", "error_message", "last_error", "storage_backend_id"),
        *("knowledge_description", "knowledge_custom_metadata"),
    }
)
#: Members whose inside is the caller's, or depends on the server's build.
_OPEN = (".metadata", ".capabilities", ".chunking_config", ".input", ".output")
#: The server dies of it; the stub has no such call because we never make it.
_NOT_SERVED = frozenset({"P16-copy-new"})

EXCHANGES = [each for each in recorded_exchanges() if each["probe"] not in _NOT_SERVED]


@pytest.mark.parametrize("recorded", EXCHANGES, ids=lambda each: each["probe"])
def test_stub_answers_as_the_live_server_did(stub: WeKnoraStub, recorded: dict[str, Any]) -> None:
    _furnish(stub, recorded)

    answer = _send(stub, recorded)

    assert answer.status_code == recorded["status"]
    if isinstance(recorded["response_body"], str):
        assert answer.text == recorded["response_body"]
    else:
        assert _differences(recorded["response_body"], answer.json()) == []


def _furnish(stub: WeKnoraStub, recorded: dict[str, Any]) -> None:
    """Make what the request speaks of, in the state the answer shows."""
    probe, path = recorded["probe"], recorded["path"]
    stub.world.is_frozen, stub.world.has_reader = True, False
    creates = recorded["method"] == "POST" and path.endswith("/knowledge-bases") and probe != "kb-create-same-id"
    if not creates and (recorded["file"] == "tags" or not _ABSENT.search(probe)):
        found = re.search(rf"(?:knowledge-bases|config)/({_ID})", path)
        kb = _add_kb(stub, found[1] if found else "11111111-1111-4111-8111-111111111111")
        for document_id in re.findall(rf"(?:knowledge/|chunks/|ids=)({_ID})", path):
            _add_document(stub, kb, document_id, recorded)
    if recorded["file"] == "tags" and stub.world.kbs:
        _tagged(stub, recorded)
    _SPECIAL.get(probe, lambda _stub, _recorded: None)(stub, recorded)


def _add_kb(stub: WeKnoraStub, kb_id: str) -> KB:
    session = requests.Session()
    body = {"id": kb_id, "name": "x", "embedding_model_id": stub.model.id, "chunking_config": {"strategy": "auto"}}
    session.post(f"{stub.url}/api/v1/knowledge-bases", json=body, headers={"X-API-Key": stub.key}, timeout=10)
    session.close()
    return stub.world.kbs[kb_id]


def _add_document(
    stub: WeKnoraStub, kb: KB, document_id: str, recorded: dict[str, Any], text: str = "# Zebra\n\nSlot.\n"
) -> Document:
    row = _row(recorded["response_body"])
    now = stub.world.now()
    document = Document(
        id=document_id,
        kb_id=kb.id,
        tenant=1,
        name="demo.md",
        folder="",
        file_type="md",
        body=text.encode(),
        metadata=None,
        channel="api",
        created_at=now,
        updated_at=now,
        status=row.get("parse_status") or "completed",
        enable_status=row.get("enable_status") or "enabled",
        summary_status=row.get("summary_status") or "failed",
        error=row.get("error_message") or "",
        processed_at=now,
        has_started=True,
    )
    document.passages = passages_of(stub.world, document)
    stub.world.documents[document_id] = document
    return document


def _row(body: Any) -> dict[str, Any]:
    data = body.get("data") if isinstance(body, dict) else None
    return data if isinstance(data, dict) else {}


def _send(stub: WeKnoraStub, recorded: dict[str, Any]) -> requests.Response:
    headers = dict(_HEADERS.get(recorded["probe"], {"X-API-Key": stub.key}))
    if recorded["probe"] in _TENANTS:
        headers["X-Tenant-ID"] = _TENANTS[recorded["probe"]]
    parts: dict[str, Any] = {}
    body = recorded["request_body"]
    if isinstance(body, dict) and "multipart/form-data" in body:
        parts = _multipart(body["multipart/form-data"])
    elif isinstance(body, dict):
        parts = {"json": _expanded(body)}
    elif isinstance(body, str) and not body.startswith("empty body"):
        parts = {"data": body}
    elif isinstance(body, str):
        parts = {"data": iter(())}
    with requests.Session() as session:
        return session.request(recorded["method"], stub.url + recorded["path"], headers=headers, timeout=30, **parts)


def _multipart(described: dict[str, Any]) -> dict[str, Any]:
    fields = {name: value for name, value in described.items() if isinstance(value, str)}
    files = {
        name: (value["filename"], b"x" * min(value["bytes"], 4_000), "text/markdown")
        for name, value in described.items()
        if isinstance(value, dict)
    }
    return {"data": fields, "files": files}


def _expanded(body: dict[str, Any]) -> dict[str, Any]:
    ids = body.get("knowledge_ids")
    if isinstance(ids, str):
        number = re.search(r"\d+", ids)
        body = body | {"knowledge_ids": [f"id-{n}" for n in range(int(number[0]) if number else 0)]}
    return body


def _duplicate(stub: WeKnoraStub, recorded: dict[str, Any]) -> None:
    kb = stub.world.kbs["11111111-1111-4111-8111-111111111111"]
    size = recorded["request_body"]["multipart/form-data"]["file"]["bytes"]
    _add_document(stub, kb, "22222222-2222-4222-8222-222222222222", recorded, "x" * min(size, 4_000))


def _with(**facts: Any) -> Callable[[WeKnoraStub, dict[str, Any]], None]:
    def furnish(stub: WeKnoraStub, recorded: dict[str, Any]) -> None:
        for name, value in facts.items():
            setattr(stub.world, name, value)

    return furnish


def _model(behaviour: str) -> Callable[[WeKnoraStub, dict[str, Any]], None]:
    def furnish(stub: WeKnoraStub, recorded: dict[str, Any]) -> None:
        stub.model.behaviour = behaviour

    return furnish


def _lost_model(stub: WeKnoraStub, recorded: dict[str, Any]) -> None:
    for kb in stub.world.kbs.values():
        kb.body["embedding_model_id"] = "00000000-0000-4000-8000-000000000001"
    for document in stub.world.documents.values():
        document.status, document.steps = "processing", []


def _no_model(stub: WeKnoraStub, recorded: dict[str, Any]) -> None:
    for kb in stub.world.kbs.values():
        kb.body["embedding_model_id"] = ""
    for document in stub.world.documents.values():
        document.status, document.steps = "processing", []


def _burned(stub: WeKnoraStub, recorded: dict[str, Any]) -> None:
    _add_kb(stub, recorded["request_body"]["id"]).is_deleted = True


def _limited(stub: WeKnoraStub, recorded: dict[str, Any]) -> None:
    stub.world.keys[stub.key].kb_ids = frozenset({"another"})


def _of_another(stub: WeKnoraStub, recorded: dict[str, Any]) -> None:
    for kb in stub.world.kbs.values():
        kb.tenant = 2


def _without_rights(stub: WeKnoraStub, recorded: dict[str, Any]) -> None:
    stub.world.keys[stub.key].rights = frozenset({"retrieve"})


def _in_work(stub: WeKnoraStub, recorded: dict[str, Any]) -> None:
    for document in stub.world.documents.values():
        document.status = "pending"


def _searched(stub: WeKnoraStub, recorded: dict[str, Any]) -> None:
    """A document whose passages are those of the answer."""
    wanted = recorded["request_body"]["knowledge_ids"][0]
    hits = recorded["response_body"]["data"]
    kb = next(iter(stub.world.kbs.values()))
    document = _add_document(stub, kb, wanted, recorded, hits[0]["content"])
    document.metadata = hits[0]["metadata"]
    document.passages = document.passages[:1] * len(hits)


def _empty_text(stub: WeKnoraStub, recorded: dict[str, Any]) -> None:
    for document in stub.world.documents.values():
        document.body = b""


def _chunk_of(stub: WeKnoraStub, recorded: dict[str, Any]) -> None:
    for document in stub.world.documents.values():
        document.passages = []


def _error_like(text: str) -> Callable[[WeKnoraStub, dict[str, Any]], None]:
    def furnish(stub: WeKnoraStub, recorded: dict[str, Any]) -> None:
        for document in stub.world.documents.values():
            document.error = text

    return furnish


def _platform(stub: WeKnoraStub, recorded: dict[str, Any]) -> None:
    stub.world.keys[stub.key].tenant = 0


def _vector_rights(stub: WeKnoraStub, recorded: dict[str, Any]) -> None:
    stub.world.keys[stub.key].rights |= {"manage_vector_stores"}


def _tagged(stub: WeKnoraStub, recorded: dict[str, Any]) -> None:
    """All that is named in the request: a knowledge base, documents, tags; documents carry the tags of the answer."""
    body = recorded["request_body"] if isinstance(recorded["request_body"], dict) else {}
    kb = next(iter(stub.world.kbs.values()))
    if "kb_id" in body:
        kb = _add_kb(stub, body["kb_id"])
    for document_id in body.get("updates", ()):
        if document_id != NOBODY:
            _add_document(stub, kb, document_id, recorded)
    named = re.findall(_ID, recorded["path"].partition("/tags/")[2] + str(body.get("updates", "")))
    shown = _row(recorded["response_body"]).get("tags") or []
    wanted = body.get("multipart/form-data", {}).get("tag_ids", "").split(",")
    for tag_id in {*named, *wanted, *(each["id"] for each in shown)} - {NOBODY, "", *stub.world.documents}:
        _add_tag(stub, kb, tag_id, f"tag {tag_id}")
    if recorded["probe"] in ("tags-create-dup", "tags-list-kw"):
        _add_tag(stub, kb, "33333333-3333-4333-8333-333333333333", "nl")
    if recorded["probe"] in ("tags-get", "tags-batch-tags", "tags-del-in-use", "tags-del-force"):
        for document in stub.world.documents.values() or [_add_document(stub, kb, "doc", recorded)]:
            document.tags = list(stub.world.tags)


def _add_tag(stub: WeKnoraStub, kb: KB, tag_id: str, name: str) -> None:
    at = stub.world.now()
    facts = {"kb_id": kb.id, "tenant": kb.tenant, "color": "", "sort_order": 0, "created_at": at}
    stub.world.tags[tag_id] = Tag(id=tag_id, seq=len(stub.world.tags) + 1, name=name, **facts)


_SPECIAL: dict[str, Callable[[WeKnoraStub, dict[str, Any]], None]] = {
    "P1-dup": _duplicate,
    "P6-reupload": _duplicate,
    "P18-60MB": _with(max_upload=1_000),
    "quota-exceeded": _with(quota=-1),
    "search-embedder-500": _model("500"),
    "search-embedder-429": _model("429"),
    "search-embedder-down": _model("down"),
    "search-embedder-short": _model("short"),
    "hs-kb-unknown-model": _lost_model,
    "init-config-unknown-model": _lost_model,
    "unknownmodel-reparse": _lost_model,
    "hs-kb-no-model": _no_model,
    "nomodel-spans": _no_model,
    "T33-get-other": _limited,
    "xtenant-kb": _of_another,
    "cap-missing": _without_rights,
    "cancel": _in_work,
    "hs-full-object": _searched,
    "hit-metadata-overrides": _searched,
    "cancelled-search": _searched,
    "P17-empty-get": _empty_text,
    "type-summary": _chunk_of,
    "seqid-failed-stays": _error_like(COLLISION),
    "get-500": _error_like(EMBEDDER_TEXTS["500"]),
    "kill-during-delete": _error_like(RESTARTED),
    "spans-pdf": _error_like(READER_DOWN),
    "platform-no-tenant": _platform,
    "P15-info": _vector_rights,
    "engines-prov": _vector_rights,
    "kb-put-ro": _without_rights,
    "ingest-probe-ro": _without_rights,
    "kb-own-id-2-recreate": _burned,
}
_NOBODY: dict[str, str] = {}
_HEADERS: dict[str, dict[str, str]] = {
    "none": _NOBODY,
    "caps-noauth": _NOBODY,
    "no-route": _NOBODY,
    "bad-key": {"X-API-Key": "sk-wrong"},
}
_TENANTS = {"bad-xtenant": "abc", "other-xtenant": "999"}


def _differences(recorded: Any, given: Any, at: str = "") -> list[str]:
    """Return where two answers differ in shape: members, kinds of values, codes. Nothing may stand for anything."""
    if at.endswith(_OPEN) or ((recorded is None) != (given is None) and at != ".data"):
        return []
    if isinstance(recorded, dict) and isinstance(given, dict):
        found = [f"{at}.{name}: only in one" for name in sorted((set(recorded) ^ set(given)) - _MAY_LACK)]
        for name in sorted(set(recorded) & set(given)):
            found += _differences(recorded[name], given[name], f"{at}.{name}")
        return found
    if isinstance(recorded, list) and isinstance(given, list):
        return _differences(recorded[0], given[0], f"{at}[0]") if recorded and given else []
    if at.endswith((".code", ".success")) or recorded is None:
        return [] if recorded == given else [f"{at}: {recorded!r} / {given!r}"]
    numbers = isinstance(recorded, int | float) and isinstance(given, int | float)
    return [] if numbers or type(recorded) is type(given) else [f"{at}: {recorded!r} / {given!r}"]
