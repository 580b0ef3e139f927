"""`GET /metrics` for administrators and monitoring systems with a token that has admin:read."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from mnote import metrics
from mnote.api.permissions import IsPerson
from mnote.exceptions import NotFound


class MetricsView(APIView):
    """Counts of jobs and the age of workers. Nobody else learns that it is there."""

    permission_classes = [IsPerson]

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:  # noqa: ARG002, FBT001, FBT002
        """Whatever the caller accepts: the answer is text, an error is JSON."""
        renderer = JSONRenderer()
        return renderer, renderer.media_type

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        if not request.principal.is_administrator:  # type: ignore[attr-defined]
            raise NotFound
        headers = {"Cache-Control": "no-store"}
        return HttpResponse(metrics.exposition(), content_type="text/plain; version=0.0.4", headers=headers)
