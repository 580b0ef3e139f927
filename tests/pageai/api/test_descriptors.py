from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mnote.models import Preference
from mnote.services import users
from tests.people import People

URL = "/api/page-ai/agents/descriptors"
SHAPE = {
    "schema", "agentId", "displayName", "provider", "capabilities", "disabledCapabilities", "capabilityStates",
    "defaultContextRefs", "settingScopes", "fields", "tools", "canWriteFiles", "acpRuntime",
}  # fmt: skip


def descriptors(people: People, name: str = "carol") -> dict[str, Any]:
    body: dict[str, Any] = people.client(name).get(URL).json()
    return body


def agent(body: dict[str, Any], agent_id: str) -> dict[str, Any]:
    return next(each for each in body["agents"] if each["agentId"] == agent_id)


def keep(people: People, values: dict[str, Any]) -> Any:
    return people.client("carol").put("/api/ui/preferences", {"values": values}, content_type="application/json")


def prefer(people: People, **values: Any) -> None:
    answer = keep(people, {name.replace("__", "."): value for name, value in values.items()})
    assert answer.status_code == 200, answer.content


@pytest.fixture
def hosts_agents(tmp_path: Path, settings: Any) -> None:
    secret = {"key": "ai.agent.hermes.apiKey", "kind": "string", "default": "none", "secret": True}
    admins = {"key": "ai.agent.hermes.route", "kind": "string", "default": "fast", "auth": "admin"}
    options = [{"value": "small", "label": "Small"}, {"value": "large", "label": "Large"}]
    model = {"key": "ai.agent.hermes.model", "kind": "select", "default": "small", "options": options}
    path = tmp_path / "agents.json"
    path.write_text(json.dumps([{"agentId": "hermes", "provider": "acp_hermes", "fields": [secret, admins, model]}]))
    settings.MNOTE_AGENTS_FILE = path


def test_there_are_three_agents(people: People) -> None:
    body = descriptors(people)

    assert (body["schema"], body["defaultAgent"]) == ("mnote.ai_agent_descriptors.v1", "openhub")
    assert [each["agentId"] for each in body["agents"]] == ["openhub", "opencode", "chat_only"]
    assert all(set(each) == SHAPE for each in body["agents"])
    assert {each["schema"] for each in body["agents"]} == {"mnote.ai_agent_descriptor.v1"}


def test_chat_only_has_no_tool_and_no_context(people: People) -> None:
    found = agent(descriptors(people), "chat_only")

    assert (found["tools"], found["defaultContextRefs"], found["canWriteFiles"]) == ([], [], False)
    assert found["capabilityStates"][0]["reason"] == "not_configured"


def test_a_setting_changes_the_descriptor_of_its_person_only(people: People) -> None:
    prefer(people, ai__agent__openhub__knowledge=False, ai__common__defaultAgent="opencode")

    mine, theirs = descriptors(people), descriptors(people, "bob")

    assert (mine["defaultAgent"], theirs["defaultAgent"]) == ("opencode", "openhub")
    assert agent(mine, "openhub")["disabledCapabilities"] == ["knowledge_rag"]
    assert "knowledge_rag" in agent(mine, "opencode")["capabilities"]
    assert agent(theirs, "openhub")["disabledCapabilities"] == []


def test_a_value_that_cannot_be_used_reads_as_the_default(people: People) -> None:
    stored = {"ai.common.defaultAgent": "nobody", "ai.agent.openhub.knowledge": "yes"}
    Preference.objects.bulk_create(Preference(user=people.carol, key=key, value=stored[key]) for key in stored)

    body = descriptors(people)

    assert body["defaultAgent"] == "openhub"
    assert agent(body, "openhub")["fields"][0]["value"] is True


@pytest.mark.usefixtures("hosts_agents")
def test_a_host_adds_agents_with_fields_of_their_own(people: People) -> None:
    prefer(people, ai__agent__hermes__apiKey="s3cret")
    response = people.client("carol").get(URL)

    found = agent(response.json(), "hermes")

    assert [field["key"] for field in found["fields"]] == ["ai.agent.hermes.apiKey", "ai.agent.hermes.model"]
    assert found["fields"][0]["value"] is None
    assert b"s3cret" not in response.content


@pytest.mark.usefixtures("hosts_agents")
def test_administrators_see_their_fields(people: People) -> None:
    people.carol.is_staff = True
    people.carol.save()
    prefer(people, ai__agent__hermes__route="slow")

    fields = {field["key"]: field["value"] for field in agent(descriptors(people), "hermes")["fields"]}

    expected = {"ai.agent.hermes.apiKey": None, "ai.agent.hermes.route": "slow", "ai.agent.hermes.model": "small"}
    assert fields == expected


@pytest.mark.usefixtures("hosts_agents")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ai.common.defaultAgent", "nobody"),
        ("ai.agent.nobody.knowledge", True),
        ("ai.agent.openhub.tools.nothing", True),
        ("ai.agent.openhub.tools.evidence", "yes"),
        ("ai.agent.chat_only.knowledge", True),
        ("ai.agent.hermes.model", "huge"),
        ("ai.agent.hermes.route", "slow"),
        ("ai.common.citationDisplay", ["inline"]),
        ("ai.unknown", 1),
    ],
)
def test_setting_that_no_agent_has_is_refused_and_named(people: People, key: str, value: Any) -> None:
    answer = keep(people, {"ai.common.knowledge": False, key: value})

    assert answer.status_code == 400
    assert list(answer.json()["errors"]) == [f"values.{key}"]
    assert not Preference.objects.exists()


def test_setting_of_an_agent_that_is_gone_can_be_removed(people: People) -> None:
    Preference.objects.create(user=people.carol, key="ai.agent.gone.knowledge", value=True)

    assert keep(people, {"ai.agent.gone.knowledge": None}).status_code == 200
    assert not Preference.objects.exists()


def test_settings_of_agents_are_read_anew(people: People) -> None:
    users.set_preferences(user=people.carol, values={"ai.agent.openhub.tools.evidence": True})

    enabled = {tool["name"] for tool in agent(descriptors(people), "openhub")["tools"] if tool["enabled"]}

    assert {"mnote.evidence.search", "mnote.weknora.search"} <= enabled
    assert "mnote.index.status" not in enabled
