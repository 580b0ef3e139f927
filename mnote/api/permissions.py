"""What a caller's token must be allowed to do. Sessions have every scope."""

from __future__ import annotations

from django.utils.translation import gettext as _
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from mnote.exceptions import NotAuthenticated
from mnote.principals import Principal


class IsPerson(BasePermission):
    """A session or token of an active person."""

    def has_permission(self, request: Request, view: APIView) -> bool:  # noqa: ARG002
        return _principal(request) is not None


class IsSession(IsPerson):
    """A person at a browser: what a token must never do, such as making other tokens."""

    @property
    def message(self) -> str:
        return _("A token may not do this; sign in.")

    def has_permission(self, request: Request, view: APIView) -> bool:  # noqa: ARG002
        principal = _principal(request)
        return principal is not None and principal.scopes is None


def HasScope(scope: str) -> type[IsPerson]:  # noqa: N802 read as a class in `permission_classes`
    """Make the permission that passes sessions, and tokens holding `scope`."""

    class ScopePermission(IsPerson):
        @property
        def message(self) -> str:
            return _("This token lacks the scope %(scope)s.") % {"scope": scope}

        def has_permission(self, request: Request, view: APIView) -> bool:  # noqa: ARG002
            principal = _principal(request)
            return principal is not None and principal.has_scope(scope)

    return ScopePermission


def _principal(request: Request) -> Principal | None:
    """Authentication is lazy: reading the user first makes sure that it ran."""
    return request.principal if request.user else None  # type: ignore[attr-defined]


def principal_of(request: Request) -> Principal:
    """Give who calls, in a view that lets only people in.

    Raises:
        NotAuthenticated: nobody.
    """
    principal = _principal(request)
    if principal is None:
        raise NotAuthenticated
    return principal
