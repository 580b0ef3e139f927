"""`Idempotency-Key` on requests that make something."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from mnote.api.permissions import principal_of
from mnote.exceptions import Invalid
from mnote.ids import text_key
from mnote.models import Workspace
from mnote.services import idempotency
from mnote.services.idempotency import Stored

HEADER = "Idempotency-Key"
_MAX_KEY = 200

Handler = Callable[..., Response]


class Made(Response):
    """The answer to a request that made something in a workspace."""

    def __init__(
        self, data: Any, *, workspace: Workspace, status: int, location: str = "", headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(
            data, status=status, headers={**({"Location": location} if location else {}), **(headers or {})}
        )
        self.workspace = workspace


def idempotent(handler: Handler) -> Handler:
    """Make a view method answer a repeated request with the first answer. The method must return `Made`.

    A failed request leaves no trace: the next one with its key is worked on. A raw body is recognised by its length.
    """

    @wraps(handler)
    def wrapped(view: APIView, request: Request, *args: Any, **kwargs: Any) -> Response:
        given = request.headers.get(HEADER)
        if given is None:
            return handler(view, request, *args, **kwargs)
        principal = principal_of(request)
        key_hash = text_key(f"{principal.token_name}\n{_checked(given)}")
        stored = idempotency.begin(principal=principal, key_hash=key_hash, fingerprint=_fingerprint(request))
        if stored is not None:
            headers = {"Idempotency-Replayed": "true", **({"Location": stored.location} if stored.location else {})}
            return Response(stored.body, status=stored.status, headers=headers)
        try:
            response = handler(view, request, *args, **kwargs)
        except BaseException:
            idempotency.forget(user=principal.user, key_hash=key_hash)
            raise
        _remember(response, principal.user, key_hash)
        return response

    return wrapped


def _remember(response: Response, user: Any, key_hash: str) -> None:
    if not isinstance(response, Made):
        raise TypeError("an idempotent method returns Made")
    answer = Stored(status=response.status_code, body=response.data, location=response.headers.get("Location", ""))
    idempotency.finish(user=user, key_hash=key_hash, workspace=response.workspace, answer=answer)


def _checked(key: str) -> str:
    if not key or len(key) > _MAX_KEY or not key.isascii() or not key.isprintable():
        message = _("Give 1 to 200 visible ASCII characters.")
        raise Invalid(errors={HEADER: [{"message": message, "code": "invalid"}]})
    return key


def _fingerprint(request: Request) -> str:
    is_json = (request.content_type or "").startswith("application/json")
    body = json.dumps(request.data, sort_keys=True) if is_json else request.headers.get("Content-Length", "")
    return text_key(f"{request.method} {request.get_full_path()}\n{body}")
