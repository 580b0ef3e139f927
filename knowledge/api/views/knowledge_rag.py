"""The canonical API, reading part (spec 4.3): search, query, section-context, open-reference."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from knowledge import shapes
from knowledge.api.base import KnowledgeView, validated
from knowledge.api.hints import hint_of
from knowledge.api.published import published
from knowledge.api.scope import Place, place_of
from knowledge.api.serializers.knowledge_rag import (
    OpenReferenceSerializer,
    QuestionSerializer,
    SearchSerializer,
    SectionContextSerializer,
)
from knowledge.services import evidence, hints, passages, query, search
from knowledge.services.hints import OpenedReference
from knowledge.services.passages import Window
from knowledge.services.search import Scope
from mnote.api.permissions import principal_of
from mnote.principals import Principal


class SearchView(KnowledgeView):
    @extend_schema(operation_id="knowledge_rag_search", request=SearchSerializer, responses=published("search-results"))
    def post(self, request: Request) -> Response:
        """Find passages in knowledge bases."""
        principal, data = principal_of(request), validated(request, SearchSerializer)
        result = search.search(
            principal=principal,
            scope=_scope(place_of(principal, data), data),
            query=data["query"],
            top_k=data["top_k"],
            mode=data["mode"],
        )
        found = evidence.with_owners_in(principal, result)
        body = shapes.search_json(found, is_administrator=principal.is_administrator, debug=data["debug"])
        return Response(body)


class QueryView(KnowledgeView):
    @extend_schema(operation_id="knowledge_rag_query", request=QuestionSerializer, responses=published("query-result"))
    def post(self, request: Request) -> Response:
        """Answer a question in sentences of the documents, each with its citation."""
        principal, data = principal_of(request), validated(request, QuestionSerializer)
        scope = _scope(place_of(principal, data), data)
        result = query.ask(
            principal=principal, scope=scope, question=data["question"], top_k=data["top_k"], mode=data["mode"]
        )
        answered = evidence.with_owners_in_answer(principal, result)
        is_administrator = principal.is_administrator
        return Response(shapes.query_json(answered, is_administrator=is_administrator, debug=data["debug"]))


class SectionContextView(KnowledgeView):
    @extend_schema(
        operation_id="knowledge_rag_section_context",
        request=SectionContextSerializer,
        responses=published("section-context"),
    )
    def post(self, request: Request) -> Response:
        """Return a passage with its neighbours and its section, from the file as it is now."""
        data = validated(request, SectionContextSerializer)
        opened = _opened(principal_of(request), data)
        window = Window(before=data["window"], after=data["window"], query=data.get("query", ""))
        found = passages.around(opened.place, window=window, chunk_id=opened.chunk_id)
        return Response(shapes.context_json(opened, found))


class OpenReferenceView(KnowledgeView):
    @extend_schema(
        operation_id="knowledge_rag_open_reference",
        request=OpenReferenceSerializer,
        responses=published("open-reference"),
    )
    def post(self, request: Request) -> Response:
        """Open a reference: the place in the file as it is now, with the truth about it."""
        opened = _opened(principal_of(request), validated(request, OpenReferenceSerializer))
        return Response(shapes.opened_reference_json(opened))


def _scope(place: Place, data: dict[str, Any]) -> Scope:
    return Scope(
        workspace=place.workspace,
        root=place.root,
        kb_ids=tuple(data.get("knowledge_base_ids", ())),
        document_ids=tuple(data.get("source_ids", ())),
        paths=tuple(data.get("source_paths", ())),
        tags=tuple(data.get("tags", ())),
        source_types=tuple(data.get("source_types", ())),
    )


def _opened(principal: Principal, data: dict[str, Any]) -> OpenedReference:
    place = place_of(principal, data) if data.get("workspace_id") else None
    opened = hints.open_reference(
        principal=principal,
        workspace=place.workspace if place else None,
        root=place.root if place else None,
        hint=hint_of(data),
    )
    return evidence.owned(principal, opened)
