"""Request bodies of the canonical API (spec 4.3)."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from knowledge.api.fields import MAX_QUERY, MAX_QUOTE, Choice, Flag, PathText, Range, Text, Texts, Whole
from knowledge.api.scope import MAX_ID, ScopeSerializer
from knowledge.services.search import MAX_TOP_K
from mnote.api.serializers import CamelSerializer

MODES = ["hybrid", "text", "graph"]
MAX_WINDOW = 20


class FilterSerializer(ScopeSerializer):
    """Where to search. Lists that are empty or absent narrow nothing."""

    knowledge_base_ids = Texts(item_length=MAX_ID)
    source_ids = Texts(item_length=MAX_ID)
    source_paths = Texts()
    source_types = Texts(item_length=MAX_ID)
    tags = Texts(item_length=80)
    top_k = Whole(min_value=1, max_value=MAX_TOP_K, default=10)
    mode = Choice(MODES, default="hybrid")
    debug = Flag(default=False, help_text="Adds the providers' own text; for administrators only.")


class SearchSerializer(FilterSerializer):
    query = Text(max_length=MAX_QUERY)


class QuestionSerializer(FilterSerializer):
    question = Text(max_length=MAX_QUERY, required=False)
    query = Text(max_length=MAX_QUERY, required=False, help_text="Another name of `question`.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        question = attrs.get("question") or attrs.get("query")
        if not question:
            raise serializers.ValidationError({"question": [_("This field is required.")]}, code="required")
        return attrs | {"question": question}


class LocatorSerializer(CamelSerializer):
    """A locator as this API gives it (spec 5.1). What else it holds is not needed to find the place again."""

    schema = Text(max_length=80, required=False)
    root_uri = Text(max_length=16_384, required=False, trim_whitespace=False)
    resource_path = PathText(required=False)
    owner_document_id = Text(max_length=40_000, required=False)
    quote = Text(max_length=MAX_QUOTE, required=False, allow_blank=True, trim_whitespace=False)
    source_hash = Text(max_length=80, required=False, allow_blank=True)
    section_path = Texts(item_length=2_000)
    char_range = Range(minimum=0)
    line_range = Range(minimum=1)
    line_start = Whole(min_value=1, max_value=2**31 - 1, required=False)
    line_end = Whole(min_value=1, max_value=2**31 - 1, required=False)


class HintFields(CamelSerializer):
    """Everything by which a passage or document may be named."""

    token = Text(max_length=8_000, required=False)
    open_reference = Text(max_length=8_000, required=False)
    evidence_id = Text(max_length=80, required=False)
    provider_chunk_id = Text(max_length=80, required=False)
    chunk_id = Text(max_length=80, required=False, help_text="Another name of `providerChunkId`.")
    chunk_index = Whole(min_value=0, max_value=2**31 - 1, required=False)
    provider_knowledge_id = Text(max_length=80, required=False)
    knowledge_base_id = Text(max_length=MAX_ID, required=False)
    source_id = Text(max_length=MAX_ID, required=False)
    source_path = PathText(required=False)
    mnote_resource_id = Text(max_length=40_000, required=False)
    file_path = PathText(required=False, help_text="A base name or path as displayed; never trusted as a path.")
    lines = Range(minimum=1)
    line_start = Whole(min_value=1, max_value=2**31 - 1, required=False)
    line_end = Whole(min_value=1, max_value=2**31 - 1, required=False)
    quote = Text(max_length=MAX_QUOTE, required=False, allow_blank=True, trim_whitespace=False)
    locator = LocatorSerializer(required=False)


class OpenReferenceSerializer(ScopeSerializer, HintFields):
    """A reference object, or any of its parts, or a token alone."""

    workspace_id = Text(max_length=MAX_ID, required=False)
    reference = HintFields(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        names_something = set(attrs) - {"workspace_id", "root_uri"} or attrs.get("reference")
        if not names_something:
            raise serializers.ValidationError({"reference": [_("This field is required.")]}, code="required")
        return attrs


class SectionContextSerializer(OpenReferenceSerializer):
    query = Text(max_length=MAX_QUERY, required=False, allow_blank=True)
    window = Whole(min_value=0, max_value=MAX_WINDOW, default=2, help_text="Passages before and after.")


class IngestOptionsSerializer(CamelSerializer):
    """`folder` and `fileName` say where a text or web address is kept; the rest are rules of new folder sources."""

    folder = PathText(required=False)
    file_name = Text(max_length=1_000, required=False, trim_whitespace=False)
    title = Text(max_length=500, required=False)
    recursive = Flag(required=False)
    include = Texts(item_length=1_000)
    exclude = Texts(item_length=1_000)
    max_file_mb = Whole(min_value=1, max_value=10_000, required=False)


class IngestSerializer(ScopeSerializer):
    """One or more of `paths`, `resourceIds`, `url`, `text`, into a knowledge base named by id or by name."""

    knowledge_base_id = Text(max_length=MAX_ID, required=False)
    name = Text(max_length=50, required=False)
    paths = Texts()
    resource_ids = Texts(item_length=40_000)
    url = Text(max_length=4_000, required=False)
    text = Text(max_length=4_000_000, required=False, trim_whitespace=False)
    options = IngestOptionsSerializer(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not (attrs.get("knowledge_base_id") or attrs.get("name")):
            raise serializers.ValidationError({"knowledge_base_id": [_("This field is required.")]}, code="required")
        if not any(attrs.get(name) for name in ("paths", "resource_ids", "url", "text")):
            raise serializers.ValidationError({"paths": [_("Give something to ingest.")]}, code="required")
        return attrs


class DeleteSourceSerializer(ScopeSerializer):
    knowledge_base_id = Text(max_length=MAX_ID, required=False)
    source_ids = Texts(item_length=MAX_ID)
    paths = Texts()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not (attrs.get("source_ids") or attrs.get("paths")):
            raise serializers.ValidationError({"source_ids": [_("This field is required.")]}, code="required")
        return attrs


class PruneSerializer(ScopeSerializer):
    knowledge_base_id = Text(max_length=MAX_ID, required=False)
    dry_run = Flag(default=True)
    limit = Whole(min_value=1, max_value=5_000, default=1_000, help_text="Rows looked at in one call.")
    after = Text(max_length=MAX_ID, required=False, allow_blank=True, help_text="`nextAfter` of the call before.")


class StatusQuerySerializer(ScopeSerializer):
    knowledge_base_id = Text(max_length=MAX_ID, required=False)


class LampsQuerySerializer(ScopeSerializer):
    prefix = PathText(required=False, default="")
    since = serializers.IntegerField(min_value=0, max_value=2**62, required=False)
