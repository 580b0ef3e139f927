"""Source sets of a knowledge base."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from knowledge.api.base import WritingView, validated, validated_query
from knowledge.api.lookups import kb_named, rights_in, source_set_named
from knowledge.api.scope import place_of
from knowledge.api.serializers.source_sets import (
    NewSourceSetSerializer,
    RulesSerializer,
    SourceSetRemovalQuerySerializer,
    SourceSetSerializer,
)
from knowledge.api.views.knowledge_bases import IDEMPOTENCY
from knowledge.models import KnowledgeBase, Source
from knowledge.services import sources
from knowledge.services.attaching import NotTaken
from mnote.api.idempotency import Made, idempotent
from mnote.api.permissions import principal_of
from mnote.exceptions import NotFound
from mnote.models import Root
from mnote.principals import Principal

_MAX_LISTED = 1_000


class SourceSetsView(WritingView, GenericAPIView[Source]):
    serializer_class = SourceSetSerializer
    pagination_class = None

    @extend_schema(operation_id="list_source_sets", responses=SourceSetSerializer(many=True))
    def get(self, request: Request, kb_id: str) -> Response:
        """List the source sets whose folders the caller may enter, in path order."""
        principal = principal_of(request)
        kb = kb_named(principal, kb_id)
        rights = rights_in(principal, kb)
        rows = kb.sources.select_related("root").order_by("path", "id")[:_MAX_LISTED]
        shown = [row for row in rows if rights[row.root_id].may_enter(row.path)]
        return Response(SourceSetSerializer(shown, many=True).data)

    @extend_schema(
        operation_id="add_source_set",
        parameters=[IDEMPOTENCY],
        request=NewSourceSetSerializer,
        responses={201: SourceSetSerializer},
    )
    @idempotent
    def post(self, request: Request, kb_id: str) -> Response:
        """Attach a file or folder and look at it soon; needs curator, and read on the path."""
        principal, data = principal_of(request), validated(request, NewSourceSetSerializer)
        kb = kb_named(principal, kb_id)
        root = root_in(principal, kb, data.pop("root_uri", None))
        added = sources.add_sources(principal=principal, kb=kb, root=root, paths=[data.pop("path")], rules=data)
        if not added.sources:
            raise _problem(added.refused[0][1])
        made = added.sources[0]
        where = reverse("knowledge-api:source-set", args=[made.id])
        return Made(SourceSetSerializer(made).data, workspace=kb.workspace, status=201, location=where)


class SourceSetView(WritingView):
    @extend_schema(operation_id="get_source_set", responses=SourceSetSerializer)
    def get(self, request: Request, source_set_id: str) -> Response:
        """Look at a source set."""
        return Response(SourceSetSerializer(source_set_named(principal_of(request), source_set_id)).data)

    @extend_schema(operation_id="update_source_set", request=RulesSerializer, responses=SourceSetSerializer)
    def patch(self, request: Request, source_set_id: str) -> Response:
        """Change the rules; the source is looked at anew. Needs the manager role."""
        principal, data = principal_of(request), validated(request, RulesSerializer)
        source = source_set_named(principal, source_set_id)
        return Response(SourceSetSerializer(sources.update_source(principal=principal, source=source, rules=data)).data)

    @extend_schema(
        operation_id="delete_source_set",
        parameters=[SourceSetRemovalQuerySerializer],
        responses={204: OpenApiResponse(description="Its documents leave the index in the background.")},
    )
    def delete(self, request: Request, source_set_id: str) -> Response:
        """Detach a source set; local files stay. Needs the manager role."""
        principal = principal_of(request)
        wanted = validated_query(request, SourceSetRemovalQuerySerializer)
        source = source_set_named(principal, source_set_id)
        sources.remove_source(principal=principal, source=source, freeze=wanted["freeze"])
        return Response(status=204)


def root_in(principal: Principal, kb: KnowledgeBase, root_uri: str | None) -> Root:
    """Return the named root of the knowledge base's workspace, else its own. Raises RootNotFound."""
    scope: dict[str, Any] = {"workspace_id": kb.workspace_id, "root_uri": root_uri or kb.root.root_uri}
    return place_of(principal, scope).root_or_first()


def _problem(reason: str) -> Exception:
    return NotFound() if reason in ("not-found", "gone") else NotTaken(reason=reason)
