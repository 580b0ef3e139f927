"""The bounds on text."""

from __future__ import annotations

from knowledge.parsing.base import ParseCode, ParseError, ParseLimits

_MAX_BYTES_PER_CHAR = 4


def check_text_size(text: str, limits: ParseLimits) -> None:
    """Raises ParseError too_large for more characters than the limits allow."""
    if len(text) > limits.max_text_chars:
        raise ParseError(ParseCode.TOO_LARGE, f"the text has more than {limits.max_text_chars} characters")


def check_data_size(data: bytes, limits: ParseLimits) -> None:
    """Refuse bytes that cannot be text within the limits, before they are decoded.

    Raises ParseError too_large.
    """
    if len(data) > limits.max_text_chars * _MAX_BYTES_PER_CHAR:
        raise ParseError(ParseCode.TOO_LARGE, f"the text has more than {limits.max_text_chars} characters")
