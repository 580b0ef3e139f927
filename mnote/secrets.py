"""Secrets that are shown once and then kept as a hash."""

from __future__ import annotations

import hashlib
import secrets


def new_secret(prefix: str = "") -> str:
    """Make 40 URL-safe characters (240 random bits) behind `prefix`."""
    return prefix + secrets.token_urlsafe(30)


def hash_of(secret: str) -> str:
    """Give what is stored. 240 random bits cannot be guessed, so a plain fast hash is enough.

    Rows are found by this hash, so no comparison ever takes longer for a better guess of the secret.
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
