"""OpenHub's tokens, made by us: a signed claim, and the key in OpenHub's Redis without which it counts for nothing.

The browser never sees one. They are short-lived; deleting the key ends a token at once.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

import redis

from pageai.panel.connection import Connection
from pageai.panel.errors import PanelUnavailable

LASTS = timedelta(minutes=10)
_SECONDS_TO_CONNECT, _SECONDS_TO_ANSWER = 2.0, 5.0

T = TypeVar("T")


def sign(*, secret: str, user_id: int, username: str, is_admin: bool, expires: datetime) -> str:
    """Return a JWT (HS256) with the claims that OpenHub reads. It trusts them: no table is looked at.

    The `jti`, which OpenHub does not read, makes each token another one: two of the same second would share their key
    in Redis, and the first to be dropped would end the other.
    """
    claims: dict[str, object] = {"sub": username, "id": user_id, "is_admin": is_admin, "exp": int(expires.timestamp())}
    claims["jti"] = secrets.token_urlsafe(12)
    head = f"{_packed({'alg': 'HS256', 'typ': 'JWT'})}.{_packed(claims)}"
    signature = hmac.new(secret.encode(), head.encode(), hashlib.sha256).digest()
    return f"{head}.{_text(signature)}"


class TokenStore:
    """The token keys in OpenHub's Redis. One connection per call, so that nothing of it outlives a fork or a loop."""

    def __init__(self, connection: Connection) -> None:
        self._url = connection.redis_url

    def put(self, token: str, *, username: str, now: datetime) -> None:
        """Let a token count until it expires. Raises PanelUnavailable."""
        value = json.dumps({"username": username, "created_at": now.isoformat()})
        self._ask(lambda client: client.set(f"token:{token}", value, ex=int(LASTS.total_seconds())))

    def drop(self, token: str) -> None:
        """End a token. Raises PanelUnavailable."""
        self._ask(lambda client: client.delete(f"token:{token}"))

    def shares(self, url: str) -> bool:
        """Say whether `url` is the very database of the very server that OpenHub uses, by whatever name. OpenHub's
        keys have no prefix of their own. Raises PanelUnavailable."""
        if _database(self._url) != _database(url):
            return False
        return _server(self._url) == _server(url) or self._ask(_run_id) == self._ask(_run_id, url)

    def _ask(self, call: Callable[[redis.Redis], T], url: str = "") -> T:
        try:
            client = redis.Redis.from_url(
                url or self._url,
                protocol=2,
                socket_connect_timeout=_SECONDS_TO_CONNECT,
                socket_timeout=_SECONDS_TO_ANSWER,
                decode_responses=True,
            )
            with client:
                return call(client)
        except (redis.RedisError, OSError, ValueError):
            # The original error may name the address.
            raise PanelUnavailable(layer="openhub_redis") from None


def _server(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "localhost", parts.port or 6379


def _database(url: str) -> int:
    """Read the number of the database, which stands in the query or in the path."""
    parts = urlsplit(url)
    number = parse_qs(parts.query).get("db", [""])[0] or parts.path.strip("/")
    return int(number) if number.isdigit() else 0


def _run_id(client: redis.Redis) -> str:
    """Return the name that a server gives itself at its start."""
    return str(client.info("server")["run_id"])


def _packed(value: object) -> str:
    return _text(json.dumps(value, separators=(",", ":")).encode())


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
