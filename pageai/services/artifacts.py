"""Artifact references: what a conversation refers to and can be opened here. Never what was said in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from mnote.exceptions import Invalid
from pageai.models import ArtifactIndex, ArtifactKind, ArtifactProvider, OpenHubBinding

_MAX_BYTES = 8_000
#: Names under which conversations carry what was said; a reference holds none of them.
_MESSAGES = frozenset({"message", "messages", "text", "content", "body", "prompt", "answer"})


@transaction.atomic
def record(
    *,
    binding: OpenHubBinding,
    kind: ArtifactKind,
    provider: ArtifactProvider,
    provider_id: str,
    payload: Mapping[str, Any],
    opens: Mapping[str, Any] | None = None,
    host_run_id: str | None = None,
) -> ArtifactIndex:
    """Note an artifact of a conversation, once: noting it again brings the row up to date. `opens` is its
    open-reference payload, with `mnoteResourceId` where it is a page.

    Raises:
        Invalid: it is too large, or carries a message.
    """
    _check(payload)
    found, _is_new = ArtifactIndex.objects.update_or_create(
        binding=binding,
        kind=kind,
        provider=provider,
        provider_id=provider_id,
        defaults={
            "openhub_session_id": binding.openhub_session_id,
            "payload_json": dict(payload),
            "mnote_resource_id": (opens or {}).get("mnoteResourceId"),
            "open_reference_json": dict(opens) if opens else None,
            "host_run_id": host_run_id,
        },
    )
    return found


def _check(payload: Mapping[str, Any]) -> None:
    if _MESSAGES & {name.lower() for name in payload}:
        raise Invalid(errors={"payload": [{"message": "It carries a message.", "code": "message"}]})
    if len(json.dumps(payload).encode()) > _MAX_BYTES:
        raise Invalid(errors={"payload": [{"message": "It is too large.", "code": "too_large"}]})
