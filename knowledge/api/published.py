"""The JSON Schemas that this API keeps, as files: served to callers, and the answers in the OpenAPI document."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from drf_spectacular.utils import OpenApiResponse

_FOLDER = Path(__file__).parent / "schemas"


@lru_cache(maxsize=1)
def all_schemas() -> dict[str, dict[str, Any]]:
    """Return every published schema by its name."""
    return {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(_FOLDER.glob("*.json"))}


def component_name(name: str) -> str:
    """Return the name of a schema in the OpenAPI document, e.g. "OpenReference" for "open-reference"."""
    return "".join(part.capitalize() for part in name.split("-"))


def link_to(name: str) -> dict[str, str]:
    """Return a reference to a published schema inside the OpenAPI document."""
    return {"$ref": f"#/components/schemas/{component_name(name)}"}


def published(name: str) -> OpenApiResponse:
    """Return the response of an operation whose body is a published schema."""
    return OpenApiResponse(response=link_to(name))


def one_of(*names: str) -> OpenApiResponse:
    """Return the response of an operation whose body is one of several published schemas."""
    return OpenApiResponse(response={"oneOf": [link_to(name) for name in names]})


def list_of(name: str) -> OpenApiResponse:
    """Return the response of an operation whose body is a list of a published schema."""
    return OpenApiResponse(response={"type": "array", "items": link_to(name)})


def add_components(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """drf-spectacular's post-processing hook: put the published schemas into the OpenAPI document."""
    components = result.setdefault("components", {}).setdefault("schemas", {})
    for name, schema in all_schemas().items():
        body = {key: value for key, value in schema.items() if key not in ("$schema", "$id")}
        components[component_name(name)] = _relinked(body)
    return result


def _relinked(value: Any) -> Any:
    """Turn references between files into references between components."""
    if isinstance(value, list):
        return [_relinked(each) for each in value]
    if not isinstance(value, dict):
        return value
    link = value.get("$ref")
    if isinstance(link, str) and link.endswith(".json"):
        return link_to(link.removesuffix(".json"))
    return {key: _relinked(each) for key, each in value.items()}
