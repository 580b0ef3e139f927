"""Request bodies of the evidence API (spec 10.5–10.8)."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from knowledge.api.fields import MAX_QUERY, Choice, Flag, Text, Texts, Whole
from knowledge.api.scope import MAX_ID, ScopeSerializer
from knowledge.api.serializers.knowledge_rag import MODES, LocatorSerializer
from knowledge.services.search import MAX_TOP_K
from mnote.api.serializers import CamelSerializer

MAX_OWNER_ID = 40_000
MAX_CHARS = 50_000


class EvidenceScopeSerializer(ScopeSerializer):
    target_document_id = Text(max_length=MAX_OWNER_ID, required=False, allow_null=True)
    knowledge_base_ids = Texts(item_length=MAX_ID)
    include_resources = Flag(default=True)
    include_ocr = Flag(default=True)


class EvidenceSearchSerializer(CamelSerializer):
    query = Text(max_length=MAX_QUERY)
    scope = EvidenceScopeSerializer()
    mode = Choice(MODES, default="hybrid")
    top_k = Whole(min_value=1, max_value=MAX_TOP_K, default=8)


class EvidenceNamedSerializer(CamelSerializer):
    """A locator or an evidence id. Without a scope it is looked for in every workspace the caller sees."""

    locator = LocatorSerializer(required=False)
    evidence_id = Text(max_length=80, required=False)
    scope = ScopeSerializer(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not (attrs.get("locator") or attrs.get("evidence_id")):
            raise serializers.ValidationError({"locator": [_("This field is required.")]}, code="required")
        return attrs


class EvidenceContextSerializer(CamelSerializer):
    before = Whole(min_value=0, max_value=20, default=2)
    after = Whole(min_value=0, max_value=20, default=2)
    section = Flag(default=True)
    owner_mentions = Flag(default=True)
    max_chars = Whole(min_value=0, max_value=MAX_CHARS, default=8_000)


class EvidenceReadSerializer(EvidenceNamedSerializer):
    context = EvidenceContextSerializer(required=False)  # type: ignore[assignment] # taken out by the metaclass


class DocumentSearchSerializer(ScopeSerializer):
    """What older callers send: `query` searches, `documentId` reads a document, `locator` reads a passage."""

    query = Text(max_length=MAX_QUERY, required=False)
    q = Text(max_length=MAX_QUERY, required=False, help_text="Another name of `query`.")
    document_id = Text(max_length=MAX_OWNER_ID, required=False)
    locator = LocatorSerializer(required=False)
    include_ocr = Flag(default=True)
    limit = Whole(min_value=1, max_value=MAX_TOP_K, default=10)
    max_chars = Whole(min_value=1, max_value=MAX_CHARS, default=20_000)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        query = attrs.get("query") or attrs.get("q") or ""
        if not (query or attrs.get("document_id") or attrs.get("locator")):
            raise serializers.ValidationError({"query": [_("This field is required.")]}, code="required")
        return attrs | {"query": query}


class DocumentSearchQuerySerializer(DocumentSearchSerializer):
    """The same in a query string, where numbers and flags are text."""

    locator = None  # type: ignore[assignment]
    include_ocr = serializers.BooleanField(default=True)  # type: ignore[assignment]
    limit = serializers.IntegerField(min_value=1, max_value=MAX_TOP_K, default=10)  # type: ignore[assignment]
    max_chars = serializers.IntegerField(min_value=1, max_value=MAX_CHARS, default=20_000)  # type: ignore[assignment]
