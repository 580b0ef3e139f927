from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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


def prefer(people: People, **values: Any) -> None:
    body = {"values": {name.replace("__", "."): value for name, value in values.items()}}
    answer = people.client("carol").put("/api/ui/preferences", body, content_type="application/json")
    assert answer.status_code == 200, answer.content


@pytest.fixture
def hosts_agents(tmp_path: Path, settings: Any) -> None:
    secret = {"key": "ai.agent.hermes.apiKey", "kind": "string", "default": "none", "secret": True}
    admins = {"key": "ai.agent.hermes.route", "kind": "string", "default": "fast", "auth": "admin"}
    path = tmp_path / "agents.json"
    path.write_text(json.dumps([{"agentId": "hermes", "provider": "acp_hermes", "fields": [secret, admins]}]))
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
    prefer(people, ai__common__defaultAgent="nobody", ai__agent__openhub__knowledge="yes")

    body = descriptors(people)

    assert body["defaultAgent"] == "openhub"
    assert agent(body, "openhub")["fields"][0]["value"] is True


@pytest.mark.usefixtures("hosts_agents")
def test_a_host_adds_agents_with_fields_of_their_own(people: People) -> None:
    prefer(people, ai__agent__hermes__apiKey="s3cret", ai__agent__hermes__route="slow")
    response = people.client("carol").get(URL)

    found = agent(response.json(), "hermes")

    assert [field["key"] for field in found["fields"]] == ["ai.agent.hermes.apiKey"]
    assert found["fields"][0]["value"] is None
    assert b"s3cret" not in response.content


@pytest.mark.usefixtures("hosts_agents")
def test_administrators_see_their_fields(people: People) -> None:
    people.carol.is_staff = True
    people.carol.save()
    prefer(people, ai__agent__hermes__route="slow")

    fields = {field["key"]: field["value"] for field in agent(descriptors(people), "hermes")["fields"]}

    assert fields == {"ai.agent.hermes.apiKey": None, "ai.agent.hermes.route": "slow"}


def test_settings_of_agents_are_read_anew(people: People) -> None:
    users.set_preferences(user=people.carol, values={"ai.agent.openhub.tools.evidence": True})

    enabled = {tool["name"] for tool in agent(descriptors(people), "openhub")["tools"] if tool["enabled"]}

    assert {"mnote.evidence.search", "mnote.weknora.search"} <= enabled
    assert "mnote.index.status" not in enabled
