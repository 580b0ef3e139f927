"""The arguments of tools: the bodies of the HTTP calls, but that a binding fills in the workspace."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from knowledge.api.fields import Text, Whole
from knowledge.api.filters import SourceQuerySerializer
from knowledge.api.scope import MAX_ID, ScopeSerializer
from knowledge.api.serializers.evidence import (
    DocumentSearchSerializer,
    EvidenceNamedSerializer,
    EvidenceReadSerializer,
    EvidenceScopeSerializer,
    EvidenceSearchSerializer,
)
from knowledge.api.serializers.knowledge_rag import (
    OpenReferenceSerializer,
    QuestionSerializer,
    SearchSerializer,
    StatusQuerySerializer,
)
from mnote.api.serializers import CamelSerializer

_WORKSPACE = "Id of the workspace. Not needed where you work in one only."
_FIRST_PAGE, _LARGEST_PAGE = 50, 200


def _workspace() -> Text:
    return Text(max_length=MAX_ID, required=False, help_text=_WORKSPACE)


class SearchArguments(SearchSerializer):
    workspace_id = _workspace()
    debug = None  # type: ignore[assignment] # for administrators, who do not call tools


class QuestionArguments(QuestionSerializer):
    workspace_id = _workspace()
    debug = None  # type: ignore[assignment]


class OpenReferenceArguments(OpenReferenceSerializer):
    workspace_id = _workspace()


class StatusArguments(StatusQuerySerializer):
    workspace_id = _workspace()


class ListSourcesArguments(SourceQuerySerializer):
    """The query of the source list. Without a knowledge base it goes through all of them."""

    workspace_id = _workspace()
    knowledge_base_id = Text(max_length=MAX_ID, required=False)
    changed_after = None  # type: ignore[assignment]
    limit = Whole(min_value=1, max_value=_LARGEST_PAGE, default=_FIRST_PAGE)
    after = Text(max_length=MAX_ID, required=False, help_text="`nextAfter` of the page before.")


class SourceStatusArguments(ScopeSerializer):
    """A source by its id, or by its path."""

    workspace_id = _workspace()
    source_id = Text(max_length=MAX_ID, required=False)
    source_path = Text(max_length=16_384, required=False, trim_whitespace=False)
    knowledge_base_id = Text(max_length=MAX_ID, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not (attrs.get("source_id") or attrs.get("source_path")):
            raise serializers.ValidationError({"sourceId": ["Give sourceId or sourcePath."]}, code="required")
        return attrs


class ScopeArguments(ScopeSerializer):
    workspace_id = _workspace()


class EvidenceScopeArguments(EvidenceScopeSerializer):
    workspace_id = _workspace()


class EvidenceSearchArguments(EvidenceSearchSerializer):
    scope = EvidenceScopeArguments(required=False)


class EvidenceOpenArguments(EvidenceNamedSerializer):
    scope = ScopeArguments(required=False)


class EvidenceReadArguments(EvidenceReadSerializer):
    scope = ScopeArguments(required=False)


class DocumentArguments(DocumentSearchSerializer):
    workspace_id = _workspace()


class SkillArguments(CamelSerializer):
    name = Text(max_length=80, default="mnote-local-index")
