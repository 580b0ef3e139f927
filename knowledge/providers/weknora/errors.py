"""What the server says when something fails: five shapes of bodies, and what they mean in our words.

There are no stable codes for half of it, so some texts are recognised here and nowhere else. No text of the server
goes into an error: it may hold SQL, addresses and keys of models.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from knowledge.providers.base import (
    ProviderAuthError,
    ProviderError,
    ProviderMisconfigured,
    ProviderNotThere,
    ProviderProtocolError,
    ProviderRejected,
    ProviderRightsMissing,
    ProviderUnavailable,
)
from mnote.http import Answer


class NotThere(ProviderNotThere):
    """The knowledge base or document does not exist (any more)."""


class OutOfScope(ProviderRightsMissing):
    """It belongs to another tenant."""

    code = "provider-scope"


class KeyLimited(ProviderRightsMissing):
    """The key is limited to a list of knowledge bases. Such a key cannot even see what it creates."""

    code = "provider-key-limited"


class Taken(ProviderRejected):
    """The id that was sent is in use, or was."""

    code = "provider-id-taken"


class Duplicate(ProviderRejected):
    """The same bytes are there already; `row` is the document they are."""

    code = "provider-duplicate"

    def __init__(self, row: Mapping[str, Any]) -> None:
        super().__init__("the same content is already there")
        self.row = row


class Clash(ProviderRejected):
    """The same bytes were put into our knowledge base by somebody else, to be processed in another way than ours."""

    code = "provider-clash"


class TextTooLarge(ProviderRejected):
    code = "too_large"


class TypeRefused(ProviderRejected):
    """The server reads no files of this type."""

    code = "provider-type"


class VisionMissing(ProviderRejected):
    """Pictures are read by a model, and none is configured, or not one that the server takes."""

    code = "provider-vision-missing"


class QuotaUsedUp(ProviderUnavailable):
    """The tenant has no storage left at the server."""

    code = "provider-quota"


class ModelMissing(ProviderMisconfigured):
    """The embedding model of the knowledge base does not exist at the server, or is not active."""

    code = "provider-model-missing"


class EmbedderUnavailable(ProviderUnavailable):
    """The server works, but the embedding model behind it does not answer as it should."""

    code = "provider-embedder"


class QueryRefused(ProviderRejected):
    """The keyword search of the server broke on this query."""

    code = "provider-query"


class ServerError(ProviderUnavailable):
    """The server failed for a reason it does not name by a code."""

    code = "provider-server-error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A failed answer, read. `code` is the server's; `text` is for recognising, never for showing."""

    status: int
    code: int | str | None = None
    text: str = field(default="", repr=False)
    row: Mapping[str, Any] = field(default_factory=dict, repr=False)
    is_json: bool = True
    is_gate: bool = False


#: Parts of messages that come with 500 and 1007, where the code says nothing.
_TEXTS: tuple[tuple[str, type[ProviderError], str], ...] = (
    ("unsupported file type", TypeRefused, "the server does not take this type of file"),
    ("Storage quota exceeded", QuotaUsedUp, "the tenant has no storage left"),
    ("knowledge_bases.id", Taken, "the id of the knowledge base is taken"),
    ("knowledge_bases_pkey", Taken, "the id of the knowledge base is taken"),
    ("knowledge base not found", NotThere, "the knowledge base does not exist"),
    ("model not found", ModelMissing, "the embedding model does not exist"),
    ("FTS5 query failed", QueryRefused, "the keyword search broke on the query"),
    ("EmbedBatch API error", EmbedderUnavailable, "the embedding model fails"),
    ("/embeddings", EmbedderUnavailable, "the embedding model cannot be reached"),
    ("embedding model returned", EmbedderUnavailable, "the embedding model answers too little"),
)
_GATE = ("API key scope does not allow this operation", "cannot switch workspaces")
_LIMITED = "API key scope does not allow one or more knowledge bases"
_TOO_LARGE = "文件大小不能超过"


def problem_of(answer: Answer) -> Problem:
    """Read a failed answer of any shape. Never raises."""
    body = _json_object(answer.body)
    if body is None:
        return Problem(status=answer.status, is_json=False)
    inner = body.get("error")
    if isinstance(inner, dict):
        text = f"{inner.get('message') or ''} {inner.get('details') or ''}"
        return Problem(status=answer.status, code=_code(inner.get("code")), text=text)
    text = f"{inner or ''} {body.get('message') or ''}"
    row = body.get("data") if isinstance(body.get("data"), dict) else {}
    return Problem(
        status=answer.status, code=_code(body.get("code")), text=text, row=row or {}, is_gate=isinstance(inner, str)
    )


def error_of(problem: Problem, *, retry_after: float | None = None) -> ProviderError:
    """Return what to raise for a failed answer."""
    if problem.status in _READ:
        return _READ[problem.status](problem)
    if problem.status in _PLAIN:
        kind, message = _PLAIN[problem.status]
        return kind(message)
    if problem.status == 500:
        return _failed(problem)
    if problem.status in (429, 502, 503, 504) or problem.status > 500:
        return ProviderUnavailable(f"the server answered {problem.status}", retry_after=retry_after)
    if problem.is_json and 400 <= problem.status < 500:
        return ProviderRejected(f"the server refused the request with {problem.status}/{problem.code}")
    return ProviderProtocolError(f"the server answered {problem.status} in an unknown way")


def _bad_request(problem: Problem) -> ProviderError:
    if not problem.is_json:
        return ProviderProtocolError("the server answered 400 in an unknown way")
    if _TOO_LARGE in problem.text:
        return TextTooLarge("the text is too large for the server")
    return ProviderRejected(f"the server refused the request with 400/{problem.code}")


def _forbidden(problem: Problem) -> ProviderError:
    if any(text in problem.text for text in _GATE):
        return ProviderRightsMissing("the API key lacks a right for this")
    if not problem.is_json:
        return ProviderProtocolError("something before the server answered 403")
    if _LIMITED in problem.text:
        return KeyLimited("the API key is limited to a list of knowledge bases")
    return OutOfScope("this belongs to another tenant")


def _not_found(problem: Problem) -> ProviderError:
    if not problem.is_json:
        return ProviderProtocolError("there is no such server at this address")
    return NotThere("the server does not know this id")


def _conflict(problem: Problem) -> ProviderError:
    if problem.code == "TENANT_REQUIRED":
        return ProviderMisconfigured("a platform key needs the id of a tenant")
    if problem.row.get("id"):
        return Duplicate(problem.row)
    return ProviderRejected(f"the server reports a conflict, {problem.code}")


_READ = {400: _bad_request, 403: _forbidden, 404: _not_found, 409: _conflict}
_PLAIN: dict[int, tuple[type[ProviderError], str]] = {
    401: (ProviderAuthError, "the server does not take the API key"),
    413: (TextTooLarge, "the text is too large for the server or what stands before it"),
}


def _failed(problem: Problem) -> ProviderError:
    for text, kind, message in _TEXTS:
        if text in problem.text:
            return kind(message)
    return ServerError(f"the server failed with 500/{problem.code}")


def _json_object(body: bytes) -> dict[str, Any] | None:
    try:
        read = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


def _code(value: Any) -> int | str | None:
    return value if isinstance(value, int | str) else None
