"""What a host needs to show agents and their settings (spec 8.5): pages know no tool, field or value otherwise."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from mnote.models import User
from pageai.agents import COMMON, Agent, Field, all_agents, common_fields
from pageai.selectors.agent_settings import AgentSettings, settings_of, tools_of
from pageai.tool_catalogue import KNOWLEDGE, TOOLS

DESCRIPTORS_SCHEMA = "mnote.ai_agent_descriptors.v1"
DESCRIPTOR_SCHEMA = "mnote.ai_agent_descriptor.v1"
RUNTIME = "runtime"


def descriptors_of(user: User, *, set_up: frozenset[str]) -> dict[str, Any]:
    """Return the descriptors as this person sees them. `set_up` names the layers that are configured here."""
    settings = settings_of(user)
    return {
        "schema": DESCRIPTORS_SCHEMA,
        "defaultAgent": settings.default_agent.agent_id,
        "commonFields": _fields(settings, common_fields()),
        "agents": [_descriptor(settings, agent, set_up) for agent in all_agents()],
    }


def _descriptor(settings: AgentSettings, agent: Agent, set_up: frozenset[str]) -> dict[str, Any]:
    served = {tool.name for tool in tools_of(settings, agent)}
    states = _states(settings, agent, set_up)
    listed = TOOLS if agent.has_knowledge else ()
    return {
        "schema": DESCRIPTOR_SCHEMA,
        "agentId": agent.agent_id,
        "displayName": str(agent.display_name),
        "provider": agent.provider,
        "capabilities": [each["capability"] for each in states if each["state"] == "available" and not _is_run(each)],
        "disabledCapabilities": [each["capability"] for each in states if each["state"] == "disabled"],
        "capabilityStates": states,
        "defaultContextRefs": list(agent.default_context_refs),
        "settingScopes": [COMMON, agent.scope],
        "fields": _fields(settings, agent.fields),
        "tools": [{"name": tool.name, "capabilityIds": [KNOWLEDGE], "enabled": tool.name in served} for tool in listed],
        "canWriteFiles": agent.can_write_files,
        "acpRuntime": agent.acp_runtime,
    }


def _states(settings: AgentSettings, agent: Agent, set_up: frozenset[str]) -> list[dict[str, str]]:
    """Say of each capability whether it can be used, and why not; `runtime` is the agent's being there at all."""
    is_there = not agent.needs or agent.needs in set_up
    states = [_state(RUNTIME, "available" if is_there else "unavailable", "" if is_there else "not_configured")]
    for capability in agent.capabilities:
        is_off = capability == KNOWLEDGE and not settings.uses_knowledge(agent)
        states.append(_state(capability, "disabled" if is_off else "available", "switched_off" if is_off else ""))
    return states


def _state(capability: str, state: str, reason: str) -> dict[str, str]:
    sentences = {
        "not_configured": _("What it runs on is not set up here."),
        "switched_off": _("Switched off in your settings."),
    }
    return {"capability": capability, "state": state, "reason": reason, "sentence": sentences.get(reason, "")}


def _is_run(state: dict[str, str]) -> bool:
    return state["capability"] == RUNTIME


def _fields(settings: AgentSettings, fields: tuple[Field, ...]) -> list[dict[str, Any]]:
    shown = [field for field in fields if field.auth != "admin" or settings.is_staff]
    return [
        {
            "key": field.key,
            "label": str(field.label),
            "kind": field.kind,
            "default": None if field.secret else field.default,
            "value": None if field.secret else settings.value(field),
            "options": [{"value": option.value, "label": str(option.label)} for option in field.options],
            "optionsSource": field.options_source or None,
            "auth": field.auth,
            "secret": field.secret,
        }
        for field in shown
    ]
