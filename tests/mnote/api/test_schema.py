from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

CAMEL = re.compile(r"[a-z][a-zA-Z0-9]*")


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The published document; any warning while it is made is an error."""
    file = tmp_path_factory.mktemp("schema") / "openapi.json"
    call_command("spectacular", "--validate", "--fail-on-warn", "--format", "openapi-json", "--file", str(file))
    return json.loads(file.read_text())


def test_schema_names_every_property_in_camel_case(schema: dict[str, Any]) -> None:
    wrong = {
        f"{component}.{name}"
        for component, body in schema["components"]["schemas"].items()
        for name in body.get("properties", {})
        if not CAMEL.fullmatch(name)
    }

    assert wrong == set()


def test_schema_gives_every_operation_a_problem_and_a_way_in(schema: dict[str, Any]) -> None:
    operations = [
        operation
        for methods in schema["paths"].values()
        for method, operation in methods.items()
        if method in {"get", "post", "put", "patch", "delete"}
    ]

    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    assert operations
    assert all(operation["responses"]["default"]["content"] == problem for operation in operations)
    assert set(schema["components"]["securitySchemes"]) >= {"token", "session"}


def test_schema_is_published(db: None) -> None:
    response = Client().get("/api/openapi.json")

    assert response.status_code == 200
    assert "/api/workspaces" in response.json()["paths"]
