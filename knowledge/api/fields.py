"""Fields of JSON bodies that take exactly their own type: a number is no text, and "yes" is no flag.

Limits are part of the contract: what is longer is refused by name, never cut.
"""

from __future__ import annotations

import json
from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

MAX_PATH = 16_384
MAX_ITEMS = 1_000
MAX_QUERY = 10_000
MAX_QUOTE = 50_000
_MAX_DEPTH = 12


class Text(serializers.CharField):
    """Text. NUL and half characters are refused by the validators that it inherits."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class PathText(Text):
    """A path relative to a root, in its text form; "" is the root. White space belongs to names."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"max_length": MAX_PATH, "trim_whitespace": False, "allow_blank": True, **kwargs})


class Whole(serializers.IntegerField):
    """A whole number."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid")
        return super().to_internal_value(data)


class Flag(serializers.BooleanField):
    """True or false."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class Choice(serializers.ChoiceField):
    """One of some words. The refusal names them and does not repeat what was sent, which may be anything."""

    default_error_messages = {"invalid_choice": _("Choose one of: {choices}.")}

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str) or data not in self.choices:
            self.fail("invalid_choice", choices=", ".join(str(each) for each in self.choices))
        return super().to_internal_value(data)


class Texts(serializers.ListField):
    """A list of texts."""

    def __init__(self, *, item_length: int = MAX_PATH, **kwargs: Any) -> None:
        child = kwargs.pop("child", Text(max_length=item_length))
        super().__init__(**{"child": child, "max_length": MAX_ITEMS, "required": False, **kwargs})


class Range(serializers.ListField):
    """Two whole numbers from `minimum`, the first not after the second."""

    default_error_messages = {"order": _("Give two numbers, the smaller one first.")}

    def __init__(self, *, minimum: int, **kwargs: Any) -> None:
        child = Whole(min_value=minimum, max_value=2**31 - 1)
        super().__init__(**{"child": child, "min_length": 2, "max_length": 2, "required": False, **kwargs})

    def to_internal_value(self, data: Any) -> Any:
        values = super().to_internal_value(data)
        if values != sorted(values):
            self.fail("order")
        return values


@extend_schema_field({"type": "object", "additionalProperties": {}})
class JSONObject(serializers.Field):  # type: ignore[type-arg]
    """A JSON object of bounded size and depth that every database can hold."""

    default_error_messages = {
        "invalid": _("Give an object."),
        "too_large": _("At most {limit} characters."),
        "characters": _("It holds characters that cannot be kept, or is nested too deeply."),
    }

    def __init__(self, *, max_chars: int = 20_000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.max_chars = max_chars

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fail("invalid")
        if not _is_storable(data, _MAX_DEPTH):
            self.fail("characters")
        if len(json.dumps(data, ensure_ascii=False)) > self.max_chars:
            self.fail("too_large", limit=self.max_chars)
        return data

    def to_representation(self, value: Any) -> Any:
        return value


def _is_storable(value: Any, depth: int) -> bool:
    if isinstance(value, str):
        return "\0" not in value and not any("\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, dict | list):
        parts = [*value.keys(), *value.values()] if isinstance(value, dict) else value
        return depth > 0 and all(_is_storable(part, depth - 1) for part in parts)
    if isinstance(value, int):
        return abs(value) < 2**53
    return True
