"""Originals as a provider gets them, never whole in memory and opened by the one who knows where they lie; and how it
is to read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Protocol, runtime_checkable

from knowledge.mapping.converted import Converted

if TYPE_CHECKING:  # that module needs this one
    from knowledge.providers.base import Chunk, KBRef, ProviderDocumentId, SearchHit


@dataclass(frozen=True, slots=True, kw_only=True)
class Original:
    """A file to be handed over as it is. `open` may be called several times; it raises ProviderError where the file
    cannot be read (any more), or is another one by now."""

    open: Callable[[], AbstractContextManager[IO[bytes]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """That pictures are read too: what stands in them, and what they show. `language` is that of the descriptions, a
    code of ours, "" for that of the document; `instructions` say what to look for."""

    language: str = ""
    instructions: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a provider is to read the files of a knowledge base. `engines` names one by type of file; a type that is not
    there is left to the provider. `scans_as_pictures`: each page of a PDF is read as a picture, whatever text it has.
    """

    engines: Mapping[str, str] = field(default_factory=dict)
    pictures: Pictures | None = None
    scans_as_pictures: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One of a provider's ways to read files. `file_types` are ends of names. `why_not` is a code of
    `knowledge.profile_words.ENGINE_REASONS`, "" where it works. `recognises`: it reads scans without a model for
    pictures."""

    name: str
    file_types: tuple[str, ...]
    why_not: str = ""
    recognises: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingOffer:
    """What providers of one kind read themselves. `types`: by type of file, the ends of names that they take;
    `recommended`: which engine is the right one as a rule; `pictures`: ends of names of pictures."""

    types: Mapping[str, tuple[str, ...]]
    recommended: Mapping[str, str]
    pictures: frozenset[str]


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
