"""What every request gets: an id, a language, safe headers, and pages that no cache mixes with fragments."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote, urlencode, urlsplit, urlunsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme

from mnote.ids import new_id
from mnote.principals import Principal

if TYPE_CHECKING:
    from mnote.models import User

GetResponse = Callable[[HttpRequest], HttpResponseBase]

_GIVEN_ID = re.compile(r"[A-Za-z0-9_.-]{8,64}")
request_id: ContextVar[str] = ContextVar("request_id", default="")

CONTENT_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-src 'self'; frame-ancestors 'self'"
)


class RequestContextMiddleware:
    """Give the request an id (the caller's own when it is harmless) and repeat it in the answer."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get("X-Request-ID", "")
        value = given if _GIVEN_ID.fullmatch(given) else new_id("req")
        token = request_id.set(value)
        try:
            response = self.get_response(request)
        finally:
            request_id.reset(token)
        response.headers["X-Request-ID"] = value
        response.headers.setdefault("Content-Security-Policy", CONTENT_POLICY)
        return response


class LanguageMiddleware:
    """Choose the language: the cookie set by the person, else what the browser asks for. And whose clock times are
    written in: the browser's, told by a cookie of the pages' script, else that of the settings."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        language = translation.get_language_from_request(request)
        translation.activate(language)
        request.LANGUAGE_CODE = language
        timezone.activate(_zone_of(request))
        response = self.get_response(request)
        response.headers.setdefault("Content-Language", language)
        return response


def _zone_of(request: HttpRequest) -> ZoneInfo:
    try:
        return ZoneInfo(unquote(request.COOKIES.get("mnote_time_zone", "")))
    except (ValueError, OSError, ZoneInfoNotFoundError):  # a name that is none, a path, a folder
        return ZoneInfo(settings.TIME_ZONE)


class PrincipalMiddleware:
    """Say who is asking: `request.principal` of a signed-in person, else None.

    A closed account never gets this far: the session's user is read anew and only if active.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # Without the cookie nobody is signed in, and probes and token callers need no session query.
        has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
        user = request.user if has_session else None
        is_person = user is not None and user.is_authenticated and user.is_active
        request.principal = Principal(user=cast("User", user)) if is_person else None  # type: ignore[attr-defined]
        return self.get_response(request)


class PageMiddleware:
    """HTML differs between page and fragment, and belongs to one person: say so to every cache.

    A fragment request that would be sent to the login page gets HX-Redirect instead, so that no whole page lands
    inside a fragment.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if not response.headers.get("Content-Type", "").startswith("text/html"):
            return response
        patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request", "Cookie"])
        response.headers.setdefault("Cache-Control", "private, no-store")
        if request.headers.get("HX-Request") and _is_login_redirect(response):
            return HttpResponse(status=204, headers={"HX-Redirect": _sign_in_from(request)})
        return response


def _sign_in_from(request: HttpRequest) -> str:
    """Return the address of the sign-in page that leads back to the page of a fragment, never to the fragment."""
    from django.urls import reverse  # noqa: PLC0415 URLs are not loaded yet when middleware is imported

    page = urlsplit(request.headers.get("HX-Current-URL", ""))
    back = urlunsplit(("", "", page.path, page.query, ""))
    is_ours = page.netloc == request.get_host() and url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    query = f"?{urlencode({REDIRECT_FIELD_NAME: back})}" if is_ours else ""
    return f"{reverse(settings.LOGIN_URL)}{query}"


def _is_login_redirect(response: HttpResponseBase) -> bool:
    from django.urls import reverse  # noqa: PLC0415 URLs are not loaded yet when middleware is imported

    return response.status_code == 302 and response.headers["Location"].startswith(reverse(settings.LOGIN_URL))
