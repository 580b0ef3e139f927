"""Reading request bodies."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from rest_framework import parsers
from rest_framework.exceptions import ParseError


class JSONParser(parsers.JSONParser):
    """JSON of at most DATA_UPLOAD_MAX_MEMORY_SIZE bytes: REST framework reads past Django's own limit. A body nested so
    deeply that it cannot be read is the caller's error, not ours."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        content = stream.read(limit + 1)
        if len(content) > limit:
            raise RequestDataTooBig
        try:
            return super().parse(BytesIO(content), media_type, parser_context)
        except RecursionError:
            raise ParseError from None
