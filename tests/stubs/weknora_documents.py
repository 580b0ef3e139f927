"""Documents of a WeKnora stub: upload, lists, state, reparse, cancel, delete."""

from __future__ import annotations

import json
import re
import uuid
from datetime import datetime
from typing import Any

from tests.stubs.weknora_kbs import seen_kb
from tests.stubs.weknora_replies import Ask, FilePart, Refused, Reply, failure, not_found, page, paging, reply, success
from tests.stubs.weknora_tags import tags_of
from tests.stubs.weknora_work import enqueue, look, passages_of
from tests.stubs.weknora_world import CANCELLED, KB, Document, World, stamp

# fmt: off
_TYPES = frozenset((
    "pdf", "txt", "docx", "doc", "epub", "html", "htm", "mhtml", "md", "markdown", "png", "jpg", "jpeg", "gif", "csv",
    "xlsx", "xls", "pptx", "ppt", "json", "mp3", "wav",
))
# fmt: on
_SCRIPTS = re.compile(r"javascript:|vbscript:|on(load|error|click)\s*=", re.IGNORECASE)
_SEGMENT_BYTES = 128
_MAX_URL_IDS = 10_000


def upload(world: World, ask: Ask) -> Reply:
    kb = seen_kb(world, ask, ask.parts["kb"])
    fields, file = ask.form()
    if file is None:
        return failure(400, 1000, "File upload failed", "http: no such file")
    if len(file.body) > world.max_upload:
        return failure(400, 1000, f"文件大小不能超过{world.max_upload // 2**20}MB")
    folder, name = _named(fields, file)
    document = _new(kb, folder, name, file, fields, world.now())
    if document.file_type.lower() not in _TYPES:
        return failure(500, 1007, "unsupported file type")
    if document.is_image and not _sees(world, kb, document):
        return failure(400, 1000, "上传图片文件需要设置VLM模型")
    twin = _twin(world, document)
    if twin is not None:
        twin.created_at = world.now()
        body = {"code": "duplicate_file", "data": view(twin), "message": f"File already exists: {twin.name}"}
        return reply({**body, "success": False}, 409)
    if world.quota is not None and sum(len(each.body) for each in world.documents.values()) > world.quota:
        return failure(500, 1007, "Storage quota exceeded")
    world.documents[document.id] = document
    enqueue(world, document)
    tag_ids = [each for each in fields.get("tag_ids", "").split(",") if each]
    unknown = [each for each in tag_ids if each not in world.tags or world.tags[each].kb_id != kb.id]
    if unknown:  # the row stays, and nobody works on it
        document.steps.clear()
        return failure(400, 1000, f"标签 {unknown[0]} 不存在")
    document.tags = tag_ids
    return success(_tagged(world, document))


def list_documents(world: World, ask: Ask) -> Reply:
    look(world)
    kb = seen_kb(world, ask, ask.parts["kb"])
    at, size = paging(ask, default=20)
    rows = world.documents_of(kb.id)
    status, part = ask.value("parse_status"), ask.value("keyword").lower()
    rows = [row for row in rows if (row.status == status if status else row.status != "deleting")]
    rows = [row for row in rows if part in row.name.lower()]
    world.random.shuffle(rows)  # equal times come in any order
    rows.sort(key=lambda row: row.created_at, reverse=True)
    return page([_tagged(world, row) for row in rows], at=at, size=size)


def batch(world: World, ask: Ask) -> Reply:
    """Unknown ids are left out without a word; a list with commas is one id; too many are misread."""
    look(world)
    ids = ask.values("ids")
    if not ids or len(ids) > _MAX_URL_IDS:
        details = "Key: 'GetKnowledgeBatchRequest.IDs' Error:Field validation for 'IDs' failed on the 'required' tag"
        return failure(400, 1000, "Invalid request parameters", details)
    found = [world.documents[each] for each in dict.fromkeys(ids) if each in world.documents]
    rows = [row for row in found if row.tenant == ask.key.tenant and _in_reach(ask, row)]
    world.random.shuffle(rows)
    return success([view(row) for row in rows])


def get_document(world: World, ask: Ask) -> Reply:
    look(world)
    return success(_tagged(world, seen_document(world, ask)))


def reparse(world: World, ask: Ask) -> Reply:
    """Nothing stops a second run while the first lasts; the two together leave the document without passages."""
    document = seen_document(world, ask)
    if ask.headers.get("Transfer-Encoding"):
        return failure(400, 1000, "Invalid reparse request body", "EOF")
    body = ask.json("Invalid reparse request body") if ask.body else {}
    if body.get("process_config") is not None:
        document.metadata = {**(document.metadata or {}), "process_overrides": body["process_config"]}
    kb = world.kbs[document.kb_id]
    if kb.model_id and kb.model_id not in world.models:
        return failure(500, 1007, "model not found")
    document.is_corrupt = document.is_in_work and document.has_started
    document.attempt += 1
    document.passages = []
    enqueue(world, document)
    return success(view(document), message="Knowledge reparse task submitted")


def cancel(world: World, ask: Ask) -> Reply:
    """What the embedding model has in hand is finished and found; a summary in the making undoes the cancel."""
    document = seen_document(world, ask)
    if document.status not in ("pending", "processing", "finalizing", "cancelled"):
        return failure(400, 1000, "解析已结束，无法取消")
    if document.status == "processing":
        document.passages = passages_of(world, document)
    document.steps = ["completed"] if document.status == "finalizing" else []
    document.status, document.error = "cancelled", CANCELLED
    document.updated_at = world.now()
    return success(view(document), message="Knowledge parse cancelled")


def delete(world: World, ask: Ask) -> Reply:
    document = seen_document(world, ask)
    document.is_to_be_deleted = True
    return success({"task_id": str(uuid.uuid4())}, message="Delete task submitted")


def seen_document(world: World, ask: Ask) -> Document:
    document = world.documents.get(ask.parts["document"])
    if document is None:
        raise not_found()
    if document.tenant != ask.key.tenant:
        raise Refused(failure(403, 1002, "Permission denied to access this knowledge"))
    if not _in_reach(ask, document):
        raise Refused(failure(403, 1002, "API key scope does not allow one or more knowledge bases"))
    return document


def _tagged(world: World, document: Document) -> dict[str, Any]:
    return view(document) | {"tags": tags_of(world, document)}


def view(document: Document) -> dict[str, Any]:
    """Without its tags, as batches show it."""
    in_finalizing = document.status == "finalizing"
    return {
        "id": document.id,
        "tenant_id": document.tenant,
        "knowledge_base_id": document.kb_id,
        "tags": None,
        "type": "file",
        "title": document.name,
        "description": "",
        "source": "",
        "channel": document.channel,
        "parse_status": document.status,
        "pending_subtasks_count": int(in_finalizing),
        "summary_status": document.summary_status,
        "enable_status": document.enable_status,
        "embedding_model_id": "",
        "file_name": document.name,
        "folder_path": document.folder,
        "file_type": document.file_type,
        "file_size": len(document.body),
        "file_hash": document.file_hash,
        "file_path": f"resource://{document.id[:22]}",
        "storage_size": 0,
        "metadata": document.metadata,
        "custom_metadata": {},
        "last_faq_import_result": None,
        "created_at": stamp(document.created_at),
        "updated_at": stamp(document.updated_at),
        "processed_at": stamp(document.processed_at),
        "error_message": document.error,
        "deleted_at": None,
        "knowledge_base_name": "",
    }


def _new(kb: KB, folder: str, name: str, file: FilePart, fields: dict[str, str], at: datetime) -> Document:
    return Document(
        id=str(uuid.uuid4()),
        kb_id=kb.id,
        tenant=kb.tenant,
        name=name,
        folder=folder,
        file_type=name.rpartition(".")[2],
        body=file.body,
        metadata=_with_overrides(_metadata(fields), fields.get("process_config", "")),
        channel=fields.get("channel", "web"),
        created_at=at,
        updated_at=at,
    )


def _sees(world: World, kb: KB, document: Document) -> bool:
    """Whether a model for pictures is named; nobody looks here whether it exists."""
    config = document.overrides.get("vlm_config") or kb.body.get("vlm_config") or {}
    return bool(config.get("enabled") and config.get("model_id"))


def _twin(world: World, document: Document) -> Document | None:
    """The same bytes with the same ending; failed rows do not count, dying and cancelled ones do."""
    for each in world.documents_of(document.kb_id):
        same = each.body == document.body and each.file_type.lower() == document.file_type.lower()
        if same and each.status != "failed":
            return each
    return None


def _metadata(fields: dict[str, str]) -> dict[str, Any] | None:
    if not fields.get("metadata"):
        return None
    try:
        read = json.loads(fields["metadata"])
    except ValueError:
        raise Refused(failure(400, 1000, "Invalid metadata format", "invalid character")) from None
    if not isinstance(read, dict) or not all(isinstance(value, str | None) for value in read.values()):
        details = "json: cannot unmarshal number into Go value of type string"
        raise Refused(failure(400, 1000, "Invalid metadata format", details))
    return {name: value or "" for name, value in read.items()}


def _with_overrides(metadata: dict[str, Any] | None, config: str) -> dict[str, Any] | None:
    if not config:
        return metadata
    try:
        return {**(metadata or {}), "process_overrides": json.loads(config)}
    except ValueError:
        raise Refused(failure(400, 1000, "Invalid process_config format", "invalid character")) from None


def _named(fields: dict[str, str], file: FilePart) -> tuple[str, str]:
    """Return folder and name. Folders come from `fileName` only; parts are cut at 128 bytes, characters or not."""
    wanted = fields.get("fileName") or file.name
    if _SCRIPTS.search(wanted):
        raise Refused(failure(400, 1010, "文件名包含非法字符"))
    wanted = re.sub(r"[\t\n\r]", " ", wanted)
    wanted = re.sub(r"[\x00-\x1f\x7f]", "", wanted).replace("\\", "/")
    folder, _, name = wanted.rpartition("/")
    kept = []
    for segment in folder.split("/"):
        plain = segment.strip().rstrip(". ")
        if plain in ("", ".", "..") or re.fullmatch(r"[A-Za-z]:", plain):
            continue
        try:
            kept.append(plain.encode()[:_SEGMENT_BYTES].decode())
        except UnicodeDecodeError:
            raise Refused(failure(400, 1010, "文件夹路径包含非法字符")) from None
    return "/".join(kept[:16]), name or file.name


def _in_reach(ask: Ask, document: Document) -> bool:
    return not ask.key.kb_ids or document.kb_id in ask.key.kb_ids
