"""Tags of a WeKnora stub: of a knowledge base, and which a document carries. One removed by force takes documents."""

from __future__ import annotations

import uuid
from typing import Any

from tests.stubs.weknora_kbs import seen_kb
from tests.stubs.weknora_replies import Ask, Refused, Reply, failure, paging, success
from tests.stubs.weknora_world import Document, Tag, World, stamp


def list_tags(world: World, ask: Ask) -> Reply:
    """The page lies inside the data; the newest come first."""
    kb = seen_kb(world, ask, ask.parts["kb"])
    at, size = paging(ask, default=20)
    part = ask.value("keyword").lower()
    tags = [tag for tag in world.tags.values() if tag.kb_id == kb.id and part in tag.name.lower()]
    tags.sort(key=lambda tag: -tag.seq)
    rows = [_view(tag) | _counts(world, tag) for tag in tags[(at - 1) * size : at * size]]
    return success({"total": len(tags), "page": at, "page_size": size, "data": rows})


def create_tag(world: World, ask: Ask) -> Reply:
    kb = seen_kb(world, ask, ask.parts["kb"])
    body = ask.json("请求参数不合法")
    name = body.get("name") or ""
    if not name:
        details = "Key: 'createTagRequest.Name' Error:Field validation for 'Name' failed on the 'required' tag"
        return failure(400, 1000, "请求参数不合法", details)
    if not name.strip():
        return failure(400, 1000, "知识库ID和标签名称不能为空")
    if any(tag.kb_id == kb.id and tag.name == name for tag in world.tags.values()):
        return failure(409, 1005, "标签名称已存在")
    tag = Tag(
        id=str(uuid.uuid4()),
        seq=len(world.tags) + 1,
        kb_id=kb.id,
        tenant=kb.tenant,
        name=name,
        color=str(body.get("color") or ""),
        sort_order=0,
        created_at=world.now(),
    )
    world.tags[tag.id] = tag
    return success(_view(tag))


def put_tag(world: World, ask: Ask) -> Reply:
    tag = _named(world, ask)
    body = ask.json("请求参数不合法")
    tag.name, tag.color = body.get("name") or tag.name, body.get("color") or tag.color
    return success(_view(tag))


def delete_tag(world: World, ask: Ask) -> Reply:
    """By force the documents that carry it go with it, other tags or not."""
    tag = _named(world, ask)
    carrying = [document for document in world.documents.values() if tag.id in document.tags]
    if carrying and ask.value("force") != "true":
        return failure(400, 1000, "标签仍有知识或FAQ条目引用，无法删除")
    for document in carrying:
        del world.documents[document.id]
    if ask.value("content_only") != "true":
        del world.tags[tag.id]
    return Reply(status=200, body=b'{"success":true}')


def put_documents(world: World, ask: Ask) -> Reply:
    """Replace the tags of documents: all of them, or none where one document or tag is unknown."""
    body = ask.json("请求参数不合法")
    kb = seen_kb(world, ask, str(body.get("kb_id") or ""))
    updates = body.get("updates") or {}
    for tag_ids in updates.values():
        if tag_ids is not None and not isinstance(tag_ids, list):
            details = (
                "json: cannot unmarshal string into Go struct field knowledgeTagBatchRequest.updates of type []string"
            )
            return failure(400, 1000, "请求参数不合法", details)
    documents = {each: _document(world, kb.id, each) for each in updates}
    for tag_id in (each for tag_ids in updates.values() for each in tag_ids or ()):
        if tag_id not in world.tags or world.tags[tag_id].kb_id != kb.id:
            return failure(400, 1000, f"标签 {tag_id} 不存在")
    for each, document in documents.items():
        document.tags = list(updates[each] or ())
    return Reply(status=200, body=b'{"success":true}')


def tags_of(world: World, document: Document) -> list[dict[str, Any]] | None:
    """As documents show them, but not in batches: null for none."""
    return [_view(world.tags[each]) for each in document.tags if each in world.tags] or None


def _document(world: World, kb_id: str, document_id: str) -> Document:
    document = world.documents.get(document_id)
    if document is None or document.kb_id != kb_id:
        raise Refused(failure(403, 1002, "some knowledge IDs are not accessible in the authorized scope"))
    return document


def _named(world: World, ask: Ask) -> Tag:
    """By UUID or number, in any knowledge base of the tenant."""
    wanted = ask.parts["tag"]
    for tag in world.tags.values():
        if tag.tenant == ask.key.tenant and wanted in (tag.id, str(tag.seq)):
            return tag
    raise Refused(_without_details())


def _without_details() -> Reply:
    return Reply(status=500, body=b'{"error":{"code":1007,"message":"Internal server error"},"success":false}')


def _counts(world: World, tag: Tag) -> dict[str, int]:
    return {"knowledge_count": sum(tag.id in each.tags for each in world.documents.values()), "chunk_count": 0}


def _view(tag: Tag) -> dict[str, Any]:
    return {
        "id": tag.id,
        "seq_id": tag.seq,
        "tenant_id": tag.tenant,
        "knowledge_base_id": tag.kb_id,
        "name": tag.name,
        "color": tag.color,
        "sort_order": tag.sort_order,
        "created_at": stamp(tag.created_at),
        "updated_at": stamp(tag.created_at),
    }
