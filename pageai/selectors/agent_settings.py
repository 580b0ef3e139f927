"""A person's settings of agents, and which tools they leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from mnote.models import Preference, User
from pageai.agents import COMMON, DEFAULT_AGENT, TOKEN_AGENT, Agent, Field, agent_named, all_agents, common_fields
from pageai.models import OpenHubBinding
from pageai.tool_catalogue import DEFAULT_SETS, TOOLS, Tool, ToolSet


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """The stored values of one person; what cannot be used, or is not theirs to set, reads as the default."""

    stored: Mapping[str, Any]
    is_staff: bool

    def value(self, field: Field) -> str | bool:
        found: str | bool | None = self.stored.get(field.key)
        is_theirs = field.auth != "admin" or self.is_staff
        return found if found is not None and is_theirs and field.accepts(found) else field.default

    def is_on(self, key: str, fields: tuple[Field, ...]) -> bool:
        """Say whether the flag of this key is set."""
        return any(self.value(field) is True for field in fields if field.key == key)

    def common(self, name: str) -> str | bool:
        """Return one of the settings that all agents share."""
        return self.value(next(each for each in common_fields() if each.key == f"{COMMON}.{name}"))

    def tells(self, context_ref: str) -> bool:
        """Say whether agents are told this of what the person looks at."""
        return self.common(f"contextRefs.{context_ref}") is True

    @property
    def citation_display(self) -> str:
        return str(self.common("citationDisplay"))

    @property
    def default_agent(self) -> Agent:
        found = agent_named(str(self.common("defaultAgent"))) or agent_named(DEFAULT_AGENT)
        assert found is not None  # noqa: S101 built in
        return found

    def uses_knowledge(self, agent: Agent) -> bool:
        """Say whether the person lets this agent use knowledge bases."""
        return (
            agent.has_knowledge and self.common("knowledge") is True and self.is_on(agent.knowledge_key, agent.fields)
        )

    def tool_sets(self, agent: Agent, binding: OpenHubBinding | None = None) -> frozenset[ToolSet]:
        """Return the sets that this agent is served; a binding may add to those of its settings."""
        if not self.uses_knowledge(agent):
            return frozenset()
        chosen = {each for each in ToolSet if self.is_on(agent.tool_set_key(each), agent.fields)}
        named = binding.metadata_json.get("toolSets", ()) if binding else ()
        added = {each for each in ToolSet if isinstance(named, list) and each.value in named}
        return DEFAULT_SETS | chosen | added


def settings_of(user: User) -> AgentSettings:
    """Read a person's settings."""
    rows = Preference.objects.filter(user=user, key__startswith="ai.").values_list("key", "value")
    return AgentSettings(stored=dict(rows), is_staff=user.is_staff)


def objection(user: User, key: str, value: Any) -> str:
    """Return why a person may not give a setting of agents this value, "" when they may."""
    fields = (*common_fields(), *(field for agent in all_agents() for field in agent.fields))
    field = next((each for each in fields if each.key == key), None)
    if field is None or (field.auth == "admin" and not user.is_staff):
        return _("There is no such setting of agents.")
    if field.accepts(value):
        return ""
    if field.kind == "boolean":
        return _("This can be true or false.")
    return _("Choose one of: %(values)s.") % {"values": ", ".join(each.value for each in field.options)}


def agent_of(binding: OpenHubBinding | None) -> Agent | None:
    """Return the agent that a binding belongs to, else the one that token callers are taken for; None when its agent is
    no longer known."""
    return agent_named(str(binding.metadata_json.get("agentId", DEFAULT_AGENT)) if binding else TOKEN_AGENT)


def tools_for(user: User, binding: OpenHubBinding | None = None) -> tuple[Tool, ...]:
    """Return the tools of a caller: the one rule behind tools/list, tools/call, descriptors and generated files."""
    agent = agent_of(binding)
    return tools_of(settings_of(user), agent, binding) if agent else ()


def tools_of(settings: AgentSettings, agent: Agent, binding: OpenHubBinding | None = None) -> tuple[Tool, ...]:
    """The same for settings that were read already."""
    sets = settings.tool_sets(agent, binding)
    return tuple(tool for tool in TOOLS if tool.tool_set in sets)
