"""What people call the models of this app and their fields; see mnote/model_words.py."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

MODELS: Mapping[str, tuple[Promise, Promise]] = {
    "openhubbinding": (_("binding"), _("bindings")),
    "bindingtoken": (_("binding token"), _("binding tokens")),
    "artifactindex": (_("artifact reference"), _("artifact references")),
    "identitykey": (_("identity key"), _("identity keys")),
    "panelconnection": (_("panel connection"), _("panel connections")),
    "panelpolicy": (_("panel policy"), _("panel policies")),
    "panelidentity": (_("panel identity"), _("panel identities")),
    "panelturn": (_("turn"), _("turns")),
    "toolcall": (_("tool call"), _("tool calls")),
}
FIELDS: Mapping[str, Promise] = {
    "agent_id": _("agent"),
    "argument_hash": _("hash of the arguments"),
    "beat_at": _("last sign of life"),
    "binding": _("binding"),
    "closed_at": _("closed at"),
    "ended_at": _("ended at"),
    "host_run_id": _("run"),
    "is_enabled": _("on"),
    "key_hex": _("key"),
    "metadata_json": _("facts"),
    "milliseconds": _("milliseconds"),
    "mnote_resource_id": _("resource"),
    "models_json": _("models"),
    "open_reference_json": _("place"),
    "openhub_session_id": _("session of OpenHub"),
    "opencode_session_id": _("session of opencode"),
    "openhub_url": _("address of OpenHub"),
    "opencode_url": _("address of opencode"),
    "opencode_username": _("user of opencode"),
    "openhub_user_id": _("user id of OpenHub"),
    "openhub_user_key": _("user key of OpenHub"),
    "openhub_username": _("user of OpenHub"),
    "app_dir": _("folder of OpenHub's pages"),
    "owner": _("held by"),
    "page_absolute_path": _("path of the page"),
    "page_resource_id": _("page"),
    "payload_json": _("content"),
    "permitted_json": _("permitted"),
    "provider": _("provider"),
    "provider_id": _("id at the provider"),
    "provisioned_at": _("set up at"),
    "question_hash": _("hash of the question"),
    "result_bytes": _("bytes of the result"),
    "result_count": _("results"),
    "revision": _("revision"),
    "runtime_identity": _("runtime identity"),
    "scope_key": _("scope"),
    "sealed_jwt_secret": _("JWT secret"),
    "sealed_opencode_password": _("password of opencode"),
    "sealed_redis_url": _("address of OpenHub's Redis"),
    "selection": _("selection"),
    "source_ids": _("documents"),
    "told_hash": _("hash of what was told"),
    "tool": _("tool"),
    "workspace_id": _("workspace"),
}
