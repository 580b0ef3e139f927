"""From a prompt to a citation that opens, through a real opencode and the files that we generate for it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.faults.worlds import ROOT
from tests.pageai.opencode import Opencode, opencode
from tests.pageai.served import Served
from tests.stubs.chat_model import Body, ChatModel, Say, Use, chat_model, tool_names, tool_results

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]

_LINK = re.compile(r"\[([^\]]+)\]\((/w/[^)\s]+)\)")


def answer_with_a_citation(body: Body) -> Say | Use:
    """Do what the skill says: search, then say the quote with its citation, copied."""
    results = tool_results(body)
    if not results:
        [search] = [name for name in tool_names(body) if name.endswith("_mnote_weknora_search")]
        return Use(name=search, arguments={"query": "treasure stone 2"})
    first = json.loads(results[-1])["results"][0]
    quote = " ".join(first["quote"].replace("#", "").split())
    return Say(text=f"{quote} {first['citationMarkdown']}")


@pytest.fixture
def model() -> Iterator[ChatModel]:
    with chat_model(answer_with_a_citation) as running:
        yield running


@pytest.fixture
def agent(running: Served, model: ChatModel, tmp_path: Path) -> Iterator[Opencode]:
    """An opencode in alice's folder, set up by the files of one of her pages."""
    command = [sys.executable, "manage.py", "agent_files", "--user", "alice", "--workspace", running.facts.workspace]
    environment = os.environ | running.world.environment
    written = subprocess.run(
        [*command, "alice/treasure 0.md"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    with opencode(
        directory=running.folder,
        config_dir=Path(written.stdout.strip()),
        model_url=model.base_url,
        home=tmp_path / "home",
    ) as server:
        yield server


def test_a_prompt_ends_in_an_answer_whose_citation_opens(running: Served, agent: Opencode, model: ChatModel) -> None:
    [state] = agent.ask("GET", "/mcp").values()
    assert state == {"status": "connected"}

    said, parts = agent.prompt("Where does the treasure lie?", agent="mnote")

    [call] = [part for part in parts if part["type"] == "tool"]
    assert call["state"]["status"] == "completed", call
    [(label, url)] = _LINK.findall(said)
    assert "The treasure of alice lies under stone" in said
    assert label in json.loads(call["state"]["output"])["results"][0]["citationMarkdown"]
    opened = open_citation(running, url)
    assert (opened["locatorState"], opened["sourcePath"].startswith("alice/treasure")) == ("exact", True)
    assert opened["quote"].rstrip().endswith(".")
    assert_only_what_was_found(said, call["state"]["output"])
    assert_only_ours(model, agent)


def open_citation(running: Served, url: str) -> Any:
    """Open the address of a citation as its person does."""
    [token] = parse_qs(urlsplit(url).query)["cite"]
    secret = running.world.ask("api_token", "alice", ["knowledge:read"])
    request = urllib.request.Request(
        f"http://127.0.0.1:{running.port}/api/knowledge-rag/open-reference",
        data=json.dumps({"token": token}).encode(),
        headers={"Authorization": f"Bearer {secret}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=20) as response:
        return json.load(response)


def assert_only_what_was_found(said: str, output: str) -> None:
    """The final answer names no field, and no place that no result holds."""
    fields = set(re.findall(r'"([a-zA-Z]+)":', output)) - {"quote", "title", "score", "page", "place", "name"}
    assert not [name for name in fields if re.search(rf"\b{name}\b", re.sub(_LINK, "", said))]
    for label, url in _LINK.findall(said):
        assert f"[{label}]({url})" in json.dumps(json.loads(output), ensure_ascii=False)


def assert_only_ours(model: ChatModel, agent: Opencode) -> None:
    """The model is offered our tools and reading, nothing that runs or writes, and the skill is there."""
    offered = set(tool_names(model.asked[0]))
    assert {name.partition("_mnote_")[2] for name in offered if "_mnote_" in name} == {
        "weknora_search", "weknora_list_sources", "weknora_get_source_status", "weknora_open_reference",
    }  # fmt: skip
    assert not offered & {"bash", "webfetch", "write", "task", "edit"}
    assert "mnote-local-index" in json.dumps(model.asked[0]["messages"])
    assert "mnote-local-index" in {skill["name"] for skill in agent.ask("GET", "/skill")}
