"""Pages and fragments: one address, one view, one context; htmx asks for the part it wants to swap."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise


def is_fragment(request: HttpRequest) -> bool:
    """Say whether htmx wants a part: not a boosted link, not the history being restored, both of which need a page."""
    headers = request.headers
    return "HX-Request" in headers and "HX-Boosted" not in headers and "HX-History-Restore-Request" not in headers


def render_page(
    request: HttpRequest, template: str, context: dict[str, Any] | None = None, *, partial: str = "", status: int = 200
) -> HttpResponse:
    """Render `template`, or only its `{% partialdef %}` named `partial` when htmx asks for a part."""
    name = f"{template}#{partial}" if partial and is_fragment(request) else template
    return render(request, name, context, status=status)


def no_content(**events: Any) -> HttpResponse:
    """Answer 204 with events for the page, e.g. `no_content(**{"kb:saved": {}, "kb:close-modal": {}})`."""
    return with_events(HttpResponse(status=204), **events)


def with_events(response: HttpResponse, **events: Any) -> HttpResponse:
    """Add events which htmx fires on the element that asked; they bubble up to the body."""
    known = json.loads(response.headers.get("HX-Trigger", "{}"))
    response.headers["HX-Trigger"] = json.dumps(known | {name: value or {} for name, value in events.items()})
    return response


def toast(response: HttpResponse, text: str | Promise, kind: str = "good") -> HttpResponse:
    """Show one sentence in the corner: `good` and `note` go by themselves, `bad` stays until closed."""
    return with_events(response, **{"kb:toast": {"text": str(text), "kind": kind}})
