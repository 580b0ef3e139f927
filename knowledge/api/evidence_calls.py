"""What bodies of the evidence API name, and the older document call that stands on it (spec 10.8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from knowledge import evidence_shapes
from knowledge.api.hints import locator_hint
from knowledge.api.scope import place_of
from knowledge.services import evidence
from knowledge.services.evidence import Reading, Scope
from knowledge.services.hints import Hint
from knowledge.services.passages import Window
from mnote.models import Workspace
from mnote.principals import Principal


def documents(principal: Principal, data: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a checked body of DocumentSearchSerializer: results of a search, a document, or a passage read.

    Raises what `evidence.search` and `evidence.read` raise, NotFound, RootNotFound, LocatorInvalid.
    """
    if data.get("locator"):
        return evidence_shapes.reading_json(read(principal, {"locator": data["locator"], "scope": data}))
    if not data["query"]:
        return _document_text(principal, data)
    place = place_of(principal, data)
    found = evidence.search(
        principal=principal,
        scope=Scope(
            workspace=place.workspace,
            root=place.root,
            document_id=data.get("document_id", ""),
            include_ocr=data["include_ocr"],
        ),
        query=data["query"],
        top_k=data["limit"],
    )
    return {"ok": True, "results": [evidence_shapes.document_hit_json(each) for each in found.references]}


def _document_text(principal: Principal, data: Mapping[str, Any]) -> dict[str, Any]:
    locator = {"owner_document_id": data["document_id"]}
    root_uri = {"root_uri": data["root_uri"]} if data.get("root_uri") else {}
    reading = read(principal, {"locator": locator | root_uri, "scope": data, "context": {"max_chars": 0}})
    source_map = reading.opened.place.source_map
    text = source_map.text if source_map else ""
    limit = data["max_chars"]
    return evidence_shapes.document_text_json(reading, text=text[:limit], is_cut=len(text) > limit)


def read(principal: Principal, data: Mapping[str, Any]) -> Reading:
    """Read what a checked body of EvidenceReadSerializer names. Raises what `evidence.read` raises."""
    context = data.get("context", {})
    workspace, root_uri = where(principal, data)
    window = Window(
        before=context.get("before", 2),
        after=context.get("after", 2),
        section=context.get("section", True),
        max_chars=context.get("max_chars", 8_000),
    )
    return evidence.read(
        principal=principal,
        workspace=workspace,
        root_uri=root_uri,
        hint=hint_in(data),
        window=window,
        with_mentions=context.get("owner_mentions", True),
    )


def where(principal: Principal, data: Mapping[str, Any]) -> tuple[Workspace | None, str | None]:
    """Return the workspace that was named, and the root of scope or locator."""
    scope = data.get("scope")
    place = place_of(principal, scope) if scope else None
    if place and place.root:
        return place.workspace, place.root.root_uri
    return place.workspace if place else None, data.get("locator", {}).get("root_uri")


def hint_in(data: Mapping[str, Any]) -> Hint:
    """Return what a checked body of EvidenceNamedSerializer names. Raises LocatorInvalid."""
    if data.get("evidence_id"):
        return Hint(chunk_id=data["evidence_id"])
    return locator_hint(data["locator"])
