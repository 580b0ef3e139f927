"""Every way out of an error: one mapping from exceptions to what callers see (RFC 9457), as JSON or as a page."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import (
    NON_FIELD_ERRORS,
    BadRequest,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    ValidationError,
)
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.request import UnreadablePostError
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework import exceptions as rest
from rest_framework.response import Response

from mnote import exceptions
from mnote.exceptions import AppError
from mnote.middleware import request_id
from mnote.names import camel_case

MEDIA_TYPE = "application/problem+json"
#: The key of errors that belong to no single field.
WHOLE = "nonFieldErrors"
_CHALLENGE = 'Bearer realm="mnote"'

logger = logging.getLogger(__name__)


class MethodNotAllowed(AppError):
    code = "method-not-allowed"
    status = 405
    title = gettext_lazy("This method is not allowed here")


class NotAcceptable(AppError):
    code = "not-acceptable"
    status = 406
    title = gettext_lazy("Only JSON is answered here")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What a caller sees of an error. `members` go into the JSON beside the standard ones; `errors` are by field."""

    status: int
    code: str
    title: str | Promise
    detail: str | Promise
    errors: Mapping[str, list[dict[str, str]]] = field(default_factory=dict)
    members: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            **self.members,
            "type": f"urn:mnote:problem:{self.code}",
            "title": str(self.title),
            "status": self.status,
            "detail": str(self.detail),
            "code": self.code,
            "requestId": request_id.get(),
        }
        body |= {"errors": dict(self.errors)} if self.errors else {}
        return {name: _sendable(value) for name, value in body.items()}


def _sendable(value: Any) -> Any:
    """Return the same without half characters, which a message may repeat from what was sent and no answer can hold."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {_sendable(name): _sendable(each) for name, each in value.items()}
        case list() | tuple():
            return [_sendable(each) for each in value]
    return value


def problem_of(error: Exception) -> Problem:
    """Put any exception into the public shape. What is not known becomes `internal`, and nothing of it is told."""
    match error:
        case AppError():
            return _from_app_error(error)
        case rest.ValidationError():
            return _invalid(_("Some values cannot be used."), errors=_by_field(error.get_full_details()))
        case rest.APIException():
            return _from_rest(error)
        case ValidationError():
            return _invalid(_("Some values cannot be used."), errors=_from_django(error))
        case Http404():
            return _plain(exceptions.NotFound)
        case PermissionDenied():
            return _plain(exceptions.Forbidden)
        case RequestDataTooBig():
            return _plain(exceptions.TooLarge)
        case SuspiciousOperation() | BadRequest() | UnreadablePostError():
            return _plain(exceptions.Invalid)
    return _plain(AppError, detail=_("The error was noted. Please try again; if it stays, tell your administrator."))


def handle_api_exception(error: Exception, context: dict[str, Any]) -> Response:
    """REST framework's exception handler."""
    problem = problem_of(error)
    if problem.status >= 500:
        _log(error, context.get("request"))
    response = Response(problem.as_json(), status=problem.status, headers=dict(problem.headers))
    response.content_type = MEDIA_TYPE
    return response


def respond(request: HttpRequest, problem: Problem) -> HttpResponse:
    """Answer outside REST framework: JSON to API callers, a page or a part of one to people."""
    if is_api(request):
        return json_response(problem)
    shown = {"status": problem.status, "title": problem.title, "detail": problem.detail, "request_id": request_id.get()}
    response = render(request, "mnote/error.html", shown, status=problem.status)
    for name, value in problem.headers.items():
        if name != "WWW-Authenticate":
            response.headers[name] = value
    return response


def json_response(problem: Problem) -> JsonResponse:
    """The problem document, outside REST framework. No cache may keep that something is not there: it may be soon."""
    headers = {"Cache-Control": "private, no-store", **problem.headers}
    return JsonResponse(problem.as_json(), status=problem.status, content_type=MEDIA_TYPE, headers=headers)


def is_api(request: HttpRequest) -> bool:
    """Say whether the caller speaks JSON. `path_info` does not hold the prefix of a mount below another site."""
    return request.path_info.startswith(("/api/", "/mcp"))


class ProblemMiddleware:
    """Turn an `AppError` raised by any view that is not REST framework's into its answer."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, AppError):
            return None
        problem = problem_of(error)
        if problem.status >= 500:
            _log(error, request)
        return respond(request, problem)


def _log(error: Exception, request: Any) -> None:
    """Note a failure of ours. The path may be long and hold names of files, so only the route is kept."""
    match = getattr(request, "resolver_match", None)
    route = match.route if match else ""
    if isinstance(error, AppError) and error.code != AppError.code:
        logger.warning("answered %s", error.code, extra={"route": route})
        return
    logger.error("unhandled error", exc_info=error, extra={"route": route})


def _from_app_error(error: AppError) -> Problem:
    members = {camel_case(name): value for name, value in error.extra.items() if name not in {"errors", "retry_after"}}
    errors = {_field_name(name): messages for name, messages in error.extra.get("errors", {}).items()}
    headers = {"WWW-Authenticate": _CHALLENGE} if error.status == 401 else {}
    if "retry_after" in error.extra:
        headers["Retry-After"] = str(error.extra["retry_after"])
    return Problem(
        status=error.status,
        code=error.code,
        title=error.title,
        detail=error.detail,
        errors=errors,
        members=members,
        headers=headers,
    )


def _from_rest(error: rest.APIException) -> Problem:
    match error:
        case rest.ParseError():
            return _invalid(_("The body is not valid JSON."))
        case rest.NotAuthenticated():
            return _plain(exceptions.NotAuthenticated)
        case rest.AuthenticationFailed():
            return _plain(exceptions.NotAuthenticated, detail=str(error.detail))
        case rest.PermissionDenied():
            return _plain(exceptions.Forbidden, detail=str(error.detail))
        case rest.NotFound():
            return _plain(exceptions.NotFound)
        case rest.UnsupportedMediaType():
            return _plain(exceptions.UnsupportedType, title=_("This content type is not supported"))
        case rest.Throttled():
            wait = getattr(error, "wait", None)
            headers = {"Retry-After": str(int(wait))} if wait else {}
            return _plain(exceptions.RateLimited, headers=headers)
        case rest.MethodNotAllowed():
            return _plain(MethodNotAllowed)
        case rest.NotAcceptable():
            return _plain(NotAcceptable)
    return _plain(AppError)


def _plain(
    kind: type[AppError],
    *,
    title: str | Promise = "",
    detail: str | Promise = "",
    headers: Mapping[str, str] | None = None,
) -> Problem:
    challenge = {"WWW-Authenticate": _CHALLENGE} if kind.status == 401 else {}
    return Problem(
        status=kind.status,
        code=kind.code,
        title=title or kind.title,
        detail=detail or title or kind.title,
        headers=challenge | dict(headers or {}),
    )


def _invalid(detail: str, *, errors: Mapping[str, list[dict[str, str]]] | None = None) -> Problem:
    kind = exceptions.Invalid
    return Problem(status=kind.status, code=kind.code, title=kind.title, detail=detail, errors=errors or {})


def _by_field(details: Any) -> dict[str, list[dict[str, str]]]:
    """Flatten REST framework's nested details: `{"scope.sourceIds.2": [{message, code}]}`."""
    found: dict[str, list[dict[str, str]]] = {}
    for place, message in _messages(details, ""):
        found.setdefault(place or WHOLE, []).append(message)
    return found


def _messages(details: Any, at: str) -> Iterator[tuple[str, dict[str, str]]]:
    if _is_message(details):
        yield at, {"message": str(details["message"]), "code": details["code"]}
    elif isinstance(details, dict):
        for name, value in details.items():
            # Below the top, names may be the caller's own keys: they stay as given.
            yield from _messages(value, _joined(at, str(name)) if at else _field_name(str(name)))
    else:
        for place, value in enumerate(details):
            yield from _messages(value, at if _is_message(value) else _joined(at, str(place)))


def _is_message(details: Any) -> bool:
    return isinstance(details, dict) and set(details) == {"message", "code"} and isinstance(details["code"], str)


def _joined(at: str, name: str) -> str:
    if name == "non_field_errors":
        return at
    return f"{at}.{name}" if at else name


def _field_name(name: str) -> str:
    return WHOLE if name in {NON_FIELD_ERRORS, "non_field_errors"} else camel_case(name)


def _from_django(error: ValidationError) -> dict[str, list[dict[str, str]]]:
    by_field = error.error_dict if hasattr(error, "error_dict") else {NON_FIELD_ERRORS: error.error_list}
    return {
        _field_name(name): [{"message": " ".join(one.messages), "code": one.code or "invalid"} for one in errors]
        for name, errors in by_field.items()
    }
