"""The settings of agents in the strip of the panel, drawn from the descriptors and from nothing else (spec 8.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from mnote.htmx import with_events
from mnote.services import users
from pageai.agents import COMMON
from pageai.models import OpenHubBinding
from pageai.selectors import descriptors
from pageai.selectors.agent_settings import agent_of
from pageai.selectors.descriptors import RUNTIME
from pageai.services import agent_choice, gatekeeping, opencodes
from pageai.views.aside_page import principal_of

_KNOWLEDGE = "knowledge_rag"
#: Stands in the form for every switch, since a browser does not send one that is off.
_IS_THERE = "shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """The settings of one scope: those of every agent, or one agent's; `hint` says what about it cannot be used."""

    title: str
    hint: str
    fields: list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """The agent of the conversation by name, what it knows, and the settings in tabs. `next_agent` is the chosen one
    when that is another: a conversation stays with whom it began."""

    agent: str
    next_agent: str
    knowledge: str
    tabs: list[Tab]


def strip_of(binding: OpenHubBinding) -> Strip:
    """Draw the strip of a conversation for its person."""
    user = binding.user
    told = descriptors.descriptors_of(user, set_up=opencodes.layers_set_up())
    by_id = {each["agentId"]: each for each in told["agents"]}
    chosen = by_id[agent_choice.chosen(user).agent_id]
    agent = agent_of(binding)
    own = by_id[agent.agent_id] if agent else chosen
    following = chosen["displayName"] if chosen != own else ""
    tabs = [Tab(title=_("Every agent"), hint="", fields=[_marked(each, by_id) for each in told["commonFields"]])]
    tabs += [_tab(each) for each in told["agents"] if each["fields"]]
    return Strip(agent=own["displayName"], next_agent=following, knowledge=_knowledge(own), tabs=tabs)


@login_required
@require_POST
def save(request: HttpRequest, binding_id: str) -> HttpResponse:
    """Keep what the person chose, and draw the strip anew."""
    visit = gatekeeping.enter(principal=principal_of(request), binding_id=binding_id)
    user = visit.principal.user
    users.set_preferences(user=user, values=dict(_changed(strip_of(visit.binding), request.POST)))
    before = agent_of(visit.binding)
    agent_choice.fit(visit.binding)
    response = render(request, "pageai/_settings.html", {"strip": strip_of(visit.binding), "binding": visit.binding})
    if agent_of(visit.binding) != before:  # another agent talks in another way
        response.headers["HX-Refresh"] = "true"
    return with_events(response, **{"kb:announce": {"text": _("Your settings were kept.")}})


def _marked(field: Mapping[str, Any], agents: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Say of each agent to choose from whether it can run here."""
    if field["key"] != f"{COMMON}.defaultAgent":
        return dict(field)
    return {**field, "options": [_option(each, agents[each["value"]]) for each in field["options"]]}


def _option(option: Mapping[str, str], agent: Mapping[str, Any]) -> dict[str, str]:
    if _runs(agent):
        return dict(option)
    return {**option, "label": _("%(agent)s (not set up here)") % {"agent": option["label"]}}


def _runs(agent: Mapping[str, Any]) -> bool:
    return all(each["state"] == "available" for each in agent["capabilityStates"] if each["capability"] == RUNTIME)


def _tab(agent: Mapping[str, Any]) -> Tab:
    hints = [each["sentence"] for each in agent["capabilityStates"] if each["sentence"]]
    return Tab(title=agent["displayName"], hint=" ".join(hints), fields=agent["fields"])


def _knowledge(agent: Mapping[str, Any]) -> str:
    """Say in words whether the agent may look into knowledge bases."""
    if _KNOWLEDGE in agent["disabledCapabilities"]:
        return _("knowledge bases switched off")
    if _KNOWLEDGE not in agent["capabilities"]:
        return _("no knowledge bases")
    count = sum(each["enabled"] for each in agent["tools"])
    return ngettext("knowledge bases with %(count)s tool", "knowledge bases with %(count)s tools", count) % {
        "count": count
    }


def _changed(strip: Strip, given: QueryDict) -> Iterator[tuple[str, Any]]:
    """Yield the settings of the form whose values are others than before. A secret left empty stays as it is."""
    for field in (field for tab in strip.tabs for field in tab.fields):
        key = field["key"]
        if field["kind"] == "boolean":
            if key in given.getlist(_IS_THERE) and (key in given) != field["value"]:
                yield key, key in given
        elif key in given and given[key] != field["value"] and not (field["secret"] and not given[key]):
            yield key, given[key]
