"""Who calls the API: a token in the Authorization header, else the session cookie with the cross-site check.

No other header names a person: what a proxy or a caller says about users is not read.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.translation import gettext as _
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from mnote.exceptions import NotAuthenticated
from mnote.models import User
from mnote.principals import Principal
from mnote.services import tokens


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer mnt_…`. A wrong token is refused even if a session cookie comes along."""

    def authenticate(self, request: Request) -> tuple[User, Principal] | None:
        # The middleware set the session's principal; without the cross-site check it must not count here.
        _set_principal(request, None)
        scheme, _space, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        try:
            principal = tokens.authenticate(secret.strip())
        except NotAuthenticated as error:
            raise AuthenticationFailed(str(error.detail)) from None
        return _set_principal(request, principal)

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002
        return 'Bearer realm="mnote"'


class CookieAuthentication(BaseAuthentication):
    """The session of the pages. Calls that change something need the cross-site token, as forms do."""

    def authenticate(self, request: Request) -> tuple[User, Principal] | None:
        user = getattr(request._request, "user", None)  # noqa: SLF001 REST framework's own classes do the same
        if not isinstance(user, User) or not user.is_active:
            return None
        _refuse_cross_site(request)
        return _set_principal(request, Principal(user=user))


class _CrossSiteCheck(CsrfViewMiddleware):
    def _reject(self, request: HttpRequest, reason: str) -> Any:  # noqa: ARG002
        return reason


def _refuse_cross_site(request: Request) -> None:
    check = _CrossSiteCheck(_no_view)
    plain = request._request  # noqa: SLF001
    check.process_request(plain)
    if check.process_view(plain, _no_view, (), {}) is not None:
        raise PermissionDenied(_("The cross-site check failed. Load the page again and repeat."))


def _no_view(_request: HttpRequest) -> HttpResponse:
    return HttpResponse()


def _set_principal(request: Request, principal: Principal | None) -> tuple[User, Principal] | None:
    request._request.principal = principal  # type: ignore[attr-defined]  # noqa: SLF001
    return (principal.user, principal) if principal else None
