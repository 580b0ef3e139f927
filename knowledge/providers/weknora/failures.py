"""Why the server could not process a document. It says so in free text only; the text itself is shown to nobody."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from knowledge.providers.weknora.config import Pace
from knowledge.providers.weknora.rows import DocumentRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """`code` is ours. `retryable`: processing it again may help. `is_repeated`: the server itself goes on trying."""

    code: str
    retryable: bool
    is_repeated: bool = False


_STILL_TRYING = "document read failed:"

# The first that fits counts.
_TEXTS: tuple[tuple[str, Failure], ...] = (
    ("chunks.seq_id", Failure(code="index-collision", retryable=True)),
    ("application restart", Failure(code="interrupted", retryable=True)),
    ("recovered by housekeeping", Failure(code="stalled", retryable=True)),
    ("Failed to enqueue", Failure(code="provider-server-error", retryable=True)),
    ("csv conversion failed", Failure(code="provider-read-failed", retryable=False, is_repeated=True)),
    ("docreader service not connected", Failure(code="provider-reader-missing", retryable=False, is_repeated=True)),
    (_STILL_TRYING, Failure(code="provider-reader", retryable=True, is_repeated=True)),
    ("EmbedBatch API error", Failure(code="provider-embedder", retryable=True)),
    ("/embeddings", Failure(code="provider-embedder", retryable=True)),
    ("embedding model returned", Failure(code="provider-embedder", retryable=True)),
    ("unmarshal response", Failure(code="provider-embedder", retryable=True)),
    ("model not found", Failure(code="provider-model-missing", retryable=False)),
    ("Incorrect password", Failure(code="encrypted", retryable=False)),
    ("Data format error", Failure(code="corrupt", retryable=False)),
    ("not a zip file", Failure(code="corrupt", retryable=False)),
    ("little-endian", Failure(code="corrupt", retryable=False)),
    ("NotImplementedError", Failure(code="provider-read-failed", retryable=False)),
    ("File conversion failed", Failure(code="corrupt", retryable=False)),
    ("got <class 'bytes'> type", Failure(code="provider-reader", retryable=False)),
    ("is not supported", Failure(code="unsupported_type", retryable=False)),
    ("Failed to parse:", Failure(code="no_text", retryable=False)),
)
_UNKNOWN = Failure(code="provider-failed", retryable=True)


def failure_of(row: DocumentRow) -> Failure:
    """Return why a failed document failed."""
    return next((failure for text, failure in _TEXTS if text in row.error), _UNKNOWN)


def is_final(row: DocumentRow, *, now: datetime, pace: Pace) -> bool:
    """Say whether a failed document stays so. Some the server tries again for minutes, showing them as failed."""
    if not failure_of(row).is_repeated:
        return True
    steady = row.updated_at is None or now - row.updated_at >= timedelta(seconds=pace.steady)
    over = row.created_at is None or now - row.created_at >= timedelta(seconds=pace.retries)
    return steady and over
