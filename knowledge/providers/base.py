"""The provider seam (spec 4.2): what a knowledge provider can be asked, in our words, with frozen typed results.

A provider holds an index. It knows nothing of users, grants, paths or files: the registry maps its answers back.
Adapters hold every vendor word. All implementations pass `tests/conformance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NewType, Protocol, runtime_checkable

from knowledge.parsing.source_map import SourceMap
from knowledge.providers.originals import Original, Reading

ProviderKBId = NewType("ProviderKBId", str)
ProviderDocumentId = NewType("ProviderDocumentId", str)


class DocumentPhase(StrEnum):
    """Where a provider document stands. `searchable` may come before `done`."""

    QUEUED = "queued"
    PARSING = "parsing"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DELETING = "deleting"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a provider offers; callers ask before offering a feature.

    `needs_polling`: a document is not done when `ingest` returns; `document_status` tells. `cuts_itself`: its passages
    are its own cuts of our text, not our blocks.
    """

    takes_originals: bool = False
    needs_polling: bool = False
    can_cancel: bool = False
    has_timeline: bool = False
    semantic: bool = False
    cuts_itself: bool = False
    max_text_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KBRef:
    """A knowledge base as a provider sees it. `provider_kb_id` is minted by us and stored before first use. `reading`
    is how the provider reads its files, None where it gets our text."""

    kb_id: str
    workspace_id: str
    provider_kb_id: ProviderKBId
    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    reading: Reading | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """One content to index. The same `source_hash` in one KB is one provider document, whatever its paths.

    `known_id` is the provider document this registry row already has, if any; `metadata` goes along as strings. With
    an `original` the provider is to read the file itself; `source_map` is then what we made of it, maybe without text.
    """

    kb: KBRef
    document_id: str
    display_name: str
    source_hash: str
    source_map: SourceMap
    known_id: ProviderDocumentId | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    original: Original | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentState:
    """What the provider says of one document. `chunk_count` is None while unknown. `raw_status` is for display only.

    With phase FAILED, `error_code` says why and `retryable` whether ingesting it again may help, the file unchanged.
    `document_id` is the registry row it was sent for, "" for one that others put there, None where it is not told;
    `content_key` is equal for equal contents; `tags` are those it carries there, None where they are not told.
    """

    provider_document_id: ProviderDocumentId
    phase: DocumentPhase
    searchable: bool
    raw_status: str
    chunk_count: int | None = None
    error_code: str | None = None
    retryable: bool = False
    document_id: str | None = None
    content_key: str = ""
    tags: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOutcome:
    """The result of `ingest`. `duplicate` says that the content was already there under this id.

    `text_hash` ("sha256:…") is of the bytes that were handed over, where those are not the original's.
    """

    state: DocumentState
    duplicate: bool = False
    text_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A search over one KB, or over a whole workspace when `kbs` is empty and the provider is the embedded one.

    `document_ids` narrows to these provider documents. `limit` is how many hits to return, best first. A provider that
    cannot answer within `seconds` gives up then, with ProviderTimeout or without what did not come in time.
    """

    workspace_id: str
    kbs: tuple[KBRef, ...]
    query: str
    limit: int
    document_ids: tuple[ProviderDocumentId, ...] = ()
    mode: str = "hybrid"
    seconds: float = 45.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """One passage found. `char_start`/`char_end` point into the derived text that was ingested; they are a hint, and
    -1 where the provider's words give no place. `KnowledgeProvider.place` proves a place.

    `score` orders this answer only. `content` is the provider's text: shown to nobody, used to verify the place.
    `provider_start`/`provider_end` are the provider's own offsets where they count another text than ours, else -1.
    """

    provider_document_id: ProviderDocumentId
    provider_kb_id: ProviderKBId
    chunk_id: str
    chunk_index: int
    score: float
    match_type: str
    char_start: int
    char_end: int
    content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    provider_start: int = -1
    provider_end: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOutcome:
    """Hits, best first, and how the search went. `more` says that a larger limit could give more hits.

    `dropped` counts hits that are no passages of a text: summaries, image links, pieces without a letter or digit.
    `unanswered` names each knowledge base that could not be searched, with the code of what was wrong.
    """

    hits: tuple[SearchHit, ...]
    more: bool = False
    degraded: bool = False
    milliseconds: int = 0
    notes: tuple[str, ...] = ()
    dropped: int = 0
    unanswered: tuple[tuple[ProviderKBId, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One indexed passage of a document; its offsets as those of a `SearchHit`. Indexes ascend and may have gaps."""

    chunk_id: str
    index: int
    content: str
    char_start: int
    char_end: int
    section_path: tuple[str, ...] = ()
    provider_start: int = -1
    provider_end: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkPage:
    """A page of chunks in document order; `total` counts all."""

    chunks: tuple[Chunk, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One step of processing at the provider. Times are aware UTC; None where unknown."""

    name: str
    state: str
    started_at: datetime | None = None
    finished_at: datetime | None = None
    detail: str = ""
    children: tuple[Stage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderStatus:
    """Whether the provider answers. `sentence` says in plain words what is broken; empty when nothing is."""

    reachable: bool
    version: str = ""
    milliseconds: int = 0
    sentence: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


class CheckResult(StrEnum):
    """How a check went. `unknown`: we may not see it. `skipped`: an earlier one failed, or there is nothing to ask."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question put to a provider by an administrator. `name` and `code` are ours; words are made elsewhere."""

    name: str
    result: CheckResult
    code: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


class ProviderError(Exception):
    """A provider call that failed. `code` is public, the message is for administrators and holds no secret or URL.

    `since` is set by whoever knows since when the provider fails.
    """

    code = "provider-error"
    retryable = False
    since: datetime | None = None

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ProviderUnavailable(ProviderError):
    code = "provider-unavailable"
    retryable = True


class ProviderTimeout(ProviderUnavailable):
    code = "provider-timeout"


class ProviderBusy(ProviderUnavailable):
    """Nothing is wrong: it is somebody else's turn. Ask again after `retry_after` seconds; this is no attempt."""

    code = "provider-busy"


class ProviderDeleting(ProviderUnavailable):
    """The provider took the deletion but has not finished it. Ask again until the document is gone."""

    code = "provider-deleting"


class ProviderRejected(ProviderError):
    code = "provider-rejected"


class ProviderNotThere(ProviderRejected):
    """The provider does not know (any more) what was asked about: the document, or the place of the whole KB."""

    code = "provider-not-there"


class ProviderMisconfigured(ProviderError):
    code = "provider-misconfigured"


class ProviderAuthError(ProviderMisconfigured):
    """The provider does not take our credential."""

    code = "provider-auth"


class ProviderRightsMissing(ProviderMisconfigured):
    """The credential is good, but may not do this."""

    code = "provider-rights"


class ProviderKBUnusable(ProviderError):
    """The id of a provider KB can never be used (again). Make a new id, store it, then call `ensure_kb` with it."""

    code = "provider-kb-unusable"


class ProviderProtocolError(ProviderError):
    code = "provider-protocol"


class OriginalChanged(ProviderError):
    """The file was not, or was no longer, the one that was to be handed over."""

    code = "source_changed_while_parsing"
    retryable = True


class KnowledgeProvider(Protocol):
    """One connection to one index. Safe to use from several threads. Every method may raise ProviderError."""

    kind: str
    capabilities: Capabilities

    def status(self) -> ProviderStatus:
        """Say whether the provider answers. Never raises ProviderError."""
        ...

    def check(self, kb: KBRef | None = None) -> tuple[Check, ...]:
        """Ask everything that must hold for the provider to serve us, and `kb` if given. Never raises ProviderError."""
        ...

    def ensure_kb(self, kb: KBRef) -> None:
        """Make the provider KB exist, and read files as `kb.reading` says. Doing it twice changes nothing. Raises
        ProviderKBUnusable for a burned id."""
        ...

    def ingest(self, request: IngestRequest) -> IngestOutcome:
        """Index a content. Doing it twice leaves one provider document.

        A text without a letter or digit gives a state with chunk_count 0. Raises ProviderBusy when others go first.
        """
        ...

    def document_status(self, kb: KBRef, ids: Sequence[ProviderDocumentId]) -> list[DocumentState]:
        """Return one state per id, in order; an unknown id has phase GONE."""
        ...

    def search(self, request: SearchRequest) -> SearchOutcome:
        """Find passages, best first."""
        ...

    def place(self, text: str, passage: SearchHit | Chunk) -> tuple[int, int] | None:
        """Return where a passage stands in `text`, the derived text that was ingested; None unless it stands there."""
        ...

    def chunks(self, kb: KBRef, document: ProviderDocumentId, *, offset: int, limit: int) -> ChunkPage:
        """Return passages of one document in order. An unknown document has none."""
        ...

    def chunk(self, kb: KBRef, chunk_id: str) -> tuple[ProviderDocumentId, Chunk] | None:
        """Return one passage and the document of this knowledge base it is of; None for an id that is unknown here."""
        ...

    def timeline(self, kb: KBRef, document: ProviderDocumentId) -> tuple[Stage, ...]:
        """Return the provider's own processing stages; empty when it keeps none."""
        ...

    def reparse(self, kb: KBRef, document: ProviderDocumentId) -> None:
        """Ask the provider to read the document again. It is not searchable meanwhile."""
        ...

    def cancel(self, kb: KBRef, document: ProviderDocumentId) -> None:
        """Stop processing, as far as the provider can."""
        ...

    def delete_document(self, kb: KBRef, document: ProviderDocumentId) -> None:
        """Remove a document from the index. Unknown is success. Raises ProviderDeleting when it takes longer."""
        ...

    def delete_kb(self, kb: KBRef) -> None:
        """Remove the whole index of a KB. Unknown is success."""
        ...

    def list_documents(self, kb: KBRef) -> list[DocumentState]:
        """Return all documents the provider holds for a KB, for reconcile."""
        ...


@runtime_checkable
class TakesMany(Protocol):
    """A provider that is faster with many contents at once. Optional, beside KnowledgeProvider."""

    def ingest_many(self, requests: Sequence[IngestRequest]) -> list[IngestOutcome | ProviderError]:
        """Index contents of one workspace. Returns for each, in order, what `ingest` would return, or the error that
        refuses that one alone. Raises ProviderError for what concerns all; then none is kept."""
        ...
