"""The bound on derived text."""

from __future__ import annotations

from knowledge.parsing.base import ParseCode, ParseError, ParseLimits


def check_text_size(text: str, limits: ParseLimits) -> None:
    """Raises ParseError too_large for more characters than the limits allow."""
    if len(text) > limits.max_text_chars:
        raise ParseError(ParseCode.TOO_LARGE, f"the text has more than {limits.max_text_chars} characters")
