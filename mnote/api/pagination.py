"""Lists in pages that stay put: each page starts after the last row of the one before, by key and not by number."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext as _
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from mnote.exceptions import Invalid


class KeysetPagination(BasePagination):
    """`?limit=&cursor=` → `{results, nextCursor}`; `nextCursor` is null on the last page.

    The order is the view's `ordering`: model fields that are never null, the last of them unique. Rows that come or go
    meanwhile neither repeat nor hide others. A page costs the same wherever it lies.
    """

    page_size = 50
    max_page_size = 200
    ordering: tuple[str, ...] = ("pk",)

    def __init__(self) -> None:
        self._next_cursor: str | None = None

    def paginate_queryset(
        self, queryset: QuerySet[Any] | Sequence[Any], request: Request, view: APIView | None = None
    ) -> list[Any]:
        """Read one page.

        Raises:
            Invalid: a limit that is no number from 1, or a cursor that this list did not give.
        """
        if not isinstance(queryset, QuerySet):
            raise TypeError("only rows of a table have keys")
        ordering = getattr(view, "ordering", None) or self.ordering
        limit = self._limit(request.query_params.get("limit"))
        cursor = request.query_params.get("cursor")
        after = _after(queryset.model, ordering, cursor) if cursor else Q()
        rows = list(queryset.filter(after).order_by(*ordering)[: limit + 1])
        self._next_cursor = _cursor_of(rows[limit - 1], ordering) if len(rows) > limit else None
        return rows[:limit]

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"results": data, "nextCursor": self._next_cursor})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        properties = {"results": schema, "nextCursor": {"type": "string", "nullable": True}}
        return {"type": "object", "required": list(properties), "properties": properties}

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:  # noqa: ARG002
        limit = {"type": "integer", "minimum": 1, "maximum": self.max_page_size, "default": self.page_size}
        return [
            {"name": "limit", "in": "query", "required": False, "schema": limit},
            {"name": "cursor", "in": "query", "required": False, "schema": {"type": "string"}},
        ]

    def _limit(self, given: str | None) -> int:
        if not given:
            return self.page_size
        if not (given.isascii() and given.isdigit() and len(given) < 7 and int(given)):
            raise _invalid("limit", _("Give a whole number from 1."))
        return min(int(given), self.max_page_size)


def _after(model: type[Model], ordering: tuple[str, ...], cursor: str) -> Q:
    """Rows after the cursor's: later in the first field, or equal there and later in the second, and so on."""
    found, equal = Q(), Q()
    for name, value in zip(ordering, _values_of(model, ordering, cursor), strict=True):
        field = name.removeprefix("-")
        later = Q(**{f"{field}__{'lt' if name.startswith('-') else 'gt'}": value})
        found |= equal & later
        equal &= Q(**{field: value})
    return found


def _values_of(model: type[Model], ordering: tuple[str, ...], cursor: str) -> list[Any]:
    problem = _invalid("cursor", _("This cursor is not one of this list."))
    try:
        raw = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        raise problem from None
    if not isinstance(raw, list) or len(raw) != len(ordering) or not all(_is_plain(value) for value in raw):
        raise problem
    try:
        return [_field(model, name).to_python(value) for name, value in zip(ordering, raw, strict=True)]
    except (ValidationError, ValueError, OverflowError):
        raise problem from None


def _is_plain(value: Any) -> bool:
    """A cursor holds text only; no text with NUL or half characters reaches the database."""
    return isinstance(value, str) and "\0" not in value and not any("\ud800" <= char <= "\udfff" for char in value)


def _cursor_of(row: Model, ordering: tuple[str, ...]) -> str:
    values = [_field(type(row), name).value_to_string(row) for name in ordering]
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


def _field(model: type[Model], name: str) -> Any:
    field_name = name.removeprefix("-")
    return model._meta.pk if field_name == "pk" else model._meta.get_field(field_name)  # noqa: SLF001 Django's public API


def _invalid(name: str, message: str) -> Invalid:
    return Invalid(errors={name: [{"message": message, "code": "invalid"}]})
