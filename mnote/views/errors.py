"""Pages for requests that could not be answered."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Explain a failed cross-site check: usually a page that stayed open over a new sign-in, or a wrong public URL."""
    return render(request, "mnote/csrf_failure.html", {"reason": reason}, status=403)
