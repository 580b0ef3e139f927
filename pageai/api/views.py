"""The Page AI API: opening the panel, the layers it stands on, the agents there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from knowledge.api.base import validated, validated_query
from knowledge.api.scope import place_of
from mnote.api.permissions import HasScope, principal_of
from mnote.models import TokenScope
from mnote.principals import Principal
from pageai.api.serializers.bootstrap import (
    HEALTH,
    BootstrapQuerySerializer,
    BootstrapRequestSerializer,
    BootstrapSerializer,
    DescriptorsSerializer,
)
from pageai.selectors import descriptors
from pageai.services import bootstrap, health, opencodes, pages
from pageai.services.bootstrap import Opening


class PageAIView(APIView):
    """For sessions, and for hosts with a token of the scope pageai."""

    permission_classes = [HasScope(TokenScope.PAGEAI)]


class BootstrapView(PageAIView):
    @extend_schema(operation_id="page_ai_resume", parameters=[BootstrapQuerySerializer], responses=BootstrapSerializer)
    def get(self, request: Request) -> Response:
        """Open the panel on a page again, after a reload."""
        return _opened(principal_of(request), validated_query(request, BootstrapQuerySerializer))

    @extend_schema(operation_id="page_ai_bootstrap", request=BootstrapRequestSerializer, responses=BootstrapSerializer)
    def post(self, request: Request) -> Response:
        """Open the panel on a page: identities, scopes, context and health. Holds no secret and no page text."""
        return _opened(principal_of(request), validated(request, BootstrapRequestSerializer))


class HealthView(PageAIView):
    @extend_schema(operation_id="page_ai_health", responses={200: OpenApiResponse(HEALTH)})
    def get(self, request: Request) -> Response:
        """Ask every layer that Page AI stands on."""
        return Response(health.look(principal_of(request)))


class DescriptorsView(PageAIView):
    @extend_schema(operation_id="list_agent_descriptors", responses=DescriptorsSerializer)
    def get(self, request: Request) -> Response:
        """List the agents with their settings and tools, as the caller may use them."""
        set_up = opencodes.layers_set_up()
        return Response(descriptors.descriptors_of(principal_of(request).user, set_up=set_up))


def _opened(principal: Principal, data: Mapping[str, Any]) -> Response:
    place = place_of(principal, data)
    page = pages.locate(
        principal=principal,
        root=place.root_or_first(),
        path=data.get("page_path", ""),
        resource_id=data.get("page_resource_id", ""),
    )
    opening = Opening(
        page=page,
        title=data.get("page_title", ""),
        selection=data.get("selection", ""),
        agent_id=data.get("agent_id", ""),
    )
    return Response(bootstrap.bootstrap(principal=principal, opening=opening))
