"""From a serializer of a request body to the JSON Schema of a tool's arguments: one contract for both.

Only what the fields check is written down, so that what the schema lets pass the serializer lets pass too, except for
rules between fields.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

Schema = dict[str, Any]


def schema_of(serializer: type[serializers.Serializer[Any]]) -> Schema:
    """Return the schema of a body. Members it does not name are allowed and ignored."""
    return _object(serializer())


def _object(serializer: serializers.BaseSerializer[Any]) -> Schema:
    fields: dict[str, serializers.Field[Any, Any, Any, Any]] = serializer.fields  # type: ignore[attr-defined]
    schema: Schema = {"type": "object", "properties": {name: _described(field) for name, field in fields.items()}}
    required = [name for name, field in fields.items() if field.required]
    return schema | ({"required": required} if required else {})


def _described(field: serializers.Field[Any, Any, Any, Any]) -> Schema:
    schema = _typed(field)
    if field.allow_null:
        schema["type"] = [schema["type"], "null"]
    if field.help_text:
        schema["description"] = str(field.help_text)
    if field.default is not serializers.empty and not callable(field.default):
        schema["default"] = field.default
    return schema


def _typed(field: serializers.Field[Any, Any, Any, Any]) -> Schema:
    match field:
        case serializers.Serializer():
            return _object(field)
        case serializers.ListField():
            return {"type": "array", "items": _described(field.child), **_bounds(field, "Items", "length")}
        case serializers.ChoiceField():
            return {"type": "string", "enum": list(field.choices)}
        case serializers.BooleanField():
            return {"type": "boolean"}
        case serializers.IntegerField():
            return {"type": "integer", **_range(field)}
        case serializers.CharField():
            smallest = {} if field.allow_blank else {"minLength": 1}
            return {"type": "string", **smallest, **_bounds(field, "Length", "length")}
        case serializers.DateTimeField():
            return {"type": "string", "format": "date-time"}
    raise TypeError(f"no JSON Schema is known for {type(field).__name__}")


def _bounds(field: Any, suffix: str, name: str) -> Schema:
    limits = {f"min{suffix}": getattr(field, f"min_{name}", None), f"max{suffix}": getattr(field, f"max_{name}", None)}
    return {key: value for key, value in limits.items() if value is not None}


def _range(field: Any) -> Schema:
    limits = {"minimum": getattr(field, "min_value", None), "maximum": getattr(field, "max_value", None)}
    return {key: value for key, value in limits.items() if value is not None}
