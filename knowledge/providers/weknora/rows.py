"""What the server answers, as typed rows. Unknown fields and values are fine, null and missing are the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from knowledge.providers.base import ProviderProtocolError

#: A fact in the metadata of a document by which we tell our documents from those of others.
OURS = "mnoteRecipe"
#: Types of passages that a model made of a picture: what stands in it, and what it shows.
PICTURES = frozenset({"image_ocr", "image_caption"})
#: The server keeps the settings of a document here, once any were sent; they beat those of the knowledge base.
OVERRIDES = "process_overrides"
#: Stages of processing that may still change by themselves.
IN_WORK = frozenset({"pending", "processing", "finalizing"})

_MATCH_TYPES = {
    0: "vector", 1: "keyword", 2: "neighbour", 3: "history", 4: "parent", 5: "related",
    6: "graph", 7: "web", 8: "direct", 9: "analysis",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRow:
    """A document of the server ("knowledge"). `file_hash` is the MD5 of the bytes. `error` is for recognising only.
    `tags` is empty in answers that leave tags out. `reads_pictures`: it was to be read with its pictures."""

    id: str
    kb_id: str
    status: str
    is_enabled: bool
    file_hash: str
    file_type: str
    file_name: str
    file_size: int
    error: str = field(repr=False)
    metadata: Mapping[str, str]
    tags: frozenset[str]
    created_at: datetime | None
    updated_at: datetime | None
    processed_at: datetime | None
    reads_pictures: bool = False

    @property
    def is_in_work(self) -> bool:
        return self.status in IN_WORK

    @property
    def content_key(self) -> str:
        """Names a content in its knowledge base, as the server tells duplicates."""
        return content_key(self.kb_id, self.file_hash, self.file_type)


@dataclass(frozen=True, slots=True, kw_only=True)
class KBRow:
    """A knowledge base. `cuts_twice`: passages are cut out of larger ones, which spoils their offsets. `chunking` and
    `images` are as the server has them: a change has to send them back whole."""

    id: str
    name: str
    description: str
    embedding_model_id: str
    cuts_twice: bool
    chunking: Mapping[str, Any] = field(repr=False)
    images: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TagRow:
    """A tag of a knowledge base."""

    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkRow:
    """A passage; offsets count code points of the text that was split. One that a model made of a picture has none;
    `picture` is the address by which the text names that picture."""

    id: str
    document_id: str
    index: int
    type: str
    start: int
    end: int
    content: str = field(repr=False)
    picture: str = field(default="", repr=False)

    @property
    def is_of_picture(self) -> bool:
        return self.type in PICTURES


@dataclass(frozen=True, slots=True, kw_only=True)
class HitRow:
    """A passage found. Of most nothing more is wanted, so that the rest is read when it is."""

    chunk: ChunkRow
    kb_id: str
    score: float
    match_type: str
    metadata: Mapping[str, str]
    _rest: Mapping[str, Any] = field(repr=False)

    @property
    def facts(self) -> dict[str, Any]:
        """What else the server says of the passage, under our names."""
        row = self._rest
        facts = {
            "displayName": _text(row.get("knowledge_filename")),
            "source": _text(row.get("knowledge_source")),
            "channel": _text(row.get("knowledge_channel")),
            "parentChunkId": _text(row.get("parent_chunk_id")),
            "subChunkIds": [_text(each) for each in row.get("sub_chunk_id") or []],
            "matchedText": _text(row.get("matched_content")),
        }
        return {name: fact for name, fact in facts.items() if fact}


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRow:
    """One step of processing. A step that the server only made up has no id. `is_unseen`: a picture that no model could
    read, though the step itself came to its end."""

    id: str
    name: str
    status: str
    code: str
    started_at: datetime | None
    finished_at: datetime | None
    children: tuple[SpanRow, ...]
    is_unseen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow:
    """How the processing of a document went. `stage` is the one it is in, "" in none."""

    attempt: int
    stage: str
    root: SpanRow
    error_code: str


def content_key(kb_id: str, file_hash: str, file_type: str) -> str:
    return f"{kb_id}:{file_hash}.{file_type.lower()}"


def document_row(value: Any) -> DocumentRow:
    """Raises ProviderProtocolError for what is no document."""
    row = _object(value, "a document")
    return DocumentRow(
        id=_id(row),
        kb_id=_text(row.get("knowledge_base_id")),
        status=_text(row.get("parse_status")),
        is_enabled=row.get("enable_status") == "enabled",
        file_hash=_text(row.get("file_hash")).lower(),
        file_type=_text(row.get("file_type")),
        file_name=_text(row.get("file_name")),
        file_size=_number(row.get("file_size")),
        error=_text(row.get("error_message")),
        metadata=_strings(row.get("metadata")),
        tags=frozenset(_text(each.get("name")) for each in row.get("tags") or () if isinstance(each, dict)),
        created_at=moment(row.get("created_at")),
        updated_at=moment(row.get("updated_at")),
        processed_at=moment(row.get("processed_at")),
        reads_pictures=_reads_pictures(row.get("metadata")),
    )


def kb_row(value: Any) -> KBRow:
    row = _object(value, "a knowledge base")
    chunking, images = row.get("chunking_config"), row.get("image_processing_config")
    return KBRow(
        id=_id(row),
        name=_text(row.get("name")),
        description=_text(row.get("description")),
        embedding_model_id=_text(row.get("embedding_model_id")),
        cuts_twice=isinstance(chunking, dict) and bool(chunking.get("enable_parent_child")),
        chunking=chunking if isinstance(chunking, dict) else {},
        images=images if isinstance(images, dict) else {},
    )


def tag_row(value: Any) -> TagRow:
    row = _object(value, "a tag")
    return TagRow(id=_id(row), name=_text(row.get("name")))


def chunk_row(value: Any) -> ChunkRow:
    row = _object(value, "a passage")
    return ChunkRow(
        id=_id(row),
        document_id=_text(row.get("knowledge_id")),
        index=_number(row.get("chunk_index")),
        type=_text(row.get("chunk_type")),
        start=_number(row.get("start_at")),
        end=_number(row.get("end_at")),
        content=_text(row.get("content")),
        picture=_picture(row.get("image_info")),
    )


def hit_row(value: Any) -> HitRow:
    row = _object(value, "a hit")
    score = row.get("score")
    return HitRow(
        chunk=chunk_row(row),
        kb_id=_text(row.get("knowledge_base_id")),
        score=float(score) if isinstance(score, int | float) else 0.0,
        match_type=_MATCH_TYPES.get(_number(row.get("match_type"), default=-1), "other"),
        metadata=_strings(row.get("metadata")),
        _rest=row,
    )


def trace_row(value: Any) -> TraceRow:
    row = _object(value, "a trace")
    error = row.get("last_error")
    return TraceRow(
        attempt=_number(row.get("attempt")),
        stage=_text(row.get("current_stage")),
        root=_span(row.get("trace") or {}),
        error_code=_text(error.get("code")) if isinstance(error, dict) else "",
    )


def moment(value: Any) -> datetime | None:
    """Return an RFC 3339 time in UTC; None for what is none, and for the zero time."""
    if not isinstance(value, str):
        return None
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        return None
    return None if read.tzinfo is None or read.year == 1 else read.astimezone(UTC)


def _span(value: Any) -> SpanRow:
    row = _object(value, "a step")
    return SpanRow(
        id=_text(row.get("span_id")),
        name=_text(row.get("name")),
        status=_text(row.get("status")),
        code=_text(row.get("error_code")),
        started_at=moment(row.get("started_at")),
        finished_at=moment(row.get("finished_at")),
        children=tuple(_span(child) for child in row.get("children") or [] if isinstance(child, dict)),
        is_unseen=_is_unseen(row),
    )


def _is_unseen(row: Mapping[str, Any]) -> bool:
    output = row.get("output")
    failed = isinstance(output, dict) and any(output.get(name) for name in ("ocr_error", "caption_error", "read_error"))
    return failed or str(row.get("error_code") or "").startswith("MULTIMODAL_")


def _reads_pictures(metadata: Any) -> bool:
    overrides = metadata.get(OVERRIDES) if isinstance(metadata, dict) else None
    return isinstance(overrides, dict) and overrides.get("enable_multimodel") is True


def _picture(info: Any) -> str:
    """What is known of the pictures of a passage comes as JSON in a string."""
    try:
        found = json.loads(info) if isinstance(info, str) and info else []
    except ValueError:
        return ""
    first = found[0] if isinstance(found, list) and found else {}
    return _text(first.get("url")) if isinstance(first, dict) else ""


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ProviderProtocolError(f"the server gave no {what.removeprefix('a ')} where one belongs")
    return value


def _id(row: Mapping[str, Any]) -> str:
    found = row.get("id")
    if not isinstance(found, str) or not found:
        raise ProviderProtocolError("the server gave a row without an id")
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any, *, default: int = 0) -> int:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else default


def _strings(value: Any) -> dict[str, str]:
    found = value.items() if isinstance(value, dict) else ()
    return {name: text if isinstance(text, str) else str(text) for name, text in found}
