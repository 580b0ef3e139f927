"""An original as a provider gets it: never whole in memory, opened by the one who knows where it lies."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Protocol, runtime_checkable

from knowledge.mapping.converted import Converted

if TYPE_CHECKING:  # that module needs this one
    from knowledge.providers.base import Chunk, KBRef, ProviderDocumentId, SearchHit


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """A file to be handed over as it is. `open` may be called several times; it raises ProviderError where the file
    cannot be read (any more), or is another one by now."""

    open: Callable[[], AbstractContextManager[IO[bytes]]]


@runtime_checkable
class ReadsOriginals(Protocol):
    """A provider that reads files itself (`takes_originals`). Optional, beside KnowledgeProvider."""

    def converted(self, kb: KBRef, document: ProviderDocumentId) -> Converted:
        """Return what it made of a document, put together from all its passages; empty where there are too many."""
        ...

    def key_of(self, passage: SearchHit | Chunk) -> str:
        """Return by which key the `Converted` names a passage."""
        ...

    def own_words_of(self, passage: SearchHit | Chunk, *, name: str) -> str:
        """Return the words of a passage of the file of this name that are the file's own; blanks for all others."""
        ...
