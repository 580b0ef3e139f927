"""The one error tree. Every error that leaves us has a code, a status and a sentence that holds no secret or path."""

from __future__ import annotations

from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class AppError(Exception):
    """A failure with a public `code` and HTTP `status`. `extra` goes along as JSON members of the problem."""

    code = "internal"
    status = 500
    title: str | Promise = _("Something went wrong")
    retryable = False

    def __init__(self, detail: str | Promise = "", **extra: Any) -> None:
        super().__init__(str(detail))
        self.detail = detail or self.title
        self.extra = extra


class Invalid(AppError):
    """A value that cannot be used. `extra["errors"]` maps each field to its messages."""

    code = "invalid"
    status = 400
    title = _("The request is not valid")


class NotAuthenticated(AppError):
    code = "not-authenticated"
    status = 401
    title = _("Please sign in")


class Forbidden(AppError):
    """The thing may be seen, but this may not be done to it."""

    code = "forbidden"
    status = 403
    title = _("You may not do this")


class NotFound(AppError):
    """Absent, or not visible to the caller: the two look the same."""

    code = "not-found"
    status = 404
    title = _("Not found")


class Gone(AppError):
    code = "gone"
    status = 410
    title = _("This is no longer there")


class Conflict(AppError):
    code = "conflict"
    status = 409
    title = _("This conflicts with the present state")


class TooLarge(AppError):
    code = "too-large"
    status = 413
    title = _("Too large")


class UnsupportedType(AppError):
    code = "unsupported-type"
    status = 415
    title = _("This type of file is not supported")


class Unprocessable(AppError):
    code = "unprocessable"
    status = 422
    title = _("This could not be used")


class RateLimited(AppError):
    code = "rate-limited"
    status = 429
    title = _("Too many requests")
    retryable = True


class ServiceUnavailable(AppError):
    code = "service-unavailable"
    status = 503
    title = _("The service is not available right now")
    retryable = True
