"""From checked request bodies to hints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from knowledge.citations.owners import path_of
from knowledge.exceptions import LocatorInvalid
from knowledge.services.hints import Hint


def hint_of(data: Mapping[str, Any]) -> Hint:
    """Return what a body of OpenReferenceSerializer names: its own fields, then those of its `reference`."""
    fields = {**data, **data.get("reference", {})}
    if fields.get("locator") and not _names_more_than_locator(fields):
        return locator_hint(fields["locator"])
    return Hint(
        token=fields.get("token") or fields.get("open_reference") or "",
        chunk_id=fields.get("provider_chunk_id") or fields.get("chunk_id") or fields.get("evidence_id") or "",
        chunk_index=fields.get("chunk_index"),
        provider_document_id=fields.get("provider_knowledge_id", ""),
        kb_id=fields.get("knowledge_base_id", ""),
        document_id=fields.get("source_id", ""),
        path=fields.get("source_path", "").strip("/"),
        resource_id=fields.get("mnote_resource_id", ""),
        name=fields.get("file_path", "") if not fields.get("source_path") else "",
        lines=_lines(fields),
        quote=fields.get("quote", ""),
    )


def locator_hint(locator: Mapping[str, Any], *, token: str = "") -> Hint:
    """Return what a locator says. Raises LocatorInvalid when it names no file."""
    path = locator.get("resource_path", "").strip("/") or _owner_path(locator)
    if not path and not token:
        raise LocatorInvalid
    chars = locator.get("char_range")
    return Hint(
        token=token,
        path=path,
        lines=_lines(locator),
        chars=(chars[0], chars[1]) if chars else None,
        quote=locator.get("quote", ""),
        source_hash=locator.get("source_hash", ""),
        section_path=tuple(locator.get("section_path", ())),
    )


def _names_more_than_locator(fields: Mapping[str, Any]) -> bool:
    names = ("token", "open_reference", "provider_chunk_id", "chunk_id", "evidence_id", "source_id", "file_path")
    return any(fields.get(name) for name in names)


def _owner_path(locator: Mapping[str, Any]) -> str:
    try:
        return path_of(locator.get("owner_document_id", ""))
    except ValueError:
        return ""


def _lines(fields: Mapping[str, Any]) -> tuple[int, int] | None:
    given = fields.get("lines") or fields.get("line_range")
    if given:
        return given[0], given[1]
    first = fields.get("line_start")
    return (first, max(first, fields.get("line_end") or first)) if first else None
