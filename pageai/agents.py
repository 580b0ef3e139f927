"""The agents that people can choose. The registry is data: a host adds further ones in a JSON file, see `load_file`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from pageai.tool_catalogue import KNOWLEDGE, OPTIONAL_SETS, ToolSet

COMMON = "ai.common"
DEFAULT_AGENT = "openhub"
#: What callers with an API token of their own, and `mcp_stdio`, are taken for.
TOKEN_AGENT = "opencode"  # noqa: S105 an agent's id
CONTEXT_REFS = ("current_page", "active_editor")
KINDS = ("select", "string", "boolean")

Text = str | Promise


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    value: str
    label: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One setting. `key` is the whole preference key. A field of `auth` "admin" is neither shown to others nor read
    from them; the value of a `secret` one is never given out."""

    key: str
    label: Text
    kind: str
    default: str | bool
    options: tuple[Option, ...] = ()
    options_source: str = ""
    auth: str = "user"
    secret: bool = False

    def accepts(self, value: object) -> bool:
        """Say whether a stored value can be used."""
        if self.kind == "boolean":
            return isinstance(value, bool)
        if not isinstance(value, str):
            return False
        return self.kind != "select" or not self.options or value in {option.value for option in self.options}


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """`capabilities` are those it could have; `needs` names the layer (of the health answer) it cannot run without."""

    agent_id: str
    display_name: Text
    provider: str
    capabilities: tuple[str, ...] = ()
    default_context_refs: tuple[str, ...] = ()
    can_write_files: bool = False
    acp_runtime: str | None = None
    needs: str = ""
    own_fields: tuple[Field, ...] = ()

    @property
    def scope(self) -> str:
        return f"ai.agent.{self.agent_id}"

    @property
    def has_knowledge(self) -> bool:
        return KNOWLEDGE in self.capabilities

    @property
    def knowledge_key(self) -> str:
        return f"{self.scope}.knowledge"

    def tool_set_key(self, tool_set: ToolSet) -> str:
        return f"{self.scope}.tools.{tool_set.value}"

    @property
    def fields(self) -> tuple[Field, ...]:
        if not self.has_knowledge:
            return self.own_fields
        switch = Field(key=self.knowledge_key, label=_("Use knowledge bases"), kind="boolean", default=True)
        sets = (
            Field(key=self.tool_set_key(each), label=_SET_LABELS[each], kind="boolean", default=False)
            for each in OPTIONAL_SETS
        )
        return (switch, *sets, *self.own_fields)


_SET_LABELS: dict[ToolSet, Text] = {
    ToolSet.EVIDENCE: _("Tools that read passages in place"),
    ToolSet.ANSWERS: _("Tools that answer questions"),
    ToolSet.INDEX: _("Tool that tells the state of the index"),
    ToolSet.SKILL: _("Tool that explains the tools"),
    ToolSet.DOCUMENTS: _("Document tools for older agents"),
}

_BUILT_IN = (
    Agent(
        agent_id="openhub",
        display_name="OpenHub",
        provider="openhub",
        capabilities=("file_read", "file_write", KNOWLEDGE, "native_patch"),
        default_context_refs=CONTEXT_REFS,
        can_write_files=True,
        needs="openhub_fastapi",
    ),
    Agent(
        agent_id="opencode",
        display_name="opencode",
        provider="opencode",
        capabilities=("file_read", "file_write", KNOWLEDGE, "native_patch"),
        default_context_refs=CONTEXT_REFS,
        can_write_files=True,
        needs="opencode",
    ),
    Agent(agent_id="chat_only", display_name=_("Chat without tools"), provider="chat_only", needs="chat_model"),
)


def all_agents() -> tuple[Agent, ...]:
    """Return the built-in agents and those of the host's file, in this order."""
    path = settings.MNOTE_AGENTS_FILE
    return (*_BUILT_IN, *(load_file(path) if path else ()))


def agent_named(agent_id: str) -> Agent | None:
    return next((agent for agent in all_agents() if agent.agent_id == agent_id), None)


def common_fields() -> tuple[Field, ...]:
    """Return the settings that every agent shares."""
    return (
        Field(
            key=f"{COMMON}.defaultAgent",
            label=_("Agent"),
            kind="select",
            default=DEFAULT_AGENT,
            options=tuple(Option(value=each.agent_id, label=each.display_name) for each in all_agents()),
        ),
        Field(key=f"{COMMON}.knowledge", label=_("Use knowledge bases"), kind="boolean", default=True),
        Field(key=f"{COMMON}.contextRefs.current_page", label=_("Tell the open page"), kind="boolean", default=True),
        Field(key=f"{COMMON}.contextRefs.active_editor", label=_("Tell the selection"), kind="boolean", default=True),
        Field(
            key=f"{COMMON}.citationDisplay",
            label=_("Citations"),
            kind="select",
            default="inline",
            options=(Option(value="inline", label=_("In the text")), Option(value="list", label=_("Below the answer"))),
        ),
    )


@lru_cache(maxsize=4)
def load_file(path: Path) -> tuple[Agent, ...]:
    """Read further agents: a JSON list of descriptors as the API gives them, with `agentId`, `displayName`, `provider`,
    `capabilities`, `defaultContextRefs`, `canWriteFiles`, `acpRuntime` and `fields`.

    Raises ValueError naming what is wrong.
    """
    listed = json.loads(path.read_text("utf-8"))
    taken = {agent.agent_id for agent in _BUILT_IN}
    agents = tuple(_agent(each) for each in listed)
    for agent in agents:
        if agent.agent_id in taken:
            raise ValueError(f"the agent {agent.agent_id} is there already")
        taken.add(agent.agent_id)
    return agents


def _agent(body: Mapping[str, Any]) -> Agent:
    agent_id = str(body["agentId"])
    if not agent_id.replace("_", "").replace("-", "").isalnum() or not agent_id.isascii():
        raise ValueError(f"{agent_id!r} is no id of an agent: letters, digits, - and _")
    return Agent(
        agent_id=agent_id,
        display_name=str(body.get("displayName", agent_id)),
        provider=str(body["provider"]),
        capabilities=tuple(body.get("capabilities", ())),
        default_context_refs=tuple(body.get("defaultContextRefs", ())),
        can_write_files=bool(body.get("canWriteFiles", False)),
        acp_runtime=body.get("acpRuntime"),
        needs=str(body.get("needs", "")),
        own_fields=tuple(_field(agent_id, each) for each in body.get("fields", ())),
    )


def _field(agent_id: str, body: Mapping[str, Any]) -> Field:
    key, kind = str(body["key"]), str(body["kind"])
    if not key.startswith(f"ai.agent.{agent_id}.") or kind not in KINDS:
        raise ValueError(f"the field {key} is not one of ai.agent.{agent_id}, or its kind is not {', '.join(KINDS)}")
    options = tuple(Option(value=str(each["value"]), label=str(each["label"])) for each in body.get("options", ()))
    return Field(
        key=key,
        label=str(body.get("label", key)),
        kind=kind,
        default=body["default"],
        options=options,
        options_source=str(body.get("optionsSource", "")),
        auth=str(body.get("auth", "user")),
        secret=bool(body.get("secret", False)),
    )
