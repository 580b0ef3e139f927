"""For load balancers, containers and people who look after a server."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from mnote.services import readiness


@never_cache
@require_safe
def healthz(_request: HttpRequest) -> HttpResponse:
    """The web process answers. Nothing else is looked at: restarting it would not help a broken database."""
    return HttpResponse("ok\n", content_type="text/plain; charset=utf-8")


@never_cache
@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """200 when every layer works, else 503 and the names of those that do not."""
    layers = readiness.look()
    failing = [layer.name for layer in layers if not layer.is_ok]
    body = {
        "status": "failing" if failing else "ready",
        "failing": failing,
        "layers": {layer.name: "ok" if layer.is_ok else "failing" for layer in layers},
    }
    return JsonResponse(body, status=503 if failing else 200)
