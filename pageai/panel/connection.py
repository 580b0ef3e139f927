"""Where OpenHub and opencode are, and the secrets by which they know us. None of it ever leaves the server."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One opencode. The password is left out of `repr`."""

    url: str
    password: str = field(repr=False)
    username: str = "opencode"

    @property
    def authorization(self) -> str:
        """The value of the header by which it knows us."""
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One OpenHub. `app_dir` holds its built pages (index.html and assets/); None when they are not installed.

    `opencode_url` is the opencode that OpenHub drives. A stream that gives no byte for `silence_seconds` is dead.
    Secrets are left out of `repr`.
    """

    openhub_url: str
    opencode_url: str
    jwt_secret: str = field(repr=False)
    redis_url: str = field(repr=False)
    opencode_password: str = field(repr=False)
    opencode_username: str = "opencode"
    app_dir: Path | None = None
    silence_seconds: float = 390.0

    @property
    def opencode(self) -> Endpoint:
        return Endpoint(url=self.opencode_url, username=self.opencode_username, password=self.opencode_password)
