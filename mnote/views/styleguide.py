"""Every part of the pages in every state, for people who build them and for the screenshot tests."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from mnote.exceptions import Conflict
from mnote.forms import ProfileForm, TokenForm
from mnote.htmx import is_fragment, no_content, toast
from mnote.requests import PersonRequest
from mnote.templatetags.mnote_ui import ICONS, LAMP_SHAPES, lamp_meaning


@login_required
@require_GET
def styleguide(request: PersonRequest) -> HttpResponse:
    if not request.principal.is_administrator:
        raise Http404
    part = request.GET.get("part", "")
    if not is_fragment(request) or part not in {"dialog", "form", "drawer", "toast", "problem"}:
        return render(request, "mnote/styleguide.html", _context(request))
    if part == "toast":
        return toast(no_content(), "The knowledge base was saved.")
    if part == "problem":
        raise Conflict("Somebody else changed this meanwhile.")
    form = ProfileForm(initial={"display_name": "Alice"})
    return render(request, "mnote/_styleguide_part.html", {"part": part, "plain_form": form})


def _context(request: PersonRequest) -> dict[str, Any]:
    now = timezone.now()
    wrong = TokenForm(request.user, {"name": "", "lifetime": "90"})
    wrong.is_valid()
    return {
        "lamps": [(status, lamp_meaning(status)) for status in LAMP_SHAPES],
        "icons": sorted(ICONS),
        "times": [now - timedelta(hours=each) for each in (0, 0.05, 1.3, 26, 80, 24 * 90, 24 * 500)],
        "sizes": [None, 1, 700, 6_200, 412_000, 18_900_000, 1_288_490_188],
        "durations": [0.42, 18.2, 72, 7_500],
        "colours": ["paper", "sheet", "sunk", "ink", "green", "marker", "blue", "amber", "red"],
        "plain_form": ProfileForm(initial={"display_name": "Alice"}),
        "wrong_form": wrong,
        "problem": {
            "title": "The service is not available right now",
            "detail": "Searching still works. It is tried again by itself.",
            "status": 503,
            "request_id": "req_01j9zk3w8m4t6q2r7v",
        },
        "more": SimpleNamespace(url="?page=2", shown=50, total=1310),
    }
