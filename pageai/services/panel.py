"""Where OpenHub is, what a workspace lets it do, and its failures in words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from mnote.exceptions import AppError, Invalid
from mnote.models import Workspace
from mnote.principals import Principal
from mnote.sealing import Unsealable, seal, unseal
from mnote.services import audit
from pageai.exceptions import PanelConfused, PanelDown, PanelNotConfigured
from pageai.models import PanelConnection, PanelPolicy
from pageai.panel.connection import Connection
from pageai.panel.errors import PanelError, PanelUnavailable
from pageai.panel.openhub import Model

#: What is broken and what still works, by the key of the health answer.
_SENTENCES: dict[str, Promise] = {
    "openhub_fastapi": _("OpenHub does not answer. Reading, search and citations work as ever."),
    "openhub_redis": _("OpenHub's Redis does not answer, so nobody can be signed in there. Reading and search work."),
    "chat_model": _("The chat model does not answer. Reading, search and citations work as ever."),
    "opencode": _("opencode does not answer. Conversations can be read, but the assistant cannot work."),
}
_ONLY = 1
_SECRETS = ("jwt_secret", "redis_url", "opencode_password")


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the panel may do in a workspace. No models: every one that the operator connected."""

    is_enabled: bool = True
    models: tuple[Model, ...] = ()


def connection() -> Connection:
    """Return the OpenHub of this installation: that of the environment, else that of the admin.

    Raises:
        PanelNotConfigured.
    """
    if settings.MNOTE_OPENHUB_URL:
        return _of_settings()
    row = PanelConnection.objects.filter(pk=_ONLY).first()
    if row is None:
        raise PanelNotConfigured
    try:
        return _of_row(row)
    except Unsealable:
        raise PanelNotConfigured(_("The secrets of OpenHub were sealed with another key; enter them anew.")) from None


def is_configured() -> bool:
    try:
        connection()
    except PanelNotConfigured:
        return False
    return True


@transaction.atomic
def save_connection(*, by: Principal, facts: dict[str, str], secrets: dict[str, str]) -> PanelConnection:
    """Store where OpenHub is. A secret that is empty stays as it is.

    Raises:
        Invalid: a secret is missing and was never given.
    """
    row = PanelConnection.objects.filter(pk=_ONLY).first() or PanelConnection(pk=_ONLY)
    for name, value in facts.items():
        setattr(row, name, value.rstrip("/") if name.endswith("_url") else value)
    for name in _SECRETS:
        if given := secrets.get(name, ""):
            setattr(row, f"sealed_{name}", seal(given))
        elif not getattr(row, f"sealed_{name}"):
            raise Invalid(errors={name: [{"message": str(_("This field is required.")), "code": "required"}]})
    row.save()
    changed = sorted(name for name in _SECRETS if secrets.get(name))
    audit.record(principal=by, action="panel.connect", facts={"secrets": changed})
    return row


def policy_of(workspace: Workspace) -> Policy:
    """Return what the panel may do there."""
    row = PanelPolicy.objects.filter(workspace=workspace).first()
    if row is None:
        return Policy()
    return Policy(is_enabled=row.is_enabled, models=tuple(models_in(row.models_json)))


def models_in(listed: Any) -> list[Model]:
    """Read a stored list of models. Raises Invalid for what is none."""
    try:
        return [_model_in(each) for each in listed]
    except (TypeError, KeyError, ValueError):
        message = str(_("Give a list like [{“model”: “provider/model”, “monthlyLimit”: 0}]."))
        raise Invalid(errors={"models_json": [{"message": message, "code": "invalid"}]}) from None


def sentence_of(layer: str) -> str | Promise:
    """Say what is broken when a layer does not answer, and what still works."""
    return _SENTENCES.get(layer, "")


def as_app_error(error: PanelError) -> AppError:
    """Say what failed in a sentence: which layer, and what still works."""
    if isinstance(error, PanelUnavailable):
        return PanelDown(sentence_of(error.layer), layer=error.layer, retry_after=5)
    return PanelConfused(layer=error.layer)


def _model_in(given: dict[str, Any]) -> Model:
    provider, slash, name = str(given["model"]).partition("/")
    limit = int(given.get("monthlyLimit", 0))
    if not (provider and slash and name) or limit < 0:
        raise ValueError(name)
    return Model(provider_id=provider, model_id=name, monthly_limit=limit)


def _of_settings() -> Connection:
    return Connection(
        openhub_url=settings.MNOTE_OPENHUB_URL,
        opencode_url=settings.MNOTE_OPENCODE_URL,
        jwt_secret=settings.MNOTE_OPENHUB_JWT_SECRET,
        redis_url=settings.MNOTE_OPENHUB_REDIS_URL,
        opencode_username=settings.MNOTE_OPENCODE_USERNAME,
        opencode_password=settings.MNOTE_OPENCODE_PASSWORD,
        app_dir=_folder(settings.MNOTE_OPENHUB_APP_DIR),
        silence_seconds=settings.MNOTE_OPENHUB_SILENCE_SECONDS,
    )


def _of_row(row: PanelConnection) -> Connection:
    return Connection(
        openhub_url=row.openhub_url,
        opencode_url=row.opencode_url,
        jwt_secret=unseal(row.sealed_jwt_secret),
        redis_url=unseal(row.sealed_redis_url),
        opencode_username=row.opencode_username,
        opencode_password=unseal(row.sealed_opencode_password),
        app_dir=_folder(row.app_dir),
        silence_seconds=settings.MNOTE_OPENHUB_SILENCE_SECONDS,
    )


def _folder(path: str) -> Path | None:
    return Path(path).expanduser().absolute() if path else None
