"""Passages and processing traces of a WeKnora stub."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from tests.stubs.weknora_documents import seen_document
from tests.stubs.weknora_replies import Ask, Reply, not_found, paging, success
from tests.stubs.weknora_work import look
from tests.stubs.weknora_world import COLLISION, EMBEDDER_TEXTS, Document, World, stamp

_STAGES = ("docreader", "chunking", "embedding", "multimodal", "postprocess")
_MAX_PAGE = 100


def chunks(world: World, ask: Ask) -> Reply:
    """Pages of ten, cut at a hundred without a word. The text passages are meant unless others are asked for."""
    document = seen_document(world, ask)
    types = ask.values("chunk_type") or ["text"]
    at, size = paging(ask, default=10, most=_MAX_PAGE)
    numbers = [number for number, each in enumerate(document.passages) if each.type in types]
    shown = [_view(document, number, world) for number in numbers[(at - 1) * size : at * size]]
    return success(shown, page=at, page_size=size, total=len(numbers))


def chunk(world: World, ask: Ask) -> Reply:
    for document in world.documents.values():
        for number, passage in enumerate(document.passages):
            if passage.id == ask.parts["chunk"]:
                seen_document(world, replace(ask, parts={"document": document.id}))
                return success(_view(document, number, world))
    raise not_found("Chunk")


def trace(world: World, ask: Ask) -> Reply:
    """Steps that never ran are made up from the state of the document; they have no id."""
    look(world)
    document = seen_document(world, ask)
    error = _error_of(document)
    now = stamp(world.now())
    spans = [_span(document, name, status, error, now) for name, status in _statuses(world, document, error)]
    for span in spans:
        if span["name"] == "multimodal" and document.overrides.get("enable_multimodel"):
            span |= {"status": "done", "children": _of_pictures(world, document)}
    root = _span(document, "knowledge_processing", _ROOTS.get(document.status, "running"), None, now)
    body: dict[str, Any] = {
        "attempt": document.attempt,
        "current_attempt": document.attempt,
        "current_stage": next((span["name"] for span in spans if span["status"] == "running"), ""),
        "knowledge_id": document.id,
        "latest_attempt": document.attempt,
        "parse_status": document.status,
        "trace": {**root, "kind": "root", "children": spans},
    }
    if error is not None:
        stage, code = error
        body["last_error"] = {
            "code": code,
            "error_code": code,
            "error_message": document.error,
            "finished_at": now,
            "message": document.error,
            "name": stage,
            "stage": stage,
        }
    return success(body)


_ROOTS = {"completed": "done", "failed": "failed", "cancelled": "cancelled"}


def _of_pictures(world: World, document: Document) -> list[dict[str, Any]]:
    """One step a picture. A model that fails is a fact of its output, not a failure of the step."""
    output = {"ocr_error": "<text>", "caption_error": "<text>"} if document.is_unseen else {}
    span = _span(document, "multimodal.image[0]", "done", None, stamp(world.now()))
    return [{**span, "kind": "generation", "output": output}]


def _error_of(document: Document) -> tuple[str, str] | None:
    if document.status != "failed":
        return None
    if document.error == COLLISION:
        return "chunking", "CHUNKING_FAILED"
    if document.error.startswith("document read failed"):
        return "docreader", "DOCREADER_PARSE_FAILED"
    if document.error in EMBEDDER_TEXTS.values():
        return "embedding", "EMBEDDING_RATE_LIMIT" if "429" in document.error else "VECTORSTORE_WRITE_FAILED"
    return "knowledge_processing", "UNKNOWN"


def _statuses(world: World, document: Document, error: tuple[str, str] | None) -> list[tuple[str, str]]:
    """(stage, status); a status in capitals is made up."""
    if document.status in ("completed", "finalizing"):
        return [(name, "skipped" if name == "multimodal" else "done") for name in _STAGES]
    if document.status == "pending" or not document.has_started:
        return [(name, "PENDING") for name in _STAGES]
    if error is not None and error[0] in _STAGES:
        at = _STAGES.index(error[0])
        return [(n, "done" if i < at else "failed" if i == at else "FAILED") for i, n in enumerate(_STAGES)]
    model = world.model_of(world.kbs[document.kb_id])
    if document.status == "processing" and model is not None and (document.steps or model.behaviour == "hang"):
        states = ("done", "done", "running", "PENDING", "PENDING")
        return list(zip(_STAGES, states, strict=True))
    rest = {"failed": "FAILED"}.get(document.status, "PENDING")
    return [("docreader", "done"), *((name, rest) for name in _STAGES[1:])]


def _span(document: Document, name: str, status: str, error: tuple[str, str] | None, now: str | None) -> dict[str, Any]:
    is_real = status.islower()
    span: dict[str, Any] = {
        "knowledge_id": document.id,
        "attempt": document.attempt,
        "span_id": uuid.uuid4().hex if is_real else "",
        "name": name,
        "kind": "stage",
        "status": status.lower(),
        "created_at": now,
        "updated_at": now,
    }
    if is_real:
        span["started_at"] = stamp(document.created_at)
    if status in ("done", "failed"):
        span["finished_at"] = stamp(document.updated_at)
    if error is not None and error[0] == name and status == "failed":
        span |= {"error_code": error[1], "error_message": document.error}
    return span


def _view(document: Document, at: int, world: World) -> dict[str, Any]:
    passage = document.passages[at]
    before = [each.id for each in document.passages[:at][-1:]]
    after = [each.id for each in document.passages[at + 1 : at + 2]]
    return {
        "id": passage.id,
        "seq_id": passage.seq,
        "tenant_id": document.tenant,
        "knowledge_id": document.id,
        "knowledge_base_id": document.kb_id,
        "tag_id": "",
        "content": passage.content,
        "content_revision": 0,
        "index_status": "ready",
        "last_editor_id": "",
        "chunk_index": passage.index,
        "is_enabled": True,
        "flags": 1,
        "status": 0,
        "start_at": passage.start,
        "end_at": passage.end,
        "pre_chunk_id": "".join(before),
        "next_chunk_id": "".join(after),
        "chunk_type": passage.type,
        "parent_chunk_id": passage.parent_id,
        "relation_chunks": None,
        "indirect_relation_chunks": None,
        "metadata": None,
        "content_hash": "",
        "image_info": passage.image_info,
        "created_at": stamp(world.now()),
        "updated_at": stamp(world.now()),
        "deleted_at": None,
    }
