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


def talk(running: Served, name: str, *options: str, query: str = "treasure") -> tuple[list[str], Any]:
    command = ["manage.py", "mcp_stdio", "--user", name, *options]
    environment = os.environ | running.world.environment
    server = StdioServerParameters(command=sys.executable, args=command, env=environment, cwd=ROOT)

    async def ask() -> tuple[list[str], Any]:
        async with Client(stdio_client(server), mode="legacy") as client:
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
