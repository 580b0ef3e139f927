"""What a run worked on and with, frozen as two hashes: to tell later whether it is still the same. Rights are looked up
anew at every call all the same."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from knowledge.citations.owners import path_of
from knowledge.models import Document
from mnote.ids import text_key
from mnote.models import Access
from mnote.selectors import access
from pageai.selectors import agent_settings, tool_scopes
from pageai.services import turns
from pageai.services.gatekeeping import Visit


def target_of(visit: Visit) -> str:
    """Hash the page, its bytes as they are known, and what is selected on it."""
    binding = visit.binding
    path = _path(binding.page_resource_id)
    rows = Document.objects.filter(workspace=binding.workspace, root=visit.root, path_key=text_key(path))
    known = rows.exclude(source_hash="").order_by("id").values_list("source_hash", flat=True).first() or ""
    facts = {
        "page": binding.page_resource_id,
        "path": path,
        "sourceHash": known,
        "selection": turns.selection(binding=binding),
    }
    return _hash(facts)


def capability_of(visit: Visit) -> str:
    """Hash what the agent is told, may read and may call."""
    user, granted = visit.principal.user, access.access_map(visit.principal, visit.root)
    settings = agent_settings.settings_of(user)
    scope = tool_scopes.told_scope(visit.principal, visit.binding)
    rules = {path: way.value for path, way in granted.rules.items() if way != Access.NONE}
    facts = {
        "contextRefs": [ref for ref in ("current_page", "active_editor") if settings.tells(ref)],
        "allowedRoots": {visit.root.root_uri: {"": granted.default.value, **rules}},
        "tools": [tool.name for tool in agent_settings.tools_for(user, visit.binding)],
        "toolScope": scope.as_json(),
    }
    return _hash(facts)


def _path(resource_id: str) -> str:
    try:
        return path_of(resource_id)
    except ValueError:
        return ""


def _hash(facts: dict[str, Any]) -> str:
    canonical = json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()
