from __future__ import annotations

import json
from typing import Any

import pytest

from knowledge.providers.base import (
    ProviderAuthError,
    ProviderError,
    ProviderMisconfigured,
    ProviderProtocolError,
    ProviderRejected,
    ProviderRightsMissing,
    ProviderUnavailable,
)
from knowledge.providers.weknora import errors
from knowledge.providers.weknora.errors import error_of, problem_of
from mnote.http import Answer
from tests.knowledge.providers.weknora.desk import recorded_exchanges

FAILED = [each for each in recorded_exchanges() if each["status"] >= 400]
EXPECTED: dict[str, type[ProviderError]] = {
    "none": ProviderAuthError,
    "bad-key": ProviderAuthError,
    "cap-missing": ProviderRightsMissing,
    "kb-put-ro": ProviderRightsMissing,
    "sysinfo-cp": ProviderRightsMissing,
    "other-xtenant": ProviderRightsMissing,
    "bad-xtenant": ProviderRejected,
    "platform-no-tenant": ProviderMisconfigured,
    "T33-get-other": errors.KeyLimited,
    "xtenant-kb": errors.OutOfScope,
    "unknown-route-key": ProviderProtocolError,
    "kb-create-same-id": errors.Taken,
    "kb-own-id-2-recreate": errors.Taken,
    "kb-get-unknown": errors.NotThere,
    "kb-delete-again": errors.NotThere,
    "P1-dup": errors.Duplicate,
    "P6-reupload": errors.Duplicate,
    "P4-unsupported": errors.TypeRefused,
    "P18-60MB": errors.TextTooLarge,
    "quota-exceeded": errors.QuotaUsedUp,
    "name-javascript": ProviderRejected,
    "meta-num": ProviderRejected,
    "unknownmodel-reparse": errors.ModelMissing,
    "hs-kb-unknown-model": errors.ModelMissing,
    "hs-q-punct": errors.QueryRefused,
    "hs-kids32766": errors.QueryRefused,
    "search-embedder-500": errors.EmbedderUnavailable,
    "search-embedder-429": errors.EmbedderUnavailable,
    "search-embedder-down": errors.EmbedderUnavailable,
    "P16-copy-new": errors.ServerError,
    "cancel-completed": ProviderRejected,
    "tags-create-dup": ProviderRejected,
    "tags-create-blank": ProviderRejected,
    "tags-put-doc-tags-unknown-tag": ProviderRejected,
    "tags-put-doc-tags-unknown-doc": errors.OutOfScope,
}


def answer(status: int, body: Any) -> Answer:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(status=status, headers={}, body=raw, milliseconds=1)


@pytest.mark.parametrize("recorded", FAILED, ids=lambda each: each["probe"])
def test_error_of_every_recorded_failure_is_typed_and_says_nothing_of_the_server(recorded: dict[str, Any]) -> None:
    body = recorded["response_body"]
    raw = body.encode() if isinstance(body, str) else body

    error = error_of(problem_of(answer(recorded["status"], raw)))

    assert isinstance(error, EXPECTED.get(recorded["probe"], ProviderError))
    assert not any(word in str(error) for word in ("UNIQUE", "FTS5", "http", "stub", "goroutine", "nil pointer"))


def test_error_expectations_name_recorded_failures() -> None:
    assert set(EXPECTED) <= {each["probe"] for each in FAILED}


SHAPES = {
    "handler": ({"success": False, "error": {"code": 1003, "message": "m", "details": None}}, 1003),
    "handler, details as object": (
        {"success": False, "error": {"code": 1000, "message": "m", "details": {"a": 1}}},
        1000,
    ),
    "gate": ({"error": "Unauthorized: invalid API key"}, None),
    "gate with a code": ({"error": "Workspace required", "code": "TENANT_REQUIRED"}, "TENANT_REQUIRED"),
    "duplicate": ({"success": False, "message": "m", "data": {"id": "x"}, "code": "duplicate_file"}, "duplicate_file"),
    "panic": ({"error": "Internal Server Error", "message": "runtime error"}, None),
    "preview": ({"success": False, "error": "text", "limit": 65536}, None),
    "no details": ({"error": {"code": 1007, "message": "Internal server error"}, "success": False}, 1007),
    "nothing known": ({"anything": 1}, None),
}


@pytest.mark.parametrize(("body", "code"), SHAPES.values(), ids=SHAPES)
def test_problem_of_reads_every_shape(body: dict[str, Any], code: int | str | None) -> None:
    problem = problem_of(answer(418, body))

    assert (problem.status, problem.code, problem.is_json) == (418, code, True)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"404 page not found", b"[1]", b'"x"', b"{half", b"[" * 100_000, b"\xff"]
)
def test_problem_of_reads_what_is_no_json_object(body: bytes) -> None:
    assert problem_of(answer(500, body)).is_json is False


PLAIN: dict[str, tuple[int, type[ProviderError]]] = {
    "proxy without server": (502, ProviderUnavailable),
    "busy proxy": (503, ProviderUnavailable),
    "slow proxy": (504, ProviderUnavailable),
    "odd proxy": (520, ProviderUnavailable),
    "too many": (429, ProviderUnavailable),
    "proxy refuses the size": (413, errors.TextTooLarge),
    "another site": (404, ProviderProtocolError),
    "moved": (302, ProviderProtocolError),
    "firewall": (403, ProviderProtocolError),
    "teapot": (418, ProviderProtocolError),
}


@pytest.mark.parametrize(("status", "kind"), PLAIN.values(), ids=PLAIN)
def test_error_of_pages_from_before_the_server(status: int, kind: type[ProviderError]) -> None:
    assert type(error_of(problem_of(answer(status, b"<html>no</html>")))) is kind


def test_error_of_an_error_wrapped_by_the_server_is_the_inner_one() -> None:
    """T37: what it wraps turns into a plain 500."""
    text = "error code: 1003, error message: knowledge base not found"
    wrapped = {"success": False, "error": {"code": 1007, "message": text}}

    assert isinstance(error_of(problem_of(answer(500, wrapped))), errors.NotThere)


def test_error_of_keeps_the_time_to_come_back() -> None:
    error = error_of(problem_of(answer(429, b"")), retry_after=7.0)

    assert (error.retry_after, error.retryable) == (7.0, True)
