"""The same server over standard input and output, as one fixed person."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.faults.worlds import ROOT
from tests.pageai.served import Served


def client_of(running: Served, name: str, *options: str, **environment: str) -> Client:
    command = ["manage.py", "mcp_stdio", "--user", name, *options]
    whole = os.environ | running.world.environment | environment
    server = StdioServerParameters(command=sys.executable, args=command, env=whole, cwd=ROOT)
    return Client(stdio_client(server), mode="legacy")


def talk(running: Served, name: str, *options: str, query: str = "treasure") -> tuple[list[str], Any]:
    async def ask() -> tuple[list[str], Any]:
        async with client_of(running, name, *options) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            return tools, await client.call_tool("mnote.weknora.search", {"query": query})

    return asyncio.run(ask())


def test_stdio_serves_one_person(running: Served) -> None:
    tools, answer = talk(running, "bob")

    folders = {each["sourcePath"].partition("/")[0] for each in answer.structured_content["results"]}
    assert tools[0] == "mnote.weknora.search"
    assert folders == {"bob", "shared"}
    assert json.loads(answer.content[0].text) == answer.structured_content


def test_stdio_is_limited_to_the_named_knowledge_bases(running: Served) -> None:
    answer = talk(running, "bob", "--kb", "kb_of_nobody")[1]

    assert answer.structured_content["results"] == []


def test_stdio_refuses_who_is_nobody(running: Served) -> None:
    command = [sys.executable, "manage.py", "mcp_stdio", "--user", "nobody"]
    environment = os.environ | running.world.environment
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "No active person has the name nobody." in done.stderr
    assert done.stdout == ""


def test_stdio_checks_and_writes_down_each_call_until_the_account_is_closed(running: Served) -> None:
    name = running.world.ask("newcomer")["name"]

    async def ask() -> tuple[list[str], list[str], list[str]]:
        async with client_of(running, name) as client:
            calls = [
                await client.call_tool("mnote.weknora.search", {"query": "treasure", "topK": 2}),
                await client.call_tool("mnote.weknora.search", {"query": "treasure", "topK": 0}),
                await client.call_tool("mnote.weknora.search", {"topK": 2}),
                await client.call_tool("mnote.evidence.search", {"query": "treasure"}),
            ]
            before = [tool.name for tool in (await client.list_tools()).tools]
            await asyncio.to_thread(running.world.ask, "deactivate", name)
            calls.append(await client.call_tool("mnote.weknora.search", {"query": "treasure"}))
            after = [tool.name for tool in (await client.list_tools()).tools]
            return [code_of(each) for each in calls], before, after

    codes, before, after = asyncio.run(ask())

    assert codes == ["", "invalid", "invalid", "unknown-tool", "not-authenticated"]
    assert (len(before), after) == (4, [])
    outcomes = [row["outcome"] for row in running.world.ask("tool_calls", name)]
    assert outcomes == ["succeeded", "invalid", "invalid", "unknown-tool"]


def test_stdio_ends_a_call_that_takes_too_long(running: Served) -> None:
    name = running.world.ask("newcomer")["name"]

    async def ask() -> list[str]:
        async with client_of(running, name, MNOTE_TOOL_SECONDS="0.01") as client:
            query = " ".join(f"treasure{number}" for number in range(600))
            return [code_of(await client.call_tool("mnote.weknora.search", {"query": query})) for _ in range(3)]

    codes = asyncio.run(ask())

    assert "tool-timeout" in codes
    outcomes = [row["outcome"] for row in running.world.ask("tool_calls", name)]
    assert outcomes.count("tool-timeout") == codes.count("tool-timeout")


def code_of(answer: Any) -> str:
    """The code of an error, "" for none."""
    return str(answer.structured_content.get("error", {}).get("code", "")) if answer.is_error else ""
