"""One log line a request: what was asked for, how it was answered, how long it took."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

logger = logging.getLogger(__name__)

#: Asked every few seconds by machines; a line for each would hide the rest.
_QUIET = frozenset({"healthz", "readyz", "metrics"})


class RequestLogMiddleware:
    """Log the route and not the address: addresses hold ids of one-time links, names of files and questions."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        if match is not None and match.route not in _QUIET:
            took = round((time.perf_counter() - began) * 1000, 1)
            facts = {"method": request.method, "route": f"/{match.route}", "status": response.status_code}
            logger.info("request", extra=facts | {"milliseconds": took} | _who(request))
        return response


def _who(request: HttpRequest) -> dict[str, object]:
    principal = getattr(request, "principal", None)
    return {"user_id": principal.user.pk} if principal else {}
