"""Every kind of error leaves as the same document. The views that raise live here; the rest is the real stack."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation, ValidationError
from django.http import Http404
from django.test import Client
from django.urls import path
from rest_framework import exceptions as rest
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from mnote import exceptions, urls
from mnote.api.serializers import CamelSerializer

ERRORS: dict[str, Exception] = {
    "app": exceptions.Conflict("Somebody else was first.", run_id="run_1"),
    "limited": exceptions.RateLimited(retry_after=7),
    "signed out": exceptions.NotAuthenticated(),
    "missing": Http404("/srv/secret/path"),
    "denied": PermissionDenied("secret"),
    "invalid": ValidationError({"root_uri": ["No."]}),
    "invalid whole": ValidationError("No.", code="bad"),
    "too big": RequestDataTooBig(),
    "suspicious": SuspiciousOperation("/srv/secret/path"),
    "throttled": rest.Throttled(wait=3),
    "bug": ValueError("/srv/secret/path"),
    "database": RuntimeError("password=hunter2"),
}


class BodySerializer(CamelSerializer):
    root_uri = serializers.CharField(max_length=10)
    top_k = serializers.IntegerField(min_value=1)
    source_ids = serializers.ListField(child=serializers.CharField(max_length=5), required=False)
    scope = serializers.DictField(child=serializers.IntegerField(), required=False)

    def validate_root_uri(self, value: str) -> str:
        if value == "bad":
            raise serializers.ValidationError("Not this one.", code="unwanted")
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["top_k"] == 13:
            raise serializers.ValidationError("Unlucky.")
        return attrs


class RaisingView(APIView):
    permission_classes = [AllowAny]

    def get(self, request: Request, kind: str) -> Response:
        raise ERRORS[kind]

    def post(self, request: Request, kind: str) -> Response:
        body = BodySerializer(data=request.data)
        body.is_valid(raise_exception=True)
        return Response({"given": body.validated_data})


def page(request: object, kind: str) -> None:
    raise ERRORS[kind]


urlpatterns = [*urls.urlpatterns, path("api/test/<str:kind>", RaisingView.as_view()), path("page/<str:kind>", page)]
handler400, handler403, handler404, handler500 = urls.handler400, urls.handler403, urls.handler404, urls.handler500

pytestmark = [pytest.mark.urls("tests.mnote.api.test_problems"), pytest.mark.django_db]


@pytest.fixture
def browser() -> Client:
    return Client(raise_request_exception=False)


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("app", 409, "conflict"),
        ("limited", 429, "rate-limited"),
        ("signed out", 401, "not-authenticated"),
        ("missing", 404, "not-found"),
        ("denied", 403, "forbidden"),
        ("invalid", 400, "invalid"),
        ("too big", 413, "too-large"),
        ("suspicious", 400, "invalid"),
        ("throttled", 429, "rate-limited"),
        ("bug", 500, "internal"),
        ("database", 500, "internal"),
    ],
)
def test_problem_has_the_same_shape_for_every_error(browser: Client, kind: str, status: int, code: str) -> None:
    response = browser.get(f"/api/test/{kind}", headers={"X-Request-ID": "req_12345678"})

    body = response.json()
    assert response.status_code == body["status"] == status
    assert response.headers["Content-Type"] == "application/problem+json"
    assert (body["code"], body["type"], body["requestId"]) == (code, f"urn:mnote:problem:{code}", "req_12345678")
    assert body["title"]
    assert body["detail"]
    assert not any(word in response.text for word in ["secret", "hunter2", "Traceback", "ValueError"])


@pytest.mark.parametrize("kind", ["bug", "app", "missing", "denied"])
def test_problem_of_a_page_is_a_page(browser: Client, kind: str) -> None:
    status = {"bug": 500, "app": 409, "missing": 404, "denied": 403}[kind]

    response = browser.get(f"/page/{kind}")

    assert response.status_code == status
    assert response.headers["Content-Type"].startswith("text/html")
    assert "<html" in response.text
    assert "secret" not in response.text


def test_problem_of_a_fragment_is_no_whole_page(browser: Client) -> None:
    response = browser.get("/page/app", headers={"HX-Request": "true"})

    assert response.status_code == 409
    assert "<html" not in response.text
    assert "Somebody else was first." in response.text


@pytest.mark.parametrize("address", ["/api/nothing", "/api/", "/api/tokens/x", "/api/workspaces/"])
def test_unknown_api_address_is_a_problem(browser: Client, address: str) -> None:
    response = browser.get(address)

    assert response.status_code == 404
    assert response.json()["code"] == "not-found"


def test_unknown_page_is_a_page(browser: Client) -> None:
    response = browser.get("/nothing-here")

    assert response.status_code == 404
    assert "<html" in response.text


def test_problem_carries_the_extra_members_in_camel_case(browser: Client) -> None:
    assert browser.get("/api/test/app").json()["runId"] == "run_1"


@pytest.mark.parametrize(("kind", "seconds"), [("limited", "7"), ("throttled", "3")])
def test_problem_says_when_to_come_back(browser: Client, kind: str, seconds: str) -> None:
    response = browser.get(f"/api/test/{kind}")

    assert response.headers["Retry-After"] == seconds
    assert "retryAfter" not in response.json()


def test_problem_asks_for_a_token_when_nobody_is_signed_in(browser: Client) -> None:
    assert browser.get("/api/test/signed out").headers["WWW-Authenticate"].startswith("Bearer")


def test_problem_of_a_wrong_method_names_the_right_ones(browser: Client) -> None:
    response = browser.delete("/api/test/app")

    assert response.json()["code"] == "method-not-allowed"
    assert "GET" in response.headers["Allow"]


def test_problem_of_an_unknown_error_is_logged_with_its_traceback(
    browser: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        browser.get("/api/test/bug")

    (record,) = [each for each in caplog.records if each.name == "mnote.problems"]
    assert record.exc_info
    assert record.exc_info[0] is ValueError
    assert record.route == "api/test/<str:kind>"


WHOLE = "nonFieldErrors"


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, {"rootUri": "required", "topK": "required"}),
        ({"rootUri": "x", "topK": "many"}, {"topK": "invalid"}),
        ({"rootUri": ["x"], "topK": 1}, {"rootUri": "invalid"}),
        ({"rootUri": {"a": 1}, "topK": 1}, {"rootUri": "invalid"}),
        ({"rootUri": None, "topK": 0}, {"rootUri": "null", "topK": "min_value"}),
        ({"rootUri": "x" * 11, "topK": 1}, {"rootUri": "max_length"}),
        ({"rootUri": "a\0b", "topK": 1}, {"rootUri": "null_characters_not_allowed"}),
        ({"rootUri": "\ud800", "topK": 1}, {"rootUri": "surrogate_characters_not_allowed"}),
        ({"rootUri": "bad", "topK": 1}, {"rootUri": "unwanted"}),
        ({"root_uri": "x", "topK": 1}, {"rootUri": "required"}),
        ({"rootUri": "x", "topK": 13}, {WHOLE: "invalid"}),
        ({"rootUri": "x", "topK": 1, "sourceIds": "ab"}, {"sourceIds": "not_a_list"}),
        ({"rootUri": "x", "topK": 1, "sourceIds": ["ok", "too long"]}, {"sourceIds.1": "max_length"}),
        ({"rootUri": "x", "topK": 1, "scope": {"a_b": "c"}}, {"scope.a_b": "invalid"}),
        ([], {WHOLE: "invalid"}),
        ("text", {WHOLE: "invalid"}),
        (None, {WHOLE: "null"}),
    ],
)
def test_problem_names_each_field_that_is_wrong(browser: Client, body: Any, fields: dict[str, str]) -> None:
    response = browser.post("/api/test/x", json.dumps(body), content_type="application/json")

    assert response.status_code == 400
    found = response.json()["errors"]
    assert {name: message["code"] for name, (message, *_) in found.items()} == fields
    assert all(message["message"] for messages in found.values() for message in messages)


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        ("{", "application/json", 400),
        ("{'a': 1}", "application/json", 400),
        ('{"rootUri": NaN}', "application/json", 400),
        ("[" * 100_000, "application/json", 400),
        ("9" * 5_000, "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        ("a=1", "application/x-www-form-urlencoded", 415),
        ("<a/>", "application/xml", 415),
    ],
)
def test_problem_of_a_body_that_cannot_be_read(browser: Client, body: Any, content_type: str, status: int) -> None:
    response = browser.generic("POST", "/api/test/x", body, content_type=content_type)

    assert response.status_code == status
    assert response.headers["Content-Type"] == "application/problem+json"


def test_body_arrives_in_snake_case_in_code(browser: Client) -> None:
    body = {"rootUri": "x", "topK": 3, "sourceIds": ["a"], "scope": {"some_key": 1}}

    response = browser.post("/api/test/x", json.dumps(body), content_type="application/json")

    assert response.json()["given"] == {"root_uri": "x", "top_k": 3, "source_ids": ["a"], "scope": {"some_key": 1}}
