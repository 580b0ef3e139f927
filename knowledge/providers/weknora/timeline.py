"""The server's record of how a document was processed, as stages of ours. Its texts stay with it."""

from __future__ import annotations

from knowledge.providers.base import Stage
from knowledge.providers.weknora.rows import SpanRow, TraceRow

_NAMES = {
    "docreader": "reading",
    "chunking": "splitting",
    "embedding": "indexing",
    "multimodal": "images",
    "postprocess": "finishing",
}
_STATES = {
    "pending": "waiting",
    "running": "running",
    "done": "done",
    "failed": "failed",
    "skipped": "skipped",
    "cancelled": "cancelled",
}
_CODES = {
    "DOCREADER_TIMEOUT": "provider-reader",
    "DOCREADER_UNAVAILABLE": "provider-reader",
    "DOCREADER_PARSE_FAILED": "provider-read-failed",
    "CHUNKING_FAILED": "index-collision",
    "EMBEDDING_RATE_LIMIT": "provider-embedder",
    "EMBEDDING_PROVIDER_FAIL": "provider-embedder",
    "VECTORSTORE_WRITE_FAILED": "provider-embedder",
    "TASK_TIMEOUT": "stalled",
    "USER_CANCELLED": "stopped",
    "SERVER_RESTART": "interrupted",
}


def stages(trace: TraceRow) -> tuple[Stage, ...]:
    """Return the steps that really were taken: those the server makes up have no id."""
    return tuple(_stage(span) for span in trace.root.children if span.id and span.name in _NAMES)


def _stage(span: SpanRow) -> Stage:
    return Stage(
        name=_NAMES[span.name],
        state=_STATES.get(span.status, "unknown"),
        started_at=span.started_at,
        finished_at=span.finished_at,
        detail=(_CODES.get(span.code, "provider-failed") if span.code else ""),
    )
