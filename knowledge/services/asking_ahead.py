"""Asking providers before the database has said who serves a scope: those who were asked last, nearly always the same.

Looking that up takes a good part of the time that a server needs to begin. What it answers counts only where the rows,
read meanwhile, say that the same provider serves the same knowledge bases over the same connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Model

from knowledge.models import KnowledgeBase
from knowledge.providers.base import ProviderError, SearchRequest
from knowledge.services.asking import Asking, Part
from knowledge.services.ingest import kb_ref
from knowledge.services.providers import grouped
from mnote.recent import Recent

#: A scope: workspace, knowledge bases asked for, and those the caller is limited to.
Key = tuple[str, tuple[str, ...], frozenset[str]]

_last: Recent[Key, tuple[Part, ...]] = Recent(512)


def begin(key: Key, request: SearchRequest, *, seconds: float, failed: dict[str, ProviderError]) -> Asking | None:
    """Start to ask those who were asked last about a scope; None where nobody outside was, or one of them failed."""
    last = _last.get(key)
    if last is None or any(part.link.key in failed for part in last):
        return None
    asking = Asking.again([_afresh(part) for part in last], seconds=seconds, failed=failed)
    asking.start(request)
    return asking


def is_right(asking: Asking, kbs: Sequence[KnowledgeBase]) -> bool:
    """Say whether those who are being asked serve just these knowledge bases today; it then goes on with these rows."""
    now = {link.key: (link, tuple(group)) for link, group in grouped(kbs).items()}
    if now.keys() != {part.link.key for part in asking.parts}:
        return False
    for part in asking.parts:
        link, group = now[part.link.key]
        if _values(link.profile) != _values(part.link.profile) or not _are_alike(group, part.kbs):
            return False
    for part in asking.parts:
        part.link, part.kbs = now[part.link.key]
    return True


def remember(key: Key, asking: Asking) -> None:
    """Keep who was asked about a scope, if somebody outside was and all could be."""
    parts = tuple(_afresh(part) for part in asking.parts)
    if all(part.provider for part in parts) and not all(part.is_embedded for part in parts):
        _last.put(key, parts)
    else:
        _last.drop(key)


def _afresh(part: Part) -> Part:
    return replace(part, outcome=None, error=None)


def _are_alike(some: Sequence[KnowledgeBase], others: Sequence[KnowledgeBase]) -> bool:
    return [kb_ref(kb) for kb in some] == [kb_ref(kb) for kb in others]


def _values(row: Model | None) -> tuple[Any, ...]:
    fields = row._meta.concrete_fields if row is not None else ()  # noqa: SLF001 Django's public name
    return tuple(getattr(row, field.attname) for field in fields)
