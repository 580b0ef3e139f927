"""Answers for requests that no view could answer: JSON to programs, a page or a strip to people."""

from __future__ import annotations

import logging

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from mnote.exceptions import AppError, Forbidden, Invalid
from mnote.problems import problem_of, respond

logger = logging.getLogger(__name__)


class PageTooOld(Forbidden):
    """The cross-site check failed: usually a page that stayed open over a new sign-in, or a wrong public URL."""

    code = "csrf-failed"


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    is_known = isinstance(exception, SuspiciousOperation)
    return respond(request, problem_of(exception if is_known else Invalid()))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001 Django's signature
    return respond(request, problem_of(PermissionDenied()))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001 Django's signature
    return respond(request, problem_of(Http404()))


def server_error(request: HttpRequest) -> HttpResponse:
    """Django has logged the error. When not even the page can be built, one line of text is the answer."""
    problem = problem_of(AppError(_("The error was noted. Try again in a moment; if it stays, tell an administrator.")))
    try:
        return respond(request, problem)
    except Exception:
        logger.exception("no error page could be built")
        return HttpResponse(f"{problem.title}\n", status=500, content_type="text/plain; charset=utf-8")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001 Django's signature
    error = PageTooOld(
        _(
            "The page was opened before you signed in again, or under another address than MNote's own. Load it anew "
            "and repeat what you did. If it stays, an administrator should compare the public address in the settings."
        )
    )
    return respond(request, problem_of(error))
