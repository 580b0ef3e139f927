"""Where OpenHub and its opencode are, and the secrets by which they know us. None of it ever leaves the server."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


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
    def opencode_auth(self) -> tuple[str, str]:
        return self.opencode_username, self.opencode_password
