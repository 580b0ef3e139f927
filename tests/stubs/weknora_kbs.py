"""Knowledge bases of a WeKnora stub."""

from __future__ import annotations

import uuid
from typing import Any

from tests.stubs.weknora_replies import Ask, Refused, Reply, failure, not_found, success
from tests.stubs.weknora_world import KB, World, stamp

_DEFAULTS: dict[str, Any] = {
    "asr_config": {"enabled": False, "language": "", "model_id": ""},
    "auto_tag_config": None,
    "chunk_count": 0,
    "description": "",
    "embedding_model_id": "",
    "extract_config": None,
    "faq_config": None,
    "image_processing_config": {"model_id": ""},
    "indexing_strategy": {
        "graph_enabled": False,
        "keyword_enabled": True,
        "vector_enabled": True,
        "wiki_enabled": False,
    },
    "is_pinned": False,
    "is_temporary": False,
    "name": "",
    "pinned_at": None,
    "question_generation_config": None,
    "share_count": 0,
    "storage_config": {
        "app_id": "",
        "bucket_name": "",
        "path_prefix": "",
        "provider": "",
        "region": "",
        "secret_id": "",
        "secret_key": "",
    },
    "storage_provider_config": {"provider": "local"},
    "summary_model_id": "",
    "type": "document",
    "vector_store_engine_type": "sqlite",
    "vector_store_name": "System default",
    "vector_store_source": "env",
    "vector_store_status": "available",
    "vlm_config": {
        "api_key": "",
        "base_url": "",
        "enabled": False,
        "interface_type": "",
        "model_id": "",
        "model_name": "",
    },
    "wiki_config": None,
}


def seen_kb(world: World, ask: Ask, kb_id: str) -> KB:
    """Return a KB that the key may see. Raises Refused."""
    if ask.key.kb_ids and kb_id not in ask.key.kb_ids:
        raise Refused(failure(403, 1002, "API key scope does not allow one or more knowledge bases"))
    kb = world.live_kb(kb_id)
    if kb is None:
        raise not_found("kb")
    if kb.tenant != ask.key.tenant:
        raise Refused(failure(403, 1002, "Permission denied to access this knowledge base"))
    return kb


def list_kbs(world: World, ask: Ask) -> Reply:
    kbs = [kb for kb in world.kbs.values() if not kb.is_deleted and kb.tenant == ask.key.tenant]
    shown = [kb for kb in kbs if not ask.key.kb_ids or kb.id in ask.key.kb_ids]
    return success([_view(world, kb) for kb in sorted(shown, key=lambda kb: kb.created_at, reverse=True)])


def create_kb(world: World, ask: Ask) -> Reply:
    body = ask.json()
    kb_id = str(body.get("id") or uuid.uuid4())
    if kb_id in world.kbs:  # of any tenant, and for ever
        return failure(500, 1007, "UNIQUE constraint failed: knowledge_bases.id")
    chunking = {"chunk_overlap": 0, "chunk_size": 0, "separators": None, **(body.get("chunking_config") or {})}
    world.kbs[kb_id] = KB(
        id=kb_id,
        tenant=ask.key.tenant,
        body={**_DEFAULTS, **body, "chunking_config": chunking},
        created_at=world.now(),
    )
    return success(_view(world, world.kbs[kb_id]), 201)


def get_kb(world: World, ask: Ask) -> Reply:
    return success(_view(world, seen_kb(world, ask, ask.parts["kb"])))


def put_kb(world: World, ask: Ask) -> Reply:
    """Leaving out the description clears it; a `config` replaces chunking and image processing wholesale, and nothing
    else: the models are not changed here."""
    kb = seen_kb(world, ask, ask.parts["kb"])
    body = ask.json()
    if not body.get("name"):
        return failure(400, 1000, "Invalid request parameters", "Name is required")
    kb.body |= {"name": body["name"], "description": body.get("description", "")}
    if "config" in body:
        empty = {"chunk_overlap": 0, "chunk_size": 0, "separators": None}
        kb.body["chunking_config"] = empty | (body["config"].get("chunking_config") or {})
        kb.body["image_processing_config"] = {"model_id": ""} | (body["config"].get("image_processing_config") or {})
    return success(_view(world, kb))


def delete_kb(world: World, ask: Ask) -> Reply:
    kb = seen_kb(world, ask, ask.parts["kb"])
    kb.is_deleted = True
    for document in world.documents_of(kb.id):
        del world.documents[document.id]
    return Reply(status=200, body=b'{"message":"Knowledge base deleted successfully","success":true}')


def config(world: World, ask: Ask) -> Reply:
    """The only place where a narrow key sees whether the embedding model resolves."""
    kb = seen_kb(world, ask, ask.parts["kb"])
    chunking = kb.body["chunking_config"]
    data: dict[str, Any] = {
        "documentSplitting": {
            "chunkOverlap": chunking.get("chunk_overlap"),
            "chunkSize": chunking.get("chunk_size"),
            "separators": chunking.get("separators"),
            "strategy": chunking.get("strategy", ""),
        },
        "hasFiles": bool(world.documents_of(kb.id)),
        "multimodal": {"enabled": False},
        "nodeExtract": {"enabled": False},
        "questionGeneration": {"enabled": False},
        "rerank": {"baseUrl": "", "credentials": {"apiKey": False}, "enabled": False, "modelName": ""},
    }
    vision = world.models.get(str((kb.body.get("vlm_config") or {}).get("model_id") or ""))
    if vision is not None and vision.kind == "VLLM":
        seen = {"modelId": vision.id, "modelName": vision.name, "baseUrl": "", "credentials": {"apiKey": True}}
        data["multimodal"] = {"enabled": True, "vlm": seen}
    model = world.models.get(kb.model_id)
    if model is not None:
        data["embedding"] = {
            "baseUrl": "",
            "credentials": {"apiKey": True},
            "dimension": model.dimension,
            "modelName": model.name,
            "source": "remote",
        }
    return success(data)


def _view(world: World, kb: KB) -> dict[str, Any]:
    documents = world.documents_of(kb.id)
    waiting = sum(each.status in ("pending", "processing") for each in documents)
    return {
        **kb.body,
        "id": kb.id,
        "tenant_id": kb.tenant,
        "creator_id": f"system-{kb.tenant}",
        "capabilities": {"faq": False, "graph": False, "keyword": True, "vector": True, "wiki": False},
        "created_at": stamp(kb.created_at),
        "updated_at": stamp(kb.created_at),
        "deleted_at": None,
        "knowledge_count": len(documents),
        "is_processing": bool(waiting),
        "processing_count": waiting,
        "storage_backend_id": str(uuid.UUID(int=kb.tenant)),
    }
