"""Serializers whose fields are snake_case in code and camelCase on the wire, in and out and in the schema."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from mnote.names import camel_case


# A comment and no docstring: the schema would publish that as the description of every body without one.
# `validated_data` and sources keep the snake_case names; `validate_<snake_name>` methods are found.
class CamelSerializer(serializers.Serializer[Any]):
    def get_fields(self) -> dict[str, Any]:
        return {self._renamed(name, field): field for name, field in super().get_fields().items()}

    def _renamed(self, name: str, field: Any) -> str:
        camel = camel_case(name)
        if camel == name:
            return name
        if isinstance(field, serializers.SerializerMethodField):
            field.method_name = field.method_name or f"get_{name}"
        elif field.source is None:
            field.source = name
        if validate := getattr(self, f"validate_{name}", None):
            setattr(self, f"validate_{camel}", validate)
        return camel


# The same for model fields; for output only.
class CamelModelSerializer(CamelSerializer, serializers.ModelSerializer[Any]):
    pass


class ProblemMessageSerializer(CamelSerializer):
    message = serializers.CharField()
    code = serializers.CharField()


class ProblemSerializer(CamelSerializer):
    """An error, as RFC 9457 has it."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    code = serializers.CharField()
    request_id = serializers.CharField()
    errors = serializers.DictField(child=ProblemMessageSerializer(many=True), required=False)  # type: ignore[assignment]
