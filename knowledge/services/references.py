"""References: a passage found, mapped to a local file, with a signed token by which it can be opened again.

A token names what was cited, never gives a right: workspace, root, file and grant are checked at every opening.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core import signing

from knowledge.citations.locators import Locator
from knowledge.citations.quotes import QuoteAnchor, leading_blank
from knowledge.citations.truth import Citation, section_keys
from knowledge.exceptions import LocatorInvalid
from knowledge.models import Document
from knowledge.providers.base import SearchHit
from knowledge.services.placing import Placer

_SALT = "mnote.citation.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationToken:
    """What a signed token says: which file of which root was cited, and the passage in short."""

    workspace_id: str
    root_key: str
    path: str
    document_id: str
    citation: Citation


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A hit, mapped. `also_at` lists further readable paths with the same content. `indexed_text` is the passage as the
    index holds it where that is our own text, else ""."""

    document: Document
    hit: SearchHit
    locator: Locator
    token: str
    also_at: tuple[str, ...] = ()
    indexed_text: str = ""

    @property
    def quote(self) -> str:
        """The passage as it may be shown: the file's own words, "" where they are not known."""
        return self.locator.quote or self.indexed_text


def build(*, document: Document, hit: SearchHit, placer: Placer, also_at: tuple[str, ...] = ()) -> Reference:
    """Map a hit to its place in the file that was indexed. A hit that cannot be placed opens the document, degraded."""
    return at(document=document, hit=hit, placer=placer, locator=placer.cite(hit) or placer.nowhere, also_at=also_at)


def at(
    *, document: Document, hit: SearchHit, placer: Placer, locator: Locator, also_at: tuple[str, ...] = ()
) -> Reference:
    """Return the reference of a hit whose place is known, or known to be nowhere."""
    token = sign(
        workspace_id=document.workspace_id, root_key=document.root.key, document_id=document.id, locator=locator
    )
    return Reference(
        document=document,
        hit=hit,
        locator=locator,
        token=token,
        also_at=also_at,
        indexed_text="" if placer.is_foreign else hit.content,
    )


def citation_of(locator: Locator) -> Citation:
    """Return what has to be remembered of a place to judge it later. White space before a quote does not count."""
    return Citation(
        source_hash=locator.source_hash,
        char_start=locator.char_start + leading_blank(locator.quote),
        line_start=locator.line_start,
        anchor=QuoteAnchor.of(locator.quote),
        section_keys=section_keys(locator.section_path),
    )


def sign(*, workspace_id: str, root_key: str, document_id: str, locator: Locator) -> str:
    """Return the signed token of a place."""
    citation = citation_of(locator)
    body = {
        "w": workspace_id,
        "r": root_key,
        "d": document_id,
        "p": locator.resource_path,
        "h": citation.source_hash.removeprefix("sha256:"),
        "c": citation.char_start,
        "l": citation.line_start,
        "a": [citation.anchor.start, citation.anchor.length, citation.anchor.digest],
        "s": "".join(citation.section_keys[-6:]),
    }
    return _signer(settings.SECRET_KEY).sign_object(body, compress=True)


@lru_cache(maxsize=2)
def _signer(key: str) -> signing.TimestampSigner:
    return signing.TimestampSigner(key=key, salt=_SALT)


def read_token(token: str) -> CitationToken:
    """Return what a token says. Raises LocatorInvalid for a token that is not ours or was changed."""
    try:
        body: dict[str, Any] = signing.loads(token, salt=_SALT)
    except signing.BadSignature:
        raise LocatorInvalid from None
    start, length, digest = body["a"]
    keys = body["s"]
    return CitationToken(
        workspace_id=body["w"],
        root_key=body["r"],
        path=body["p"],
        document_id=body["d"],
        citation=Citation(
            source_hash=f"sha256:{body['h']}",
            char_start=body["c"],
            line_start=body["l"],
            anchor=QuoteAnchor(start=start, length=length, digest=digest),
            section_keys=tuple(keys[i : i + 6] for i in range(0, len(keys), 6)),
        ),
    )
