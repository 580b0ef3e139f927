"""The document maps of knowledge bases whose files the provider reads: made when it is done, kept by content, looked up
for every passage found. Without a map of the very text that is indexed no passage has an exact place."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from knowledge.citations.locators import MapState
from knowledge.mapping.converted import Converted
from knowledge.mapping.document_map import REVISION, DocumentMap, map_document
from knowledge.models import Document, KnowledgeBase
from knowledge.parsing.source_map import SourceMap
from knowledge.providers.base import KnowledgeProvider, ProviderDocumentId
from knowledge.providers.originals import ReadsOriginals
from knowledge.services import artifacts, parsing
from knowledge.services.dropping import kb_ref
from mnote.recent import Recent

#: Names, in a document's locator, the map by which its passages have their places. There only where the provider read
#: the file; "" as long as there is no map.
MAP = "documentMap"
#: The parse into whose text the map points: parser and revision, empty where there is none.
_TEXT = "mapText"
#: How many passages have no place because the provider's marks of pages name another one than their words stand on.
_CONTRADICTED = "mapContradicted"
_Key = tuple[str, str, str]

_maps: Recent[_Key, DocumentMap] = Recent(32)


def is_read_by_provider(document: Document) -> bool:
    """Say whether what search holds of a document was read by its provider."""
    return MAP in document.citation_locator_json


def is_wanted(document: Document) -> bool:
    """Say whether the version in the making needs a map."""
    return MAP in document.pending_json.get("locator", {})


def draw(*, kb: KnowledgeBase, provider: KnowledgeProvider, document: Document) -> MapState:
    """Make the map of a version in the making that the provider is done with, and note it in `pending_json`. Returns
    its state. Raises ProviderError where the passages cannot be read."""
    assert isinstance(provider, ReadsOriginals)  # noqa: S101 others are given no originals
    converted = provider.converted(kb_ref(kb), ProviderDocumentId(document.pending_knowledge_id))
    source_hash = document.pending_json.get("sourceHash", document.source_hash)
    ours = parsing.known(workspace_id=document.workspace_id, source_hash=source_hash, name=document.name)
    found = map_document(converted, ours, source_hash=source_hash)
    name = _name(converted, ours)
    artifacts.keep_document_map(
        root=document.root, path=document.source_path, provider=document.provider, revision=name, document_map=found
    )
    _maps.put((document.workspace_id, source_hash, name), found)
    facts: dict[str, object] = {MAP: name, _TEXT: list(found.text_of)}
    facts |= {"mapState": found.state.value, "mapCounts": found.counts, _CONTRADICTED: found.contradicted}
    document.pending_json = {
        **document.pending_json, "locator": {**document.pending_json.get("locator", {}), **facts},
    }  # fmt: skip
    return found.state


def maps_of(documents: Iterable[Document]) -> dict[str, DocumentMap]:
    """Return the maps of documents of one workspace by document id, without those that are absent or damaged."""
    wanted = {row.pk: _key(row) for row in documents if row.citation_locator_json.get(MAP)}
    known = {key: found for key in set(wanted.values()) if (found := _maps.get(key)) is not None}
    missing = {key for key in wanted.values() if key not in known}
    for key, found in artifacts.document_maps(missing).items():
        _maps.put(key, found)
        known[key] = found
    return {pk: known[key] for pk, key in wanted.items() if key in known}


def unmapped(documents: Iterable[Document]) -> list[Document]:
    """Return those of indexed documents that their provider read and whose map is lost, or points into a text that is
    read in another way today."""
    read_there = [row for row in documents if is_read_by_provider(row)]
    kept = artifacts.kept_document_maps(_key(row) for row in read_there)
    return [row for row in read_there if _key(row) not in kept or not _is_of_today(row)]


def _key(row: Document) -> _Key:
    return row.workspace_id, row.indexed_hash, str(row.citation_locator_json.get(MAP, ""))


def _is_of_today(row: Document) -> bool:
    drawn = tuple(row.citation_locator_json.get(_TEXT, ()))
    return drawn in (("", ""), parsing.revision_of(row.name))


def facts_of(locator: Mapping[str, Any]) -> tuple[MapState, dict[str, int]]:
    """Return the state of a document's map and how many passages have which state, as its row tells them."""
    return MapState(locator.get("mapState", MapState.NONE)), dict(locator.get("mapCounts", {}))


def contradicted(locator: Mapping[str, Any]) -> int:
    """Return how many passages have no place because the provider names another page than ours, as the row tells."""
    return int(locator.get(_CONTRADICTED, 0))


def _name(converted: Converted, ours: SourceMap | None) -> str:
    """Equal texts on both sides give equal maps."""
    parse = f"{ours.provider} {ours.model_version}" if ours else ""
    digest = hashlib.blake2b(f"{parse}\n{converted.text}".encode("utf-8", "replace"), digest_size=16)
    for piece in converted.pieces:
        digest.update(piece.key.encode())
    return f"{REVISION}-{digest.hexdigest()}"
