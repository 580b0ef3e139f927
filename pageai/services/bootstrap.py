"""What a host gets when the panel opens on a page (spec 8.3): identities, scopes, context, health. No body of the page,
no cookie, no token, no absolute path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.urls import get_script_prefix
from django.utils.translation import gettext as _

from knowledge.citations.owners import owner_document_id
from mnote.models import Access
from mnote.principals import Principal
from mnote.selectors import access
from pageai.models import OpenHubBinding
from pageai.selectors import agent_settings, tool_scopes
from pageai.services import agent_choice, bindings, health, identities, panel
from pageai.services.pages import Page
from pageai.tool_scopes import ToolScope

SCHEMA = "mnote.page_ai_bootstrap.v1"
MAX_SELECTION = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A page as its host shows it. `selection` is what the person marked, never the page."""

    page: Page
    title: str = ""
    selection: str = ""
    agent_id: str = ""


def bootstrap(*, principal: Principal, opening: Opening) -> dict[str, Any]:
    """Open or resume the binding of a page and say everything that the panel's host needs."""
    page = opening.page
    chosen = opening.agent_id or agent_choice.chosen(principal.user).agent_id
    opened = bindings.open_binding(principal=principal, page=page, metadata={"agentId": chosen})
    scope = tool_scopes.told_scope(principal, opened.binding)
    derived = identities.identities_of(user=principal.user, root=page.root, page_resource_id=page.resource_id)
    return {
        "schema": SCHEMA,
        "mnoteUserId": derived.mnote_user_id,
        "workspaceId": derived.workspace_id,
        "rootUri": derived.root_uri,
        "openhubUserKey": derived.openhub_user_key,
        "openhubWorkspaceKey": derived.openhub_workspace_key,
        "openhubSessionScope": derived.openhub_session_scope,
        "opencodeSessionScope": derived.opencode_session_scope,
        "runtimeIdentity": derived.runtime_identity,
        "skillScope": derived.skill_scope,
        "toolPermissionScope": derived.tool_permission_scope,
        "weknoraToolScope": scope.as_json(),
        "panelUrl": _panel_url(opened.binding),
        "binding": _binding(opened),
        "context": _context(principal, opening, opened.binding, scope),
        "health": health.look(principal),
    }


def _panel_url(binding: OpenHubBinding) -> str | None:
    if not panel.is_configured():
        return None
    return f"{get_script_prefix()}pageai/openhub/{binding.pk}/"


def _binding(opened: bindings.Opened) -> dict[str, Any]:
    binding = opened.binding
    return {
        "bindingId": binding.pk,
        "status": binding.status,
        "isResumed": opened.is_resumed,
        "openhubSessionId": binding.openhub_session_id or None,
        "opencodeSessionId": binding.opencode_session_id,
        "agentId": binding.metadata_json.get("agentId"),
    }


def _context(principal: Principal, opening: Opening, binding: OpenHubBinding, scope: ToolScope) -> dict[str, Any]:
    page, settings = opening.page, agent_settings.settings_of(principal.user)
    workspace, granted = page.root.workspace, access.access_map(principal, page.root)
    rules = sorted(granted.rules.items())
    readable = ([""] if granted.default != Access.NONE else []) + [path for path, way in rules if way != Access.NONE]
    return {
        "displayName": principal.user.shown_name,
        "workspace": {"id": workspace.pk, "name": workspace.name},
        "root": {"uri": page.root.root_uri, "key": page.root.key, "name": page.root.name},
        "page": {
            "title": opening.title or page.path.rpartition("/")[2],
            "path": page.path,
            "resourceId": page.resource_id,
            "ownerDocumentId": owner_document_id(page.path),
        },
        "selection": opening.selection,
        "allowedRoots": list(dict.fromkeys(readable)),
        "closedPaths": [path for path, way in rules if way == Access.NONE],
        "writablePaths": [path for path, way in rules if way == Access.WRITE],
        "toolScope": scope.as_json(),
        "tools": [tool.name for tool in agent_settings.tools_for(principal.user, binding)],
        "contextRefs": [ref for ref in ("current_page", "active_editor") if settings.tells(ref)],
        "citationPolicy": {
            "display": settings.citation_display,
            "rule": _("Every key statement carries its citation; a place that is not exact is said to be so."),
        },
        "bridge": {
            "global": "__mnoteDocumentPaneRuntime",
            "calls": ["openResourceInActiveTab", "refreshPrimaryDocument"],
        },
    }
