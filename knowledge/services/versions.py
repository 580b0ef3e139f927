"""Changes that must not undo what somebody else changed meanwhile (ETag, If-Match)."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from knowledge.exceptions import StaleVersion
from knowledge.models import KnowledgeBase
from knowledge.services import knowledge_bases
from mnote.exceptions import NotFound
from mnote.ids import text_key
from mnote.principals import Principal


def etag_of(kb: KnowledgeBase) -> str:
    """Return the strong ETag of a knowledge base's settings."""
    return f'"{text_key(f"{kb.id} {kb.updated_at.isoformat()}")[:20]}"'


def update_kb(
    *, principal: Principal, kb: KnowledgeBase, if_match: str | None, changes: dict[str, Any]
) -> KnowledgeBase:
    """Change a knowledge base if it still is what the caller saw; without `if_match` in any case.

    Raises StaleVersion, and what `knowledge_bases.update_kb` raises.
    """
    with transaction.atomic():
        locked = KnowledgeBase.objects.select_for_update().filter(id=kb.id, archived_at__isnull=True).first()
        if locked is None:
            raise NotFound
        if if_match is not None and not _fits(etag_of(locked), if_match):
            raise StaleVersion
        return knowledge_bases.update_kb(principal=principal, kb=locked, **changes) if changes else locked


def _fits(etag: str, if_match: str) -> bool:
    return if_match.strip() == "*" or etag in (part.strip() for part in if_match.split(","))
