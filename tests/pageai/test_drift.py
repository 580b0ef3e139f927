"""One contract everywhere: descriptor, tools/list, opencode's configuration, skill, and the HTTP bodies."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from mnote.services import users
from pageai.mcp import calls
from pageai.mcp.tools import HANDLERS
from pageai.models import OpenHubBinding
from pageai.results import told
from pageai.services import agent_files, binding_tokens, bindings, callers, pages
from pageai.services.callers import Caller
from pageai.services.provisioning import mcp_server_of
from pageai.skills import SKILL_NAMES, opencode_name
from pageai.tool_catalogue import BY_NAME, TOOLS
from tests.library import Library

SETS = ("evidence", "knowledge_rag", "index", "skill", "documents")
#: Tool, its HTTP call, arguments that fit both.
CALLS = [
    ("mnote.weknora.search", "/api/knowledge-rag/search", {"query": "thirty days notice", "topK": 3}),
    ("mnote.knowledge_rag.query", "/api/knowledge-rag/query", {"question": "When are invoices due?"}),
    ("mnote.weknora.open_reference", "/api/knowledge-rag/open-reference", {"sourcePath": "notes.txt"}),
    ("mnote.knowledge_rag.open_reference", "/api/knowledge-rag/open-reference", {"sourcePath": "notes.txt"}),
    ("docs_search", "/api/search/documents", {"query": "landlord", "includeOcr": False}),
    ("docs_read", "/api/search/documents", {"documentId": "local-md:notes.txt"}),
]
BODIES = {
    "mnote.weknora.search": "/api/knowledge-rag/search",
    "mnote.weknora.open_reference": "/api/knowledge-rag/open-reference",
    "mnote.knowledge_rag.query": "/api/knowledge-rag/query",
    "mnote.evidence.search": "/api/evidence/search",
    "mnote.evidence.read": "/api/evidence/read",
    "mnote.evidence.open": "/api/evidence/open",
    "docs_search": "/api/search/documents",
    "docs_read": "/api/search/documents",
}
#: Members that change from call to call.
_TIMED = ("milliseconds", "openReference", "citationUrl", "citationMarkdown", "openUrl", "openAction")


def binding_of(library: Library) -> OpenHubBinding:
    principal = library.people.principal("carol")
    page = pages.locate(principal=principal, root=library.root, path="notes.txt")
    return bindings.open_binding(principal=principal, page=page, metadata={"agentId": "opencode"}).binding


def caller_of(binding: OpenHubBinding) -> Caller:
    return callers.authenticate(binding_tokens.issue(binding=binding)[1])


@pytest.mark.parametrize("enabled", [(), ("evidence",), ("index", "skill"), SETS])
@pytest.mark.parametrize("is_on", [True, False])
def test_every_place_names_the_same_tools(library: Library, enabled: tuple[str, ...], is_on: bool) -> None:
    values: dict[str, Any] = {f"ai.agent.opencode.tools.{each}": True for each in enabled}
    users.set_preferences(user=library.people.carol, values={**values, "ai.agent.opencode.knowledge": is_on})
    binding = binding_of(library)
    server, files = mcp_server_of(binding), agent_files.files_of(binding)
    listed = {tool.name for tool in calls.list_tools(caller_of(binding))}
    http = library.people.client("carol")
    body = http.get("/api/page-ai/agents/descriptors").json()
    [agent] = [each for each in body["agents"] if each["agentId"] == "opencode"]
    opening = {**library.scope, "pagePath": "notes.txt", "agentId": "opencode"}
    opened = http.post("/api/page-ai/bootstrap", opening, content_type="application/json").json()

    described = {tool["name"] for tool in agent["tools"] if tool["enabled"]}
    allowed = {name for name in files.config["permission"] if name.startswith(server)}
    explained = set(re.findall(rf"\b{server}_\w+", files.skill))
    seen = {opencode_name(name, server) for name in listed}

    assert opened["binding"]["bindingId"] == binding.pk
    assert described == set(opened["context"]["tools"]) == listed
    assert allowed == explained == seen
    assert bool(listed) is is_on
    assert bool(files.config["mcp"]) is is_on
    assert (SKILL_NAMES[0] in files.agent) is is_on
    assert bool(files.skill) is is_on
    assert opened["weknoraToolScope"] == opened["context"]["toolScope"]
    assert opened["weknoraToolScope"]["knowledgeBaseIds"] == ([library.kb.pk] if is_on else [])
    assert ("knowledge_rag" in agent["disabledCapabilities"]) is not is_on


@pytest.mark.parametrize("is_on", [True, False])
@pytest.mark.parametrize("path", sorted(set(BODIES.values())))
def test_an_agents_key_opens_tools_and_never_the_http_calls_of_people(library: Library, path: str, is_on: bool) -> None:
    users.set_preferences(user=library.people.carol, values={"ai.agent.opencode.knowledge": is_on})
    body = {**library.scope, "query": "notice", "question": "notice", "sourcePath": "notes.txt"}
    body |= {"scope": library.scope, "locator": {"resourcePath": "notes.txt"}}
    client, person = library.people.client(None), library.people.client("carol")

    keys = (binding_tokens.issue(binding=binding_of(library))[1], library.people.token("carol", "mcp"))
    refused = [
        client.post(path, body, content_type="application/json", headers={"Authorization": f"Bearer {key}"})
        for key in keys
    ]

    assert [each.status_code for each in refused] == [401, 403]
    assert not any(b"thirty" in each.content for each in refused)
    # What a person asks on a page is their own affair: the switch is about agents.
    assert person.post(path, body, content_type="application/json").status_code == 200


@pytest.mark.parametrize("name", ["docs_search", "docs_read"])
def test_older_tools_go_with_knowledge(library: Library, name: str) -> None:
    binding = binding_of(library)
    caller = caller_of(binding)
    arguments = {"query": "landlord"} if name == "docs_search" else {"documentId": "local-md:notes.txt"}

    codes = []
    for values in ({}, {"ai.agent.opencode.tools.documents": True}, {"ai.common.knowledge": False}):
        users.set_preferences(user=library.people.carol, values=values)
        codes.append(calls.perform(caller, name, arguments).code)

    assert codes == ["unknown-tool", "succeeded", "unknown-tool"]


def test_every_tool_has_a_handler() -> None:
    assert set(HANDLERS) == set(BY_NAME)
    assert len(BY_NAME) == len(TOOLS)


def test_no_two_names_look_alike_to_a_client() -> None:
    shown = [opencode_name(tool.name, "kb_0123456789") for tool in TOOLS]

    assert len(set(shown)) == len(TOOLS)
    assert max(len(name) for name in shown) <= 64
    assert all(re.fullmatch(r"mnote(\.[a-z_]+){2}|docs_[a-z]+", tool.name) for tool in TOOLS)


@pytest.mark.parametrize(("tool", "path"), BODIES.items())
def test_arguments_are_the_http_bodies(tool: str, path: str) -> None:
    with open("docs/openapi.yaml", encoding="utf-8") as file:  # noqa: PTH123
        document = yaml.safe_load(file)
    reference = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    published = document["components"]["schemas"][reference.rpartition("/")[2]]
    own = BY_NAME[tool].input_schema

    assert set(own["properties"]) == set(published["properties"]) - {"debug"}
    assert set(own.get("required", ())) == set(published.get("required", ())) - {"workspaceId", "scope"}
    for name, schema in own["properties"].items():
        theirs = published["properties"][name]
        for rule in ("minimum", "maximum", "minLength", "maxLength", "maxItems", "default", "type"):
            if rule in theirs and rule in schema:
                assert schema[rule] == theirs[rule], (name, rule)


@pytest.mark.parametrize(("tool", "path", "arguments"), CALLS)
def test_a_tool_answers_what_http_answers(library: Library, tool: str, path: str, arguments: dict[str, Any]) -> None:
    sets = {f"ai.agent.opencode.tools.{each}": True for each in ("knowledge_rag", "documents")}
    users.set_preferences(user=library.people.carol, values=sets)
    body = {**library.scope, **arguments}
    over_http = library.people.client("carol").post(path, body, content_type="application/json").json()

    over_mcp = calls.perform(caller_of(binding_of(library)), tool, body).body

    assert _same(over_mcp) == _same(told(over_http))


def _same(value: Any) -> Any:
    if isinstance(value, list):
        return [_same(each) for each in value]
    if isinstance(value, dict):
        return {name: _same(each) for name, each in value.items() if name not in _TIMED}
    return value


def test_the_skill_never_names_what_a_model_cannot_call(library: Library) -> None:
    files = agent_files.files_of(binding_of(library))

    assert "mnote.weknora" not in files.skill + files.agent + json.dumps(files.config)
