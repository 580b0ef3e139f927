"""Which agent a conversation is with. It is chosen when the conversation begins and stays: what was said is kept by
whoever it was said to."""

from __future__ import annotations

from mnote.models import User
from pageai.agents import Agent, agent_named
from pageai.models import OpenHubBinding
from pageai.selectors import agent_settings
from pageai.services import bindings, opencodes

#: Talk where there is no OpenHub.
_SPARES = ("opencode", "chat_only")


def chosen(user: User) -> Agent:
    """Return the agent of a person's next conversation: the one that they chose, else one that can run here."""
    wanted = agent_settings.settings_of(user).default_agent
    spares = (agent for name in _SPARES if (agent := agent_named(name)) and can_run(agent))
    return wanted if can_run(wanted) else next(spares, wanted)


def can_run(agent: Agent | None) -> bool:
    """Say whether what an agent runs on is set up here."""
    return agent is not None and (not agent.needs or agent.needs in opencodes.layers_set_up())


def fit(binding: OpenHubBinding) -> None:
    """Give a conversation in which nothing was asked yet to the agent that its person would choose now."""
    agent = chosen(binding.user)
    if not binding.openhub_session_id and agent_settings.agent_of(binding) != agent:
        bindings.set_agent(binding=binding, agent_id=agent.agent_id)
