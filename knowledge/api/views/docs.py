"""The API to read and try in a browser: Swagger UI from our own static files, with no script or style in the page."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe


@login_required
@require_safe
def api_docs(request: HttpRequest) -> HttpResponse:
    """Show the page; calls made from it carry the session and its cross-site token."""
    return render(request, "knowledge/api_docs.html", {"schema_url": reverse("knowledge-api:openapi")})
