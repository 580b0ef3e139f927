"""The embedded profile's secret key: made once, kept in the data folder, readable by its owner alone."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def load_or_create(data_dir: Path) -> str:
    """Return the key in `data_dir`/secret_key. Two processes starting at once agree on one key."""
    path = data_dir / "secret_key"
    data_dir.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        draft = data_dir / f".secret_key.{os.getpid()}"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(secrets.token_urlsafe(48))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text(encoding="ascii").strip()
