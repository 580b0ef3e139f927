"""Places of passages that were found before: who asks again, as agents do, gets much the same passages.

A place depends on the content that is indexed, on where the file is, and on the passage alone: never on who asks.
"""

from __future__ import annotations

from typing import NamedTuple

from knowledge.citations.locators import Locator
from knowledge.models import Document
from knowledge.providers.base import SearchHit
from knowledge.services.references import Reference
from mnote.recent import Recent


class _Passage(NamedTuple):
    """A passage of a document as it stood in the registry, in a root as it was named."""

    document_id: str
    rev: int
    root_uri: str
    content: str
    start: int
    end: int
    provider_start: int
    provider_end: int


class _Place(NamedTuple):
    """What `Reference` says of a place."""

    locator: Locator
    token: str
    indexed_text: str


_known: Recent[_Passage, _Place] = Recent(2048)


def recall(document: Document, hit: SearchHit, also_at: tuple[str, ...]) -> Reference | None:
    """Return the reference of a passage whose place is known."""
    known = _known.get(_passage(document, hit))
    return known and Reference(document=document, hit=hit, also_at=also_at, **known._asdict())


def keep(reference: Reference) -> None:
    """Keep an exact place. Another may become exact without a change of the document, when its text is read again."""
    if not reference.locator.degraded:
        place = _Place(reference.locator, reference.token, reference.indexed_text)
        _known.put(_passage(reference.document, reference.hit), place)


def _passage(document: Document, hit: SearchHit) -> _Passage:
    return _Passage(
        document.pk,
        document.rev,
        document.root.root_uri,
        hit.content,
        hit.char_start,
        hit.char_end,
        hit.provider_start,
        hit.provider_end,
    )
