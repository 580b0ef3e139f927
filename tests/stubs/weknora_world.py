"""What a WeKnora stub knows: keys, models, knowledge bases, documents, passages, and its own clock."""

from __future__ import annotations

import hashlib
import random
import secrets
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

LITE, STANDARD = "lite", "standard"
ALL_RIGHTS = frozenset({"retrieve", "ingest", "manage_kbs"})

RESTARTED = "Task interrupted due to application restart"
COLLISION = "UNIQUE constraint failed: chunks.seq_id"
READER_DOWN = "document read failed: gRPC ReadStream failed: rpc error: code = Unavailable desc = <address>"
CANCELLED = "用户已取消解析"

IMAGES = frozenset({"png", "jpg", "jpeg", "gif"})

#: What a failing embedding model makes of an upload and of a search.
EMBEDDER_TEXTS = {
    "500": 'EmbedBatch API error: Http Status 500 Internal Server Error, Response: {"error": {"message": "secret"}}',
    "429": 'EmbedBatch API error: Http Status 429 Too Many Requests, Response: {"error": {"message": "slow down"}}',
    "400": 'EmbedBatch API error: Http Status 400 Bad Request, Response: {"error": {"message": "input too long"}}',
    "401": 'EmbedBatch API error: Http Status 401 Unauthorized, Response: {"error": {"message": "bad key"}}',
    "down": 'send request: Post "http://10.0.0.9:8088/v1/embeddings": dial tcp 10.0.0.9:8088: connection refused',
    "short": "embedding model returned 2 embeddings for 3 inputs",
}


@dataclass(slots=True, kw_only=True)
class Key:
    """A credential: a tenant's, or the platform's with tenant 0. `kb_ids` empty means all."""

    tenant: int = 1
    rights: frozenset[str] = ALL_RIGHTS
    kb_ids: frozenset[str] = frozenset()


@dataclass(slots=True, kw_only=True)
class Model:
    """An embedding model. `behaviour`: ok, hang, or one of EMBEDDER_TEXTS. With another `kind` ("VLLM"): one for
    pictures, whose behaviour is ok or "500"."""

    id: str
    name: str = "stub-256"
    kind: str = "Embedding"
    dimension: int = 256
    status: str = "active"
    behaviour: str = "ok"


@dataclass(slots=True, kw_only=True)
class KB:
    id: str
    tenant: int
    body: dict[str, Any]
    created_at: datetime
    seq: int = 0
    is_deleted: bool = False
    #: Vectors whose passage is gone: they take the first places of a search and give no hit.
    orphans: int = 0

    @property
    def model_id(self) -> str:
        return str(self.body.get("embedding_model_id") or "")


@dataclass(slots=True, kw_only=True)
class Passage:
    id: str
    seq: int
    document_id: str
    index: int
    start: int
    end: int
    content: str
    type: str = "text"
    breadcrumb: str = ""
    #: Of what a model made of a picture: the passage that names the picture, and what is known of it, as JSON.
    parent_id: str = ""
    image_info: str = ""


@dataclass(slots=True, kw_only=True)
class Document:
    """`steps` are the states still to come, one at each look; `passages` are what search finds, whatever the state."""

    id: str
    kb_id: str
    tenant: int
    name: str
    folder: str
    file_type: str
    body: bytes = field(repr=False)
    metadata: dict[str, Any] | None
    channel: str
    created_at: datetime
    updated_at: datetime
    status: str = "pending"
    enable_status: str = "disabled"
    summary_status: str = "none"
    processed_at: datetime | None = None
    error: str = ""
    attempt: int = 1
    has_started: bool = False
    is_corrupt: bool = False
    #: In the last run the model for pictures failed.
    is_unseen: bool = False
    is_to_be_deleted: bool = False
    steps: list[str] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)

    @property
    def file_hash(self) -> str:
        return hashlib.md5(self.body, usedforsecurity=False).hexdigest()

    @property
    def is_in_work(self) -> bool:
        return self.status in ("pending", "processing", "finalizing")

    @property
    def is_image(self) -> bool:
        return self.file_type.lower() in IMAGES

    @property
    def overrides(self) -> dict[str, Any]:
        """Settings of its own, which beat those of the knowledge base."""
        return dict((self.metadata or {}).get("process_overrides") or {})


@dataclass(slots=True, kw_only=True)
class Tag:
    """A tag of one knowledge base; documents carry it by its id."""

    id: str
    seq: int
    kb_id: str
    tenant: int
    name: str
    color: str
    sort_order: int
    created_at: datetime


#: Cuts a text into (index, start, end, content, breadcrumb).
Splitter = Callable[[str, Mapping[str, Any]], Sequence[tuple[int, int, int, str, str]]]


@dataclass(slots=True)
class World:
    """All state of one server. Every request holds `lock`. Time is the real one plus what tests let pass."""

    split: Splitter
    edition: str = LITE
    lock: threading.RLock = field(default_factory=threading.RLock)
    keys: dict[str, Key] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    kbs: dict[str, KB] = field(default_factory=dict)
    documents: dict[str, Document] = field(default_factory=dict)
    tags: dict[str, Tag] = field(default_factory=dict)
    #: Passages of a content as a live server cut them, by MD5 of the bytes; others are cut by `split`.
    recorded: dict[str, Sequence[tuple[int, int, int, str, str]]] = field(default_factory=dict)
    #: What a model reads in the pictures of a content and says of them, by MD5 and page; an image is page 1.
    pictures: dict[str, dict[int, tuple[str, str]]] = field(default_factory=dict)
    #: Names of parser engines that work besides those that always do; reasons of the others.
    engines: dict[str, str] = field(default_factory=dict)
    quota: int | None = None
    max_upload: int = 50 * 1024 * 1024
    has_reader: bool = True
    #: The embedding model refuses texts that hold this.
    indigestible: bytes = b""
    #: States that the next documents go through after `pending`, one list each.
    plans: list[list[str]] = field(default_factory=list)
    is_frozen: bool = False
    skew: timedelta = timedelta(0)
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    chunk_seq: int = 0
    random: random.Random = field(default_factory=random.Random)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.skew

    def pass_time(self, seconds: float) -> None:
        self.skew += timedelta(seconds=seconds)

    def add_key(self, **facts: Any) -> str:
        key = f"sk-{secrets.token_urlsafe(32)}"
        self.keys[key] = Key(**facts)
        return key

    def add_model(self, behaviour: str = "ok", **facts: Any) -> Model:
        model = Model(id=str(uuid.uuid4()), behaviour=behaviour, **facts)
        self.models[model.id] = model
        return model

    def live_kb(self, kb_id: str) -> KB | None:
        kb = self.kbs.get(kb_id)
        return None if kb is None or kb.is_deleted else kb

    def model_of(self, kb: KB) -> Model | None:
        return self._active(kb.model_id)

    def _active(self, model_id: str) -> Model | None:
        model = self.models.get(model_id)
        return model if model is not None and model.status == "active" else None

    def vision_of(self, kb: KB, overrides: Mapping[str, Any]) -> Model | None:
        """The model that reads pictures of a document: that of its own settings, else that of its knowledge base."""
        config = overrides.get("vlm_config") or kb.body.get("vlm_config") or {}
        return self._active(str(config.get("model_id") or "")) if config.get("enabled") else None

    def documents_of(self, kb_id: str) -> list[Document]:
        return [each for each in self.documents.values() if each.kb_id == kb_id]

    def tag_names(self, document: Document) -> set[str]:
        return {self.tags[each].name for each in document.tags}


def stamp(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
