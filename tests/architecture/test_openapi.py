"""The committed OpenAPI document is what the code says, and names every operation once."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.test import Client
from django.utils import translation

from tests.people import People

COMMITTED = Path(__file__).parents[2] / "docs" / "openapi.yaml"
PROMISED = {
    "list_kbs", "get_kb", "create_kb", "update_kb", "delete_kb", "list_source_sets", "add_source_set",
    "update_source_set", "delete_source_set", "list_sources", "get_source", "upload_or_link_source", "reparse_source",
    "cancel_source", "delete_source", "update_source_tags", "get_processing_status", "get_source_timeline",
    "list_source_chunks", "list_tags", "sync_kb", "list_sync_runs", "get_sync_run", "confirm_sync_run",
    "get_citation_open_reference",
}  # fmt: skip


@pytest.fixture(scope="module")
def generated() -> str:
    """The document as the code makes it now. Raises for every warning and for what is no OpenAPI."""
    out = io.StringIO()
    with translation.override("en"):  # a page that was asked for in Chinese leaves its language behind
        call_command("spectacular", "--validate", "--fail-on-warn", stdout=out)
    return out.getvalue()


@pytest.fixture(scope="module")
def operations(generated: str) -> list[dict[str, Any]]:
    methods = ("get", "post", "put", "patch", "delete")
    return [item[name] for item in yaml.safe_load(generated)["paths"].values() for name in methods if name in item]


def test_openapi_document_is_up_to_date(generated: str) -> None:
    """Make it again with: manage.py spectacular --validate --fail-on-warn --file docs/openapi.yaml"""
    assert COMMITTED.read_text("utf-8") == generated


def test_openapi_names_every_operation_once(operations: list[dict[str, Any]]) -> None:
    names = [operation["operationId"] for operation in operations]

    assert sorted(names) == sorted(set(names))
    assert set(names) >= PROMISED


def test_openapi_describes_every_operation(operations: list[dict[str, Any]]) -> None:
    assert [each["operationId"] for each in operations if not each.get("description")] == []


def test_openapi_resolves_every_reference(generated: str) -> None:
    document = yaml.safe_load(generated)

    missing = [link for link in _links(document) if link.rpartition("/")[2] not in document["components"]["schemas"]]
    assert missing == []


def test_openapi_names_no_path_of_a_server(generated: str) -> None:
    assert str(settings.BASE_DIR) not in generated
    assert "/home/" not in generated


def test_openapi_is_served_to_everybody(client: Client) -> None:
    answer = client.get("/api/schema")

    assert (answer.status_code, yaml.safe_load(answer.content)["openapi"]) == (200, "3.1.0")


def test_api_docs_keep_to_our_content_policy(people: People) -> None:
    answer = people.client("carol").get("/api/docs/")

    html = answer.content.decode()
    assert answer.status_code == 200
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    assert "<style" not in html
    assert html.count("<script") == html.count('<script src="/static/')
    assert "//cdn" not in html
    assert [name for name in _static_files(html) if finders.find(name) is None] == []


def _links(value: Any) -> list[str]:
    if isinstance(value, list):
        return [link for each in value for link in _links(each)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [link for each in value.values() for link in _links(each)]


def _static_files(html: str) -> list[str]:
    return re.findall(r'(?:src|href)="/static/([^"]+)"', html)
