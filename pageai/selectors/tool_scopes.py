"""The tool scope of a caller, as it is at this moment."""

from __future__ import annotations

from dataclasses import replace

from knowledge.querysets import kbs_in
from mnote.models import Workspace
from mnote.principals import Principal
from mnote.selectors import access
from pageai.models import OpenHubBinding
from pageai.selectors.agent_settings import tools_for
from pageai.tool_scopes import Limits, ToolScope


def scope_of(principal: Principal, *, workspace: Workspace | None, limits: Limits) -> ToolScope:
    """Return the readable knowledge bases that are meant for tools, narrowed by `limits`, never widened."""
    workspaces = access.workspaces_for(principal)
    if workspace is not None:
        workspaces = workspaces.filter(pk=workspace.pk)
    ids = tuple(workspaces.values_list("pk", flat=True))
    kbs = kbs_in(principal, ids).filter(default_tool_enabled=True)
    if limits.kb_ids is not None:
        kbs = kbs.filter(id__in=limits.kb_ids)
    return ToolScope(
        user_id=principal.user.pk,
        workspace_ids=ids,
        kb_ids=tuple(kbs.order_by("id").values_list("id", flat=True)),
        source_ids=None if limits.source_ids is None else tuple(sorted(limits.source_ids)),
    )


def told_scope(principal: Principal, binding: OpenHubBinding) -> ToolScope:
    """Return the scope as agent and host are told it: with knowledge switched off there is nothing in it."""
    scope = scope_of(principal, workspace=binding.workspace, limits=limits_of(binding))
    return scope if tools_for(binding.user, binding) else replace(scope, kb_ids=(), source_ids=())


def limits_of(binding: OpenHubBinding) -> Limits:
    """Return what a binding narrows its tools to. What is no list of texts leaves nothing."""
    return Limits(
        kb_ids=_ids(binding.metadata_json.get("knowledgeBaseIds")),
        source_ids=_ids(binding.metadata_json.get("sourceIds")),
    )


def _ids(value: object) -> frozenset[str] | None:
    if value is None:
        return None
    return frozenset(each for each in value if isinstance(each, str)) if isinstance(value, list) else frozenset()
