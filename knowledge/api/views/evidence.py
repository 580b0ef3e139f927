"""The evidence API (spec 10.5–10.8)."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from knowledge import evidence_shapes
from knowledge.api.base import KnowledgeView, validated, validated_query
from knowledge.api.evidence_calls import documents, hint_in, read, where
from knowledge.api.published import one_of, published
from knowledge.api.scope import place_of
from knowledge.api.serializers.evidence import (
    DocumentSearchQuerySerializer,
    DocumentSearchSerializer,
    EvidenceNamedSerializer,
    EvidenceReadSerializer,
    EvidenceSearchSerializer,
)
from knowledge.exceptions import LocatorInvalid
from knowledge.services import evidence
from knowledge.services.evidence import Scope
from mnote.api.permissions import principal_of

#: Results of a search, a document, or a passage read, by what was asked.
_OLDER = one_of("document-results", "document-text", "read")


class EvidenceView(KnowledgeView):
    """A value that is wrong inside a locator makes the locator invalid (spec 10.9)."""

    def handle_exception(self, exc: Exception) -> Response:
        return super().handle_exception(_locator_problem(exc) or exc)


class EvidenceSearchView(EvidenceView):
    @extend_schema(operation_id="evidence_search", request=EvidenceSearchSerializer, responses=published("search"))
    def post(self, request: Request) -> Response:
        """Find passages in every document that the caller may read."""
        principal, data = principal_of(request), validated(request, EvidenceSearchSerializer)
        scope = data["scope"]
        place = place_of(principal, scope)
        found = evidence.search(
            principal=principal,
            scope=Scope(
                workspace=place.workspace,
                root=place.root,
                document_id=scope.get("target_document_id") or "",
                kb_ids=tuple(scope.get("knowledge_base_ids", ())),
                include_resources=scope["include_resources"],
                include_ocr=scope["include_ocr"],
            ),
            query=data["query"],
            top_k=data["top_k"],
            mode=data["mode"],
        )
        return Response(evidence_shapes.found_json(found, is_administrator=principal.is_administrator))


class EvidenceReadView(EvidenceView):
    @extend_schema(operation_id="evidence_read", request=EvidenceReadSerializer, responses=published("read"))
    def post(self, request: Request) -> Response:
        """Read what stands around a passage, in the file as it is now."""
        data = validated(request, EvidenceReadSerializer)
        return Response(evidence_shapes.reading_json(read(principal_of(request), data)))


class EvidenceOpenView(EvidenceView):
    @extend_schema(operation_id="evidence_open", request=EvidenceNamedSerializer, responses=published("open"))
    def post(self, request: Request) -> Response:
        """Open a passage: how a host shows its place."""
        principal, data = principal_of(request), validated(request, EvidenceNamedSerializer)
        workspace, root_uri = where(principal, data)
        opened = evidence.open_evidence(principal=principal, workspace=workspace, root_uri=root_uri, hint=hint_in(data))
        return Response(evidence_shapes.opened_evidence_json(opened))


class DocumentSearchView(EvidenceView):
    @extend_schema(
        operation_id="search_documents_by_query",
        parameters=[DocumentSearchQuerySerializer],
        responses=_OLDER,
    )
    def get(self, request: Request) -> Response:
        """Search or read documents, as older callers do."""
        return Response(documents(principal_of(request), validated_query(request, DocumentSearchQuerySerializer)))

    @extend_schema(operation_id="search_documents", request=DocumentSearchSerializer, responses=_OLDER)
    def post(self, request: Request) -> Response:
        """Search or read documents, as older callers do."""
        return Response(documents(principal_of(request), validated(request, DocumentSearchSerializer)))


def _locator_problem(exc: Exception) -> LocatorInvalid | None:
    if not isinstance(exc, ValidationError) or not isinstance(exc.detail, dict) or set(exc.detail) != {"locator"}:
        return None
    if isinstance(exc.detail["locator"], list):
        return None
    errors: dict[str, list[dict[str, str]]] = {}
    _flatten(exc.detail, "", errors)
    return LocatorInvalid(errors=errors)


def _flatten(detail: Any, at: str, errors: dict[str, list[dict[str, str]]]) -> None:
    if isinstance(detail, ErrorDetail):
        errors.setdefault(at, []).append({"message": str(detail), "code": detail.code or "invalid"})
        return
    pairs = detail.items() if isinstance(detail, dict) else enumerate(detail)
    for name, value in pairs:
        is_leaf = isinstance(value, ErrorDetail)
        _flatten(value, at if is_leaf else f"{at}.{name}".strip("."), errors)
