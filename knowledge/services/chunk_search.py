"""Finding words in the indexed passages of one document."""

from __future__ import annotations

from knowledge.citations.finding import fold
from knowledge.models import Document
from knowledge.services import chunks
from knowledge.services.chunks import PlacedChunk

_PAGE = 200
#: Passages that are looked through.
_MOST = 5000


def find(document: Document, words: str) -> list[PlacedChunk]:
    """Return the passages that hold `words`, in document order, in either case and with or without accents.

    Raises ProviderError.
    """
    needle = fold(words.strip())
    found: list[PlacedChunk] = []
    offset, total = 0, 1
    while needle and offset < min(total, _MOST):
        page = chunks.page_of(document, offset=offset, limit=_PAGE)
        found += [each for each in page.chunks if needle in fold(each.text)]
        offset, total = offset + _PAGE, page.total
    return found
