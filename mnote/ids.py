"""Public identifiers: a prefix that says what it names, then 18 characters that sort by time of making."""

from __future__ import annotations

import hashlib
import secrets
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(prefix: str) -> str:
    """Return e.g. "ws_01j9zk3w8m4t6q2r7v": 48 bits of milliseconds, then 42 random bits, in base 32."""
    number = (int(time.time() * 1000) & ((1 << 48) - 1)) << 42 | secrets.randbits(42)
    digits = []
    for _ in range(18):
        number, digit = divmod(number, 32)
        digits.append(_ALPHABET[digit])
    return f"{prefix}_{''.join(reversed(digits))}"


def workspace_id() -> str:
    return new_id("ws")


def job_id() -> str:
    return new_id("job")


def text_key(text: str) -> str:
    """Return 40 characters that stand for a text of any length in a unique constraint.

    Paths can be longer than a database index entry may be (2,700 bytes in PostgreSQL).
    """
    return hashlib.sha256(text.encode()).hexdigest()[:40]
