"""What every view of the knowledge API shares: who may call, how bodies are read, how providers' failures leave."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from knowledge.exceptions import public_error
from knowledge.providers.base import ProviderError
from mnote.api.permissions import HasScope
from mnote.models import TokenScope

READ = HasScope(TokenScope.KNOWLEDGE_READ)
WRITE = HasScope(TokenScope.KNOWLEDGE_WRITE)


class KnowledgeView(APIView):
    """A view for sessions and for tokens with knowledge:read. Writing methods ask for knowledge:write."""

    permission_classes = [READ]

    def handle_exception(self, exc: Exception) -> Response:
        return super().handle_exception(public_error(exc) if isinstance(exc, ProviderError) else exc)


class WritingView(KnowledgeView):
    """A view whose every method but GET needs knowledge:write."""

    def get_permissions(self) -> list[Any]:
        return [READ() if self.request.method in ("GET", "HEAD", "OPTIONS") else WRITE()]


def validated(
    request: Request, serializer: type[serializers.Serializer[Any]], *, partial: bool = False
) -> dict[str, Any]:
    """Return the checked values of a JSON body. Raises ValidationError with the fields named."""
    reader = serializer(data=request.data, partial=partial)
    reader.is_valid(raise_exception=True)
    return dict(reader.validated_data)


def validated_query(request: Request, serializer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """Return the checked values of the query string."""
    reader = serializer(data=request.query_params)
    reader.is_valid(raise_exception=True)
    return dict(reader.validated_data)
