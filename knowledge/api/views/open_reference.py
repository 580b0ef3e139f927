"""Citations opened by their token alone."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from knowledge import shapes
from knowledge.api.base import KnowledgeView, validated_query
from knowledge.api.fields import Text
from knowledge.api.published import published
from knowledge.services import evidence, hints
from knowledge.services.hints import Hint
from mnote.api.permissions import principal_of
from mnote.api.serializers import CamelSerializer


class TokenQuerySerializer(CamelSerializer):
    token = Text(max_length=8_000, help_text="`openReference` of a search result or citation.")


class CitationOpenReferenceView(KnowledgeView):
    @extend_schema(
        operation_id="get_citation_open_reference",
        parameters=[TokenQuerySerializer],
        responses=published("open-reference"),
    )
    def get(self, request: Request) -> Response:
        """Open a citation: the place in the file as it is now, with the truth about it."""
        principal, wanted = principal_of(request), validated_query(request, TokenQuerySerializer)
        opened = hints.open_reference(principal=principal, workspace=None, root=None, hint=Hint(token=wanted["token"]))
        return Response(shapes.opened_reference_json(evidence.owned(principal, opened)))
