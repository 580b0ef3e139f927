"""Tags of sources."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from knowledge.models import Document, DocumentTag
from knowledge.services import documents, provider_tags, registry
from mnote.models import Role
from mnote.principals import Principal
from mnote.selectors import access
from mnote.services import audit


def set_tags(*, principal: Principal, document: Document, tags: Iterable[str]) -> None:
    """Replace the tags of a source; needs curator. White space is trimmed, repeats and blanks are dropped. Its provider
    is told later."""
    access.require_role(principal, document.kb.workspace, Role.CURATOR)
    wanted = list(dict.fromkeys(tag for tag in (" ".join(tag.split()) for tag in tags) if tag))
    with transaction.atomic():
        DocumentTag.objects.filter(document=document).exclude(name__in=wanted).delete()
        DocumentTag.objects.bulk_create(
            [DocumentTag(document=document, name=name) for name in wanted], ignore_conflicts=True
        )
        documents.update(document=document, tags_json=wanted)
        if provider_tags.wish_for(kb=document.kb, document_ids=[document.pk]):
            registry.request_work(document.kb)
        audit.record(
            principal=principal,
            action="source.tags",
            workspace=document.kb.workspace,
            kb_id=document.kb_id,
            target=document.source_path,
            facts={"tags": wanted},
        )
