"""The public JSON of evidence: search, read, open, and what parsing made (spec 10.1, 10.5–10.8)."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from knowledge.citations.owners import owner_document_id
from knowledge.models import DerivedArtifact
from knowledge.parsing.source_map import SCHEMA as SOURCE_MAP_SCHEMA
from knowledge.parsing.source_map import BBox, Block, Page, Section, SourceMap
from knowledge.providers.local.reads import StoredEdge
from knowledge.services.evidence import OCR_PARSERS, Found, Reading
from knowledge.services.hints import OpenedReference
from knowledge.services.references import Reference
from knowledge.shapes import (
    citation_label,
    citation_markdown,
    open_url,
    opened_reference_json,
    passage_json,
    section_json,
)


def found_json(found: Found, *, is_administrator: bool) -> dict[str, Any]:
    """Return the answer to an evidence search (10.5)."""
    diagnostics: dict[str, Any] = {"mode": found.mode, "degraded": found.degraded, "notes": list(found.notes)}
    if is_administrator:
        diagnostics["droppedForbidden"] = found.dropped_forbidden
    return {"ok": True, "results": [evidence_json(each) for each in found.references], "diagnostics": diagnostics}


def evidence_json(reference: Reference) -> dict[str, Any]:
    """Return one passage as evidence: quote and place, no internal ids."""
    locator, document = reference.locator, reference.document
    url = open_url(document.root, locator, reference.token)
    return {
        "evidenceId": reference.hit.chunk_id,
        "quote": locator.quote or reference.hit.content,
        "score": reference.hit.score,
        "source": locator.to_json(url=url),
        "title": document.title or document.name,
        "alsoAt": list(reference.also_at),
        "citationLabel": citation_label(locator),
        "citationMarkdown": citation_markdown(locator, url),
        "citationUrl": url,
    }


def reading_json(reading: Reading) -> dict[str, Any]:
    """Return what was read around a place (10.6)."""
    place, around = reading.opened.place, reading.surroundings
    opened = opened_reference_json(reading.opened)
    body: dict[str, Any] = {
        "ok": True,
        "anchor": {"quote": place.locator.quote, "locator": opened["locator"]},
        "locatorState": opened["locatorState"],
        "locatorDegraded": opened["locatorDegraded"],
        "pageNeighbours": [passage_json(place.root, each) for each in (*around.before, *around.after)],
        "ownerMentions": [passage_json(place.root, each) for each in reading.mentions],
        "citationLabel": opened["citationLabel"],
        "citationMarkdown": opened["citationMarkdown"],
        "citationUrl": opened["citationUrl"],
        "degraded": around.degraded,
    }
    if around.section:
        body["section"] = section_json(place.root, around.section)
    if around.excerpt:
        is_recognised = place.source_map is not None and place.source_map.provider in OCR_PARSERS
        body["artifactExcerpt"] = {"kind": "ocr_text" if is_recognised else "parse_text", "text": around.excerpt}
    return body


def opened_evidence_json(opened: OpenedReference) -> dict[str, Any]:
    """Return an opened piece of evidence (10.7)."""
    return {"ok": True, **opened_reference_json(opened)}


def document_hit_json(reference: Reference) -> dict[str, Any]:
    """Return one result for callers of the older document search, with the evidence added (10.8)."""
    evidence = evidence_json(reference)
    document = reference.document
    return {
        "documentId": owner_document_id(document.source_path),
        "title": evidence["title"],
        "path": document.source_path,
        "snippet": evidence["quote"],
        "score": evidence["score"],
        "source": {"rootUri": document.root.root_uri, "path": document.source_path, "locator": evidence["source"]},
        "evidence": evidence,
    }


def document_text_json(reading: Reading, *, text: str, is_cut: bool) -> dict[str, Any]:
    """Return a document for callers of the older document reader, with its locator added (10.8)."""
    place = reading.opened.place
    opened = opened_reference_json(reading.opened)
    title = place.source_map.title if place.source_map and place.source_map.title else place.path.rpartition("/")[2]
    return {
        "ok": True,
        "documentId": owner_document_id(place.path),
        "title": title,
        "path": place.path,
        "text": text,
        "truncated": is_cut,
        "source": {"rootUri": place.root.root_uri, "path": place.path, "locator": opened["locator"]},
    }


def source_map_json(source_map: SourceMap, *, path: str, owner: str) -> dict[str, Any]:
    """Return a source map in its published form. A file without pages has one page of size 0."""
    pages = source_map.pages or (Page(page=1, width=0, height=0),)
    blocks = _blocks_by_page(source_map)
    body: dict[str, Any] = {
        "schema": SOURCE_MAP_SCHEMA,
        "provider": source_map.provider,
        "modelVersion": source_map.model_version,
        "ownerDocumentPath": owner,
        "sourceRootRelativePath": path,
        "sourceHash": source_map.source_hash,
        "kind": source_map.kind.value,
        "title": source_map.title,
        "lineCount": source_map.line_count,
        "pageCount": len(source_map.pages),
        "pages": [_page_json(page, blocks[page.page]) for page in pages],
        "sections": [_section_json(section, source_map) for section in source_map.sections],
    }
    return {key: value for key, value in body.items() if value is not None}


def artifact_json(artifact: DerivedArtifact, *, path: str) -> dict[str, Any]:
    """Return what is known of an artifact; its content and its file stay on the server. Artifacts belong to a content
    and name the path where it was first met, so the path is that of the source asked for."""
    return {
        "artifactId": artifact.artifact_id,
        "workspaceId": artifact.workspace_id,
        "rootUri": artifact.root_uri,
        "ownerDocumentId": owner_document_id(path),
        "ownerDocumentPath": path,
        "sourceRootRelativePath": path,
        "artifactKind": artifact.artifact_kind,
        "provider": artifact.provider,
        "sourceHash": artifact.source_hash,
        "contentHash": artifact.content_hash,
        "mimeType": artifact.mime_type,
        "sizeBytes": artifact.size_bytes,
        "createdAtMs": artifact.created_at_ms,
        "updatedAtMs": artifact.updated_at_ms,
        "stale": artifact.stale,
    }


def edge_json(edge: StoredEdge) -> dict[str, Any]:
    """Return a link that stands in a document."""
    return {
        "edgeId": edge.edge_id,
        "fromId": edge.from_id,
        "toId": edge.to_id,
        "edgeType": edge.edge_type,
        "label": edge.label,
        "sourceBlockId": edge.source_block_id,
        "confidence": edge.confidence,
        "createdBy": edge.created_by,
    }


def _blocks_by_page(source_map: SourceMap) -> defaultdict[int, list[dict[str, Any]]]:
    """Return the blocks of each page in order; a block over two pages stands on the first."""
    found: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for block in source_map.blocks:
        places = [source_map.place_of(line) for line in range(block.line_start, block.line_end + 1)]
        page = next((place.page for place in places if place.page is not None), 1)
        boxes = [place.bbox for place in places if place.bbox is not None and place.page == page]
        found[page].append(_block_json(block, boxes))
    return found


def _block_json(block: Block, boxes: list[BBox]) -> dict[str, Any]:
    body: dict[str, Any] = {
        "id": block.id,
        "type": block.type,
        "text": block.text,
        "charRange": [block.char_start, block.char_end],
        "lineRange": [block.line_start, block.line_end],
    }
    if boxes:
        x0, y0, x1, y1 = zip(*boxes, strict=True)
        body["bbox"] = [min(x0), min(y0), max(x1), max(y1)]
    return body


def _page_json(page: Page, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    items = [
        {"id": each.id, "text": each.text, "bbox": list(each.bbox), "charRange": [each.char_start, each.char_end]}
        for each in page.text_items
    ]
    body: dict[str, Any] = {"page": page.page, "width": page.width, "height": page.height}
    return body | ({"label": page.label} if page.label else {}) | {"textItems": items, "blocks": blocks}


def _section_json(section: Section, source_map: SourceMap) -> dict[str, Any]:
    body: dict[str, Any] = {
        "id": section.id,
        "title": section.title,
        "path": list(section.path),
        "pageStart": section.page_start,
        "pageEnd": section.page_end,
        "blockIds": [block.id for block in source_map.blocks if block.section_id == section.id],
    }
    return {key: value for key, value in body.items() if value is not None}
