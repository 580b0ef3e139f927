"""Source sets: the rules by which files and folders belong to a knowledge base."""

from __future__ import annotations

from rest_framework import serializers

from knowledge.api.fields import MAX_PATH, Choice, Flag, PathText, Text, Texts, Whole
from knowledge.models import Disappearance, Source, SyncMode
from mnote.api.serializers import CamelSerializer

_MAX_PATTERN = 1_000


class SourceSetSerializer(CamelSerializer):
    """A file or folder with rules. `path` is relative to the root, "" is the root itself."""

    id = serializers.CharField()
    knowledge_base_id = serializers.CharField(source="kb_id")
    root_uri = serializers.CharField(source="root.root_uri")
    path = serializers.CharField(allow_blank=True)
    is_folder = serializers.BooleanField()
    recursive = serializers.BooleanField()
    include = serializers.ListField(child=serializers.CharField())
    exclude = serializers.ListField(child=serializers.CharField())
    max_file_mb = serializers.IntegerField()
    sync_mode = serializers.ChoiceField(SyncMode.choices)
    interval_minutes = serializers.IntegerField()
    disappearance = serializers.ChoiceField(Disappearance.choices)
    grace_hours = serializers.IntegerField()
    safety_stop_percent = serializers.IntegerField()
    is_frozen = serializers.SerializerMethodField(help_text="Detached, its documents stay searchable as they are.")
    next_sync_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def get_is_frozen(self, source: Source) -> bool:
        return source.frozen_at is not None


class RulesSerializer(CamelSerializer):
    """What is absent keeps its value, or gets the default."""

    recursive = Flag(required=False)
    include = Texts(item_length=_MAX_PATTERN)
    exclude = Texts(item_length=_MAX_PATTERN)
    max_file_mb = Whole(min_value=1, max_value=10_000, required=False)
    sync_mode = Choice(SyncMode.choices, required=False)
    interval_minutes = Whole(min_value=1, max_value=525_600, required=False)
    disappearance = Choice(Disappearance.choices, required=False)
    grace_hours = Whole(min_value=0, max_value=87_600, required=False)
    safety_stop_percent = Whole(min_value=1, max_value=100, required=False)


class NewSourceSetSerializer(RulesSerializer):
    root_uri = Text(max_length=MAX_PATH, required=False, trim_whitespace=False)
    path = PathText()


class SourceSetRemovalQuerySerializer(CamelSerializer):
    freeze = serializers.BooleanField(default=False, help_text="Keep its documents searchable, never sync them again.")
