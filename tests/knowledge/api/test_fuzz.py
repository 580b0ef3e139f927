"""No JSON, query or path makes the API fail: every operation of the OpenAPI document is tried with what is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.http import HttpResponse
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.library import Library

pytestmark = pytest.mark.timeout(600)

NASTY: list[Any] = [
    None, True, -1, 1.5, 2**63, 10**400, "", "\0", "\ud800", "../..", "x" * 20_000, "9999-12-31T23:59:59Z", [], {},
    [None], [{"a": []}], ["x"] * 1001, "ev_00000000000000000000", "local-md:~",
]  # fmt: skip
#: For fields of objects in bodies, which the same code reads.
NASTY_INSIDE: list[Any] = [None, -1, 10**400, "\0", "\ud800", "../..", [None], {}]
QUERIES = [
    "",
    "-1",
    "9" * 400,
    "\0",
    "../..",
    "x" * 3000,
    "%00",
    "9999-12-31T23:59:59Z",
    "*?*",
    "kb_000000000000000000",
]
PATH_VALUES = ["x", "%00", "../..", "ä" * 50, "kb_000000000000000000", "0" * 500, "{{7*7}}"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@cache
def document() -> dict[str, Any]:
    schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return schema


def operations(part: str = "") -> list[tuple[str, str]]:
    """List method and path of all operations below `/api/<part>`, those that delete last."""
    return [
        (method, path)
        for method in ("get", "post", "put", "patch", "delete")
        for path, item in document()["paths"].items()
        if method in item and path.startswith(f"/api/{part}")
    ]


PARTS = sorted({path.split("/")[2] for _, path in operations()})


def address(library: Library, path: str, value: str | None = None) -> str:
    """Fill the parameters of a path: with something that exists, or with `value`."""
    known = {
        "kb_id": library.kb.id,
        "source_id": library.document("notes.txt").id,
        "source_set_id": library.source.id,
        "run_id": library.kb.sync_runs.latest("started_at").id,
        "name": "locator",
        "job_id": "job_000000000000000000",
        "token_id": "1",
    }
    for name, given_value in known.items():
        path = path.replace("{" + name + "}", quote(value, safe="") if value is not None else given_value)
    return path


def base_body(library: Library) -> dict[str, Any]:
    """Values that are right wherever a field of that name exists."""
    return {
        **library.scope, "query": "notice", "question": "notice", "name": "Fuzz", "path": "notes.txt",
        "knowledgeBaseId": library.kb.id, "paths": ["notes.txt"], "sourcePath": "notes.txt", "tags": ["a"],
        "scope": library.scope, "locator": {"rootUri": library.root.root_uri, "resourcePath": "notes.txt"},
        "description": "x", "scopes": ["knowledge:read"],
    }  # fmt: skip


def fields_of(method: str, path: str) -> list[str]:
    """Name the fields of a JSON body, and those of its objects as `outer.inner`."""
    content = document()["paths"][path][method].get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    return list(_properties(schema, depth=2))


def queries_of(method: str, path: str) -> list[str]:
    known = document()["paths"][path][method].get("parameters", [])
    return [each["name"] for each in known if each["in"] == "query"]


def _properties(schema: dict[str, Any], *, depth: int) -> Iterator[str]:
    if "$ref" in schema:
        schema = document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for name, inner in schema.get("properties", {}).items():
        yield name
        nested = inner.get("allOf", [inner])[0]
        if depth > 1:
            yield from (f"{name}.{each}" for each in _properties(nested, depth=depth - 1))


def with_value(body: dict[str, Any], field: str, value: Any) -> dict[str, Any]:
    outer, _, inner = field.partition(".")
    if not inner:
        return {**body, outer: value}
    known = body.get(outer)
    return {**body, outer: {**(known if isinstance(known, dict) else {}), inner: value}}


def check(answer: HttpResponse, what: Any) -> None:
    assert answer.status_code < 500 or answer.status_code == 503, (what, answer.content[:500])
    if answer.status_code >= 400:
        assert answer.headers["Content-Type"] == "application/problem+json", what
        assert answer.json()["code"], what


def call(client: Client, method: str, url: str, body: Any) -> HttpResponse:
    return client.generic(method.upper(), url, json.dumps(body).encode(), content_type="application/json")


@pytest.mark.parametrize("part", PARTS)
def test_api_survives_every_field(library: Library, part: str) -> None:
    client, body = library.people.client("alice"), base_body(library)

    for method, path in operations(f"{part}/"):
        for field in fields_of(method, path):
            for value in NASTY_INSIDE if "." in field else NASTY:
                url = address(library, path)
                check(call(client, method, url, with_value(body, field, value)), (path, field, value))


@pytest.mark.parametrize("part", PARTS)
def test_api_survives_every_path_and_query(library: Library, part: str) -> None:
    client = library.people.client("alice")

    for method, path in operations(part):
        for name in queries_of(method, path):
            for value in QUERIES:
                query = urlencode({**library.scope, "token": "x", "q": "x", name: value})
                check(call(client, method, f"{address(library, path)}?{query}", None), (path, name, value))
        for value in PATH_VALUES if "{" in path else ():
            check(call(client, method, address(library, path, value), None), (path, value))


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'"x"', b"[" * 100_000, b"\xff\xfe", b'{"a": NaN}', b'{"query": "\\ud800"}',
     b'{"a":' * 5_000 + b"1" + b"}" * 5_000, b'{"topK": ' + b"9" * 5_000 + b"}"],
    ids=["empty", "cut", "list", "null", "text", "deep list", "not UTF-8", "NaN", "half character", "deep", "huge"],
)  # fmt: skip
def test_api_survives_bodies_that_are_no_object(library: Library, body: bytes) -> None:
    client = library.people.client("alice")

    for method, path in operations():
        if method in ("post", "put", "patch"):
            answer = client.generic(method.upper(), address(library, path), body, content_type="application/json")
            check(answer, path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    operation=st.sampled_from(operations()),
    extra=st.dictionaries(st.text(max_size=12), JSON, max_size=4),
    data=st.data(),
)
def test_api_survives_anything(library: Library, operation: tuple[str, str], extra: Any, data: Any) -> None:
    method, path = operation
    fields = fields_of(method, path)
    chosen = data.draw(st.lists(st.sampled_from(fields), max_size=4, unique=True)) if fields else []
    body = {**base_body(library), **extra}
    for field in chosen:
        body = with_value(body, field, data.draw(JSON))

    check(call(library.people.client("alice"), method, address(library, path), body), (path, body))
