"""Checks answers against the published JSON Schemas, and that the schemas describe every field of an answer."""

from __future__ import annotations

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from knowledge.api.published import all_schemas


def assert_published(name: str, body: Any) -> None:
    """Fail unless `body` fits the schema `name` and holds nothing that the schema does not describe."""
    errors = [f"{error.json_path}: {error.message}" for error in _validator(name).iter_errors(body)]
    assert not errors, errors[:5]


@cache
def _validator(name: str) -> Draft202012Validator:
    closed = {key: _closed(schema) for key, schema in all_schemas().items()}
    resources = [(f"{key}.json", Resource.from_contents(schema)) for key, schema in closed.items()]
    return Draft202012Validator(closed[name], registry=Registry().with_resources(resources))


def _closed(value: Any) -> Any:
    """Forbid properties that are not listed, where properties are listed."""
    if isinstance(value, list):
        return [_closed(each) for each in value]
    if not isinstance(value, dict):
        return value
    closed = {key: _closed(each) for key, each in value.items()}
    if isinstance(value.get("properties"), dict) and value.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed
