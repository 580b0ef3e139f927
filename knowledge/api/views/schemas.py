"""The published JSON Schemas."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from knowledge.api.published import all_schemas
from mnote.exceptions import NotFound


@require_safe
def schema(request: HttpRequest, name: str) -> JsonResponse:  # noqa: ARG001
    """Serve one schema; they are part of the public contract and need no sign-in."""
    found = all_schemas().get(name)
    if found is None:
        raise NotFound
    return JsonResponse(found, content_type="application/schema+json", headers={"Cache-Control": "public, max-age=300"})
