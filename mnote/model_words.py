"""What people call our models and their fields, where pages are made from models (the admin): one table an app.

The words are given when the apps are loaded. They are no part of the models' own definitions, so that a better word
needs no migration.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.apps import AppConfig

#: Name of a model in lower case, and what one and several are called.
MODELS: Mapping[str, tuple[Promise, Promise]] = {
    "user": (_("person"), _("people")),
    "signinlink": (_("sign-in link"), _("sign-in links")),
    "preference": (_("preference"), _("preferences")),
    "workspace": (_("workspace"), _("workspaces")),
    "root": (_("root folder"), _("root folders")),
    "membership": (_("membership"), _("memberships")),
    "grant": (_("grant"), _("grants")),
    "auditentry": (_("audit entry"), _("audit entries")),
    "idempotencykey": (_("idempotency key"), _("idempotency keys")),
    "job": (_("job"), _("jobs")),
    "workerbeat": (_("worker"), _("workers")),
    "apitoken": (_("API token"), _("API tokens")),
    "upload": (_("upload"), _("uploads")),
}
#: Name of a field, and what it is called. Fields of one name mean the same thing everywhere.
FIELDS: Mapping[str, Promise] = {
    "access": _("access"),
    "action": _("action"),
    "actor": _("person"),
    "allow_web_import": _("may take files from the web"),
    "archived_at": _("archived at"),
    "at": _("at"),
    "attempt": _("attempt"),
    "body": _("body"),
    "cancel_requested_at": _("cancel requested at"),
    "created_at": _("created at"),
    "created_by": _("created by"),
    "dedup_key": _("key against doubles"),
    "device": _("device"),
    "display_name": _("shown name"),
    "error_code": _("error code"),
    "error_detail": _("error detail"),
    "expires_at": _("expires at"),
    "facts": _("facts"),
    "fingerprint": _("fingerprint"),
    "finished_at": _("finished at"),
    "group": _("group"),
    "id": _("id"),
    "inode": _("inode"),
    "kb_id": _("knowledge base"),
    "kb_ids": _("knowledge bases"),
    "key": _("key"),
    "key_hash": _("hash of the key"),
    "kind": _("kind"),
    "language": _("language"),
    "last_used_at": _("last used at"),
    "lease_expires_at": _("lease expires at"),
    "location": _("location"),
    "max_attempts": _("most attempts"),
    "name": _("name"),
    "outcome": _("outcome"),
    "path": _("path"),
    "payload": _("payload"),
    "prefix": _("prefix"),
    "prefix_key": _("prefix as bytes"),
    "progress": _("progress"),
    "queue": _("queue"),
    "quota_mb": _("quota in MB"),
    "request_id": _("request"),
    "requested_by": _("requested by"),
    "result": _("result"),
    "revoked_at": _("revoked at"),
    "role": _("role"),
    "root": _("root folder"),
    "root_uri": _("address of the root folder"),
    "run_at": _("run at"),
    "scopes": _("scopes"),
    "secret_hash": _("hash of the secret"),
    "seen_at": _("last seen at"),
    "settings_json": _("settings"),
    "sha256": _("SHA-256"),
    "size_bytes": _("size in bytes"),
    "started_at": _("started at"),
    "status": _("status"),
    "target": _("target"),
    "theme": _("colours"),
    "token_name": _("token"),
    "updated_at": _("updated at"),
    "uri_key": _("address as bytes"),
    "used_at": _("used at"),
    "user": _("person"),
    "value": _("value"),
    "worker": _("worker"),
    "workspace": _("workspace"),
}


def give_words(
    app: AppConfig, models: Mapping[str, tuple[Promise, Promise]], fields: Mapping[str, Promise] | None = None
) -> None:
    """Name the models of an app and their fields: by the words of the app, else by those that all share."""
    words = {**FIELDS, **(fields or {})}
    for model in app.get_models():
        options = model._meta  # noqa: SLF001 documented, in spite of its name
        name = options.model_name or ""
        if name in models:
            options.verbose_name, options.verbose_name_plural = models[name]  # type: ignore[assignment] # lazy texts do
        for field in options.local_fields:
            if field.name in words and not isinstance(field.verbose_name, Promise):
                field.verbose_name = words[field.name]  # type: ignore[assignment] # as above
