"""How a provider reads the files of a knowledge base, over the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from knowledge.api.fields import Choice, Flag, Text
from knowledge.models import KnowledgeBase, Reader
from knowledge.selectors.reading_offers import Offer
from knowledge.services import reader_settings
from knowledge.services.reader_settings import LANGUAGES, MAX_INSTRUCTIONS, SCANS_ALWAYS, SCANS_AUTO
from mnote.api.serializers import CamelSerializer

_MAX_TYPES = 40


@extend_schema_field({"type": "object", "additionalProperties": {"type": "string"}})
class Engines(serializers.DictField):
    """Engine by type of file."""

    child = Text(max_length=60, allow_blank=True)

    def to_internal_value(self, data: Any) -> dict[str, str]:
        found: dict[str, str] = super().to_internal_value(data)
        if len(found) > _MAX_TYPES:
            self.fail("not_a_dict", input_type=type(data).__name__)
        return found


class PicturesSerializer(CamelSerializer):
    """Whether a model reads pictures and scans. `language` is that of its descriptions, "" for that of the document."""

    enabled = Flag(required=False)
    language = Choice(LANGUAGES, required=False, allow_blank=True)
    instructions = Text(max_length=MAX_INSTRUCTIONS, required=False, allow_blank=True)


class ReadingSerializer(CamelSerializer):
    """How the provider reads files where it does. `engines` names one by type of file and replaces all; a type without
    one is left to the server. `scannedPdfs` "always" has all pages of a PDF read as pictures. What is absent stays."""

    engines = Engines(required=False)
    images = PicturesSerializer(required=False)
    scanned_pdfs = Choice((SCANS_AUTO, SCANS_ALWAYS), required=False)


@extend_schema_field(ReadingSerializer)
class ReadingField(serializers.Field):  # type: ignore[type-arg]
    """The settings of a knowledge base, complete; null where MNote reads its files."""

    def to_representation(self, kb: KnowledgeBase) -> dict[str, Any] | None:
        return reader_settings.stored(kb) if kb.parsed_by == Reader.PROVIDER else None


class EngineSerializer(CamelSerializer):
    """One of a server's engines. `whyNot` is "" where it can be chosen."""

    name = serializers.CharField()
    file_types = serializers.ListField(child=serializers.CharField())
    why_not = serializers.ChoiceField(["", "reader-missing", "not-set-up", "not-working"])


class TypeOfferSerializer(CamelSerializer):
    """What reads one type of file."""

    type = serializers.CharField(source="key")
    file_types = serializers.ListField(source="ends", child=serializers.CharField())
    recommended = serializers.CharField()
    engines = EngineSerializer(many=True)


class OfferSerializer(CamelSerializer):
    """What a server reads itself, as it was last found. `noImages` says why it reads no pictures, "" where it does;
    without `seesEngines` its key may not see which engines there are."""

    types = TypeOfferSerializer(many=True)
    sees_engines = serializers.BooleanField()
    reads_scans = serializers.BooleanField()
    no_images = serializers.SerializerMethodField()

    def get_no_images(self, offer: Offer) -> str:
        return str(offer.no_pictures)


def reading_of(data: dict[str, Any]) -> dict[str, Any]:
    """Return what a body of ReadingSerializer wants, in the public names that `reader_settings` takes."""
    names = {"scanned_pdfs": "scannedPdfs"}
    return {names.get(name, name): value for name, value in data.items()}
