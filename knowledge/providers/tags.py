"""Tags at a provider: an offer beside the seam."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from knowledge.providers.base import KBRef, ProviderDocumentId


@runtime_checkable
class TakesTags(Protocol):
    """A provider that shows tags of documents to people there. Optional, beside KnowledgeProvider."""

    def set_tags(self, kb: KBRef, tags: Mapping[ProviderDocumentId, Sequence[str]]) -> None:
        """Let each document carry these tags and no others; none clears them. Unknown documents are passed over. Takes
        no document and no tag away. Doing it twice changes nothing. May raise ProviderError."""
        ...
