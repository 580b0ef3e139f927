"""Knowledge bases over the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from knowledge.api.fields import Choice, Flag, JSONObject, Text
from knowledge.api.scope import MAX_ID, ScopeSerializer
from knowledge.api.serializers.reading import OfferSerializer, ReadingField, ReadingSerializer, reading_of
from knowledge.api.serializers.reasons import ReasonSerializer, reason_json
from knowledge.models import IndexStatus, Reader
from knowledge.selectors.counts import KBCounts
from knowledge.selectors.kb_lists import KBCard
from knowledge.selectors.profiles import ProfileChoice
from knowledge.selectors.reading_offers import offer_of
from knowledge.services.knowledge_bases import DESCRIPTION_MAX, NAME_MAX
from mnote.api.serializers import CamelSerializer
from mnote.models import Role

LAMPS = [status for status in IndexStatus if status is not IndexStatus.SKIPPED]


class CountsSerializer(CamelSerializer):
    """Documents that the caller may read. `total` leaves out skipped and removed ones."""

    total = serializers.IntegerField()
    searchable = serializers.IntegerField()
    by_lamp = serializers.SerializerMethodField(help_text="Of every lamp, how many.")
    skipped = serializers.SerializerMethodField()

    def get_by_lamp(self, counts: KBCounts) -> dict[str, int]:
        return {status.value: counts.of(status) for status in LAMPS}

    def get_skipped(self, counts: KBCounts) -> int:
        return counts.of(IndexStatus.SKIPPED)


class NamedProfileSerializer(CamelSerializer):
    """A provider profile as people know it. Address and key are nobody's business."""

    id = serializers.CharField()
    name = serializers.CharField()


class ProfileChoiceSerializer(CamelSerializer):
    """Where a new knowledge base of the workspace might be indexed. `whyNot` is a sentence, "" where it may; `reading`
    is what the server reads itself."""

    id = serializers.CharField(source="profile.id")
    name = serializers.CharField(source="profile.name")
    provider = serializers.CharField(source="profile.kind")
    is_usable = serializers.BooleanField()
    why_not = serializers.CharField()
    reading = serializers.SerializerMethodField()

    @extend_schema_field(OfferSerializer)
    def get_reading(self, choice: ProfileChoice) -> Any:
        return OfferSerializer(offer_of(choice.profile)).data


class ProviderOutageSerializer(CamelSerializer):
    """That the provider of a knowledge base does not work, as whoever asked it last found; no document is to blame.
    `affects` "everything": it serves nothing over this connection; "indexing": it takes no documents of this knowledge
    base, and each search says for itself whether it was answered. Waiting work is tried again at `retryAt`, null where
    nothing waits for a time; `since` stays until the provider works."""

    since = serializers.DateTimeField()
    affects = serializers.ChoiceField(["everything", "indexing"])
    reason = serializers.SerializerMethodField()
    retry_at = serializers.DateTimeField(allow_null=True)

    @extend_schema_field(ReasonSerializer)
    def get_reason(self, facts: dict[str, Any]) -> dict[str, str]:
        return reason_json(facts["code"])


def outage_facts(card: KBCard) -> dict[str, Any] | None:
    """Return what ProviderOutageSerializer shows of a knowledge base, None while its provider works."""
    outage = card.outage
    if outage is None:
        return None
    return {
        "since": outage.since,
        "affects": "indexing" if outage.key == card.kb.id else "everything",
        "code": outage.code,
        "retry_at": outage.until,
    }


def outage_json(card: KBCard) -> dict[str, Any] | None:
    """Return what ProviderOutageSerializer makes of a knowledge base, None while its provider works."""
    facts = outage_facts(card)
    return dict(ProviderOutageSerializer(facts).data) if facts else None


class KnowledgeBaseSerializer(CamelSerializer):
    """A knowledge base as the caller sees it. `role` is the caller's own."""

    id = serializers.CharField(source="kb.id")
    name = serializers.CharField(source="kb.name")
    description = serializers.CharField(source="kb.description")
    workspace_id = serializers.CharField(source="kb.workspace_id")
    root_uri = serializers.CharField(source="kb.root.root_uri")
    provider = serializers.CharField(source="kb.provider")
    provider_profile = NamedProfileSerializer(
        source="kb.profile",
        allow_null=True,
        help_text="The connection it is indexed over; null for the embedded index.",
    )
    parsed_by = serializers.ChoiceField(
        Reader.choices,
        source="kb.parsed_by",
        help_text="Who reads its files: MNote, or the provider, from the originals; places may be less exact then.",
    )
    reading = ReadingField(source="kb")
    provider_outage = serializers.SerializerMethodField()
    provider_knowledge_base_id = serializers.CharField(source="kb.provider_kb_id")
    owner = serializers.CharField(source="kb.owner.shown_name")
    role = serializers.ChoiceField(Role.choices, allow_null=True)
    default_tool_enabled = serializers.BooleanField(source="kb.default_tool_enabled")
    is_paused = serializers.SerializerMethodField()
    is_pinned = serializers.SerializerMethodField()
    needs_confirmation = serializers.SerializerMethodField(help_text="A sync waits for a person to confirm it.")
    settings = JSONObject(source="kb.settings_json")
    counts = CountsSerializer()
    synced_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField(source="kb.created_at")
    updated_at = serializers.DateTimeField(source="kb.updated_at")

    @extend_schema_field(ProviderOutageSerializer(allow_null=True))
    def get_provider_outage(self, card: KBCard) -> dict[str, Any] | None:
        return outage_json(card)

    def get_is_paused(self, card: KBCard) -> bool:
        return card.kb.paused_at is not None

    def get_is_pinned(self, card: KBCard) -> bool:
        return card.pinned_at is not None

    def get_needs_confirmation(self, card: KBCard) -> bool:
        return card.stopped_run is not None


class NewKnowledgeBaseSerializer(ScopeSerializer):
    """Without `rootUri` it belongs to the first root. Without `provider` and `profileId` it is indexed over the first
    provider profile of the workspace, embedded where there is none; `provider` "local" means embedded. For good.
    `parsedBy` "provider" lets a provider outside read the files itself, `reading` says how; both can change later."""

    name = Text(max_length=NAME_MAX)
    description = Text(max_length=DESCRIPTION_MAX, required=False, allow_blank=True)
    provider = Text(max_length=MAX_ID, required=False)
    profile_id = Text(max_length=MAX_ID, required=False)
    parsed_by = Choice(Reader.choices, required=False)
    reading = ReadingSerializer(required=False)


class KnowledgeBaseChangesSerializer(CamelSerializer):
    """What is absent stays. `settings` replaces the whole object. Another `parsedBy` has every file read anew; search
    finds the old reading of each until the new one is done. Another `reading` holds for what is read from now on; with
    `reread` the provider also reads the files again that it read otherwise, and search does not find them meanwhile."""

    name = Text(max_length=NAME_MAX, required=False)
    description = Text(max_length=DESCRIPTION_MAX, required=False, allow_blank=True)
    default_tool_enabled = Flag(required=False)
    is_paused = Flag(required=False)
    parsed_by = Choice(Reader.choices, required=False)
    reading = ReadingSerializer(required=False)
    reread = Flag(required=False)
    settings = JSONObject(required=False)


class WorkspaceSerializer(CamelSerializer):
    workspace_id = Text(max_length=MAX_ID)


class KnowledgeBaseQuerySerializer(CamelSerializer):
    """The list's query."""

    workspace_id = Text(max_length=MAX_ID, required=False)
    q = Text(max_length=200, required=False, help_text="Part of name or description.")


class SyncOrderSerializer(CamelSerializer):
    full = Flag(default=False, help_text="Read every file's content again.")


class ProcessingStatusSerializer(CamelSerializer):
    """How far a knowledge base is. `jobs` are those queued or running for it."""

    knowledge_base_id = serializers.CharField()
    counts = CountsSerializer()
    is_busy = serializers.BooleanField()
    is_paused = serializers.BooleanField()
    provider_outage = ProviderOutageSerializer(allow_null=True)
    synced_at = serializers.DateTimeField(allow_null=True)
    job_ids = serializers.ListField(child=serializers.CharField())
    worker_age_seconds = serializers.FloatField(allow_null=True)
    is_worker_alive = serializers.BooleanField()


class TagSerializer(CamelSerializer):
    name = serializers.CharField()
    count = serializers.IntegerField()


def changes_of(data: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that a body of KnowledgeBaseChangesSerializer changes."""
    names = {"settings": "settings_json", "reading": "reading_json"}
    changes = {names.get(name, name): value for name, value in data.items() if name not in ("is_paused", "reread")}
    return changes | ({"reading_json": reading_of(data["reading"])} if "reading" in data else {})
