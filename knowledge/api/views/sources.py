"""Sources: list, look, read again, stop, take out, tags, timeline, passages."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from knowledge import shapes
from knowledge.api.base import WritingView, validated, validated_query
from knowledge.api.filters import SourceQuerySerializer, filtered
from knowledge.api.lookups import kb_named, source_named
from knowledge.api.serializers.sources import (
    ChunkPageSerializer,
    SourceSerializer,
    TagsSerializer,
    TimelineSerializer,
)
from knowledge.api.views.knowledge_bases import job_url
from knowledge.api.views.uploads import UploadOrLinkView
from knowledge.models import Document
from knowledge.services import chunks, documents, registry, stopping, tagging, withdrawing
from mnote.api.pagination import KeysetPagination
from mnote.api.permissions import principal_of
from mnote.api.serializers import CamelSerializer
from mnote.exceptions import Conflict
from mnote.models import Role


class SourcesView(UploadOrLinkView, GenericAPIView[Document]):
    serializer_class = SourceSerializer
    pagination_class = KeysetPagination
    ordering = ("sort_path", "id")

    @extend_schema(
        operation_id="list_sources", parameters=[SourceQuerySerializer], responses=SourceSerializer(many=True)
    )
    def get(self, request: Request, kb_id: str) -> Response:
        """List the sources that the caller may read, in path order."""
        principal = principal_of(request)
        kb = kb_named(principal, kb_id)
        rows = filtered(principal, kb, validated_query(request, SourceQuerySerializer))
        page = self.paginate_queryset(rows) or []
        context = {"principal": principal}
        return self.get_paginated_response(SourceSerializer(page, many=True, context=context).data)


class SourceView(WritingView):
    @extend_schema(operation_id="get_source", responses=SourceSerializer)
    def get(self, request: Request, source_id: str) -> Response:
        """Look at a source."""
        return _shown(request, source_named(principal_of(request), source_id))

    @extend_schema(
        operation_id="delete_source", responses={204: OpenApiResponse(description="It is out of search already.")}
    )
    def delete(self, request: Request, source_id: str) -> Response:
        """Take a source out of its knowledge base; the local file stays. Needs curator."""
        principal = principal_of(request)
        withdrawing.withdraw(principal=principal, rows=[source_named(principal, source_id, Role.CURATOR)])
        return Response(status=204)


class ReparseView(WritingView):
    @extend_schema(operation_id="reparse_source", request=None, responses={202: SourceSerializer})
    def post(self, request: Request, source_id: str) -> Response:
        """Read a source again; needs curator. It stays searchable as it is until then."""
        document = source_named(principal_of(request), source_id, Role.CURATOR)
        if not documents.requeue(documents=[document], reparse=True):
            raise Conflict
        job = registry.request_work(document.kb)
        return _shown(request, document, status=202, headers={"Location": job_url(job.id)})


class CancelView(WritingView):
    @extend_schema(operation_id="cancel_source", request=None, responses=SourceSerializer)
    def post(self, request: Request, source_id: str) -> Response:
        """Stop waiting for or reading a source; needs curator."""
        document = source_named(principal_of(request), source_id, Role.CURATOR)
        if not stopping.stop(document=document):
            raise Conflict
        return _shown(request, document)


class SourceTagsView(WritingView):
    @extend_schema(operation_id="update_source_tags", request=TagsSerializer, responses=SourceSerializer)
    def put(self, request: Request, source_id: str) -> Response:
        """Set the tags of a source; needs curator."""
        data = validated(request, TagsSerializer)
        document = source_named(principal_of(request), source_id, Role.CURATOR)
        tagging.set_tags(principal=principal_of(request), document=document, tags=data["tags"])
        return _shown(request, document)


class TimelineView(WritingView):
    @extend_schema(operation_id="get_source_timeline", responses=TimelineSerializer)
    def get(self, request: Request, source_id: str) -> Response:
        """Return the steps of a source, oldest first, and the provider's own."""
        document = source_named(principal_of(request), source_id)
        events = list(document.events.order_by("-started_at", "-pk")[:500])[::-1]
        body = {"events": events, "provider_stages": chunks.provider_stages(document)}
        return Response(TimelineSerializer(body).data)


class ChunkQuerySerializer(CamelSerializer):
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = serializers.IntegerField(min_value=0, max_value=10_000_000, default=0)


class ChunksView(WritingView):
    @extend_schema(operation_id="list_source_chunks", parameters=[ChunkQuerySerializer], responses=ChunkPageSerializer)
    def get(self, request: Request, source_id: str) -> Response:
        """List the indexed passages of a source in document order."""
        wanted = validated_query(request, ChunkQuerySerializer)
        document = source_named(principal_of(request), source_id)
        page = chunks.page_of(document, offset=wanted["cursor"], limit=wanted["limit"])
        following = wanted["cursor"] + len(page.chunks)
        body: dict[str, Any] = {
            "results": [shapes.chunk_json(document.root, each) for each in page.chunks],
            "total": page.total,
            "nextCursor": str(following) if page.chunks and following < page.total else None,
        }
        return Response(body)


def _shown(
    request: Request, document: Document, *, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    document.refresh_from_db()
    body = SourceSerializer(document, context={"principal": principal_of(request)}).data
    return Response(body, status=status, headers=headers)
