"""Typed readers for environment variables. A wrong value names the variable and what it may be."""

from __future__ import annotations

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off", ""}


def env_str(name: str, default: str = "") -> str:
    return os.environ.get(name, default)


def env_bool(name: str, *, default: bool = False) -> bool:
    raw = os.environ.get(name)
    if raw is None:
        return default
    if raw.lower() in _TRUE:
        return True
    if raw.lower() in _FALSE:
        return False
    raise ImproperlyConfigured(f"{name} must be true or false")


def env_int(name: str, default: int, *, minimum: int = 0) -> int:
    raw = os.environ.get(name)
    if not raw:
        return default
    try:
        value = int(raw)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number") from None
    if value < minimum:
        raise ImproperlyConfigured(f"{name} must be at least {minimum}")
    return value


def env_float(name: str, default: float, *, minimum: float = 0.0) -> float:
    raw = os.environ.get(name)
    if not raw:
        return default
    try:
        value = float(raw)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a number") from None
    if value < minimum:
        raise ImproperlyConfigured(f"{name} must be at least {minimum}")
    return value


def env_list(name: str, default: tuple[str, ...] = ()) -> list[str]:
    raw = os.environ.get(name)
    if raw is None:
        return list(default)
    return [item.strip() for item in raw.split(",") if item.strip()]


def env_path(name: str, default: Path) -> Path:
    return Path(os.environ.get(name) or default).expanduser().absolute()


def env_secret(name: str) -> str:
    """Read NAME, or the file named by NAME_FILE (container secrets). An unreadable file fails loudly."""
    file_name = os.environ.get(f"{name}_FILE")
    if not file_name:
        return os.environ.get(name, "")
    try:
        return Path(file_name).read_text(encoding="utf-8").strip()
    except OSError:
        raise ImproperlyConfigured(f"{name}_FILE cannot be read") from None


def env_secrets(prefix: str) -> dict[str, str]:
    """Read every PREFIXNAME and PREFIXNAME_FILE as `env_secret` does, and return the secrets by their NAME."""
    names = {name.removesuffix("_FILE") for name in os.environ if name.startswith(prefix)}
    return {name.removeprefix(prefix): env_secret(name) for name in sorted(names) if name != prefix}
