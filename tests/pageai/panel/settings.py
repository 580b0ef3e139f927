"""The settings of an installation whose OpenHub is the stub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.stubs.openhub import OpenHubStub


def connect(settings: Any, hub: OpenHubStub, app_dir: Path | None = None) -> None:
    settings.MNOTE_OPENHUB_URL = hub.url
    settings.MNOTE_OPENHUB_JWT_SECRET = hub.jwt_secret
    settings.MNOTE_OPENHUB_REDIS_URL = hub.redis.url
    settings.MNOTE_OPENHUB_APP_DIR = str(app_dir or "")
    settings.MNOTE_OPENCODE_URL = hub.opencode_url
    settings.MNOTE_OPENCODE_USERNAME = "opencode"
    settings.MNOTE_OPENCODE_PASSWORD = hub.opencode.password
    settings.MNOTE_OPENHUB_SILENCE_SECONDS = 5.0
