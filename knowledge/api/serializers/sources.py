"""Sources: the registry rows, one local file seen through one knowledge base."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from knowledge.api.fields import MAX_PATH, PathText, Text, Texts
from knowledge.api.serializers.reasons import ReasonSerializer, reason_json
from knowledge.citations.locators import MapState
from knowledge.models import Document, DocumentEvent, IndexStatus
from knowledge.place_words import places_sentence
from knowledge.services import mapping
from mnote.api.serializers import CamelSerializer

MAX_TAG = 80
MAX_TAGS = 50
_NS = 1_000_000_000


class PlacesSerializer(CamelSerializer):
    """How exactly the passages are known to stand in a file that the provider read: over all, and how many passages
    have which state. Null for a source that MNote read: its places are exact."""

    map_state = serializers.ChoiceField([state.value for state in MapState])
    sentence = serializers.CharField()
    counts = serializers.DictField(child=serializers.IntegerField())
    contradicted = serializers.IntegerField()


class SourceSerializer(CamelSerializer):
    """A local file as one knowledge base sees it."""

    id = serializers.CharField()
    knowledge_base_id = serializers.CharField(source="kb_id")
    source_set_id = serializers.CharField(source="source_id", allow_null=True)
    root_uri = serializers.CharField(source="root.root_uri")
    source_path = serializers.CharField()
    title = serializers.CharField()
    source_type = serializers.CharField()
    size_bytes = serializers.IntegerField()
    file_changed_at = serializers.SerializerMethodField()
    source_hash = serializers.CharField(allow_blank=True)
    provider = serializers.CharField()
    provider_knowledge_id = serializers.CharField(allow_blank=True)
    provider_status = serializers.CharField(allow_blank=True)
    index_status = serializers.ChoiceField(IndexStatus.choices)
    status_since = serializers.DateTimeField()
    reason = serializers.SerializerMethodField()
    is_searchable = serializers.BooleanField()
    chunk_count = serializers.IntegerField()
    attempts = serializers.IntegerField()
    next_try_at = serializers.DateTimeField(allow_null=True)
    tags = serializers.SerializerMethodField()
    places = serializers.SerializerMethodField()
    mnote_resource_id = serializers.CharField(source="resource_id", allow_null=True)
    missing_since = serializers.DateTimeField(allow_null=True)
    indexed_at = serializers.DateTimeField(allow_null=True)
    deleted_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def get_file_changed_at(self, document: Document) -> datetime | None:
        try:
            return datetime.fromtimestamp(document.mtime_ns / _NS, UTC) if document.mtime_ns else None
        except (OverflowError, ValueError, OSError):
            return None

    @extend_schema_field(ReasonSerializer(allow_null=True))
    def get_reason(self, document: Document) -> dict[str, str] | None:
        if not document.reason_code:
            return None
        detail = document.reason_detail if self._is_administrator else ""
        return reason_json(document.reason_code, detail=detail) | {"reasonClass": document.reason_class}

    @extend_schema_field(PlacesSerializer(allow_null=True))
    def get_places(self, document: Document) -> dict[str, Any] | None:
        if not document.is_searchable or not mapping.is_read_by_provider(document):
            return None
        state, counts = mapping.facts_of(document.citation_locator_json)
        return {
            "mapState": state.value,
            "sentence": str(places_sentence(state, document.source_type)),
            "counts": counts,
            "contradicted": mapping.contradicted(document.citation_locator_json),
        }

    def get_tags(self, document: Document) -> list[str]:
        return [str(tag) for tag in document.tags_json]

    @property
    def _is_administrator(self) -> bool:
        principal = self.context.get("principal")
        return principal is not None and principal.is_administrator


class LinkSerializer(CamelSerializer):
    """One file to take in: `path` or `resourceId` of one that is there, a `text`, or a web address `url`."""

    root_uri = Text(max_length=MAX_PATH, required=False, trim_whitespace=False)
    path = PathText(required=False, allow_blank=False)
    resource_id = Text(max_length=40_000, required=False)
    text = Text(max_length=4_000_000, required=False, trim_whitespace=False, allow_blank=True)
    url = Text(max_length=4_000, required=False)
    folder = PathText(required=False, default="")
    name = Text(max_length=1_000, required=False, trim_whitespace=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        given = [name for name in ("path", "resource_id", "text", "url") if name in attrs]
        if len(given) != 1:
            message = _("Give one of path, resourceId, text and url.")
            raise serializers.ValidationError({"path": [message]}, code="required")
        if "text" in attrs and not attrs.get("name"):
            raise serializers.ValidationError({"name": [_("This field is required.")]}, code="required")
        return attrs


class UploadQuerySerializer(CamelSerializer):
    """Where a raw body goes."""

    root_uri = Text(max_length=MAX_PATH, required=False, trim_whitespace=False)
    folder = PathText(required=False, default="")
    name = Text(max_length=1_000, required=False, trim_whitespace=False)
    make_folders = serializers.BooleanField(default=False, help_text="Makes folders on the way that are not there.")


class AcceptedSerializer(CamelSerializer):
    """One item that was taken in. `sameAs`: documents of the knowledge base with the same content."""

    item = serializers.CharField()
    source_path = serializers.CharField(source="path", allow_blank=True)
    job_id = serializers.CharField()
    source_set_id = serializers.CharField(allow_blank=True)
    source_id = serializers.CharField(allow_blank=True)
    same_as = serializers.ListField(child=serializers.CharField())


class RefusedSerializer(CamelSerializer):
    item = serializers.CharField()
    reason = serializers.CharField()
    message = serializers.CharField()


class IntakeSerializer(CamelSerializer):
    """How it went, item by item. `jobId` is the first of `jobIds`."""

    knowledge_base_id = serializers.CharField()
    job_id = serializers.CharField(allow_null=True)
    job_ids = serializers.ListField(child=serializers.CharField())
    accepted = AcceptedSerializer(many=True)
    refused = RefusedSerializer(many=True)


class WrittenSerializer(CamelSerializer):
    """A file that was written outside of any knowledge base."""

    root_uri = serializers.CharField()
    source_path = serializers.CharField()
    size_bytes = serializers.IntegerField()
    source_hash = serializers.CharField()


class TagsSerializer(CamelSerializer):
    """All tags of a source; what is absent is taken off."""

    tags = Texts(item_length=MAX_TAG, max_length=MAX_TAGS, required=True)


class EventSerializer(CamelSerializer):
    """One step in the life of a source."""

    attempt = serializers.IntegerField()
    stage = serializers.CharField()
    state = serializers.CharField()
    started_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    facts = serializers.SerializerMethodField()

    def get_facts(self, event: DocumentEvent) -> dict[str, Any]:
        return {name: value for name, value in event.facts.items() if isinstance(value, int | float | bool | str)}


class StageSerializer(CamelSerializer):
    """One step at the provider."""

    name = serializers.CharField()
    state = serializers.CharField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class TimelineSerializer(CamelSerializer):
    events = EventSerializer(many=True)
    provider_stages = StageSerializer(many=True)


class ChunkSerializer(CamelSerializer):
    """One indexed passage, cut from the file where its place is known. `evidenceId` opens it."""

    index = serializers.IntegerField()
    chunk_id = serializers.CharField()
    quote = serializers.CharField()
    section_path = serializers.ListField(child=serializers.CharField())
    locator = serializers.DictField()


class ChunkPageSerializer(CamelSerializer):
    results = ChunkSerializer(many=True)
    total = serializers.IntegerField()
    next_cursor = serializers.CharField(allow_null=True)
