"""The wire, with the official client and with plain requests, against a live server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

from tests.pageai.served import Seed, Served, serve

DEFAULTS = [
    "mnote.weknora.search",
    "mnote.weknora.list_sources",
    "mnote.weknora.get_source_status",
    "mnote.weknora.open_reference",
]
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def message(tool: str, arguments: Any, number: int = 1) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def search(served: Served, token: str, **headers: str) -> tuple[int, Any]:
    status, _, body = served.post(message("mnote.weknora.search", {"query": "treasure"}), token, **headers)
    return status, json.loads(body)


def found(answer: Any) -> set[str]:
    return {each["sourcePath"].partition("/")[0] for each in answer["result"]["structuredContent"]["results"]}


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_official_client_lists_and_calls(running: Served, mode: str) -> None:
    async def talk() -> tuple[list[str], Any]:
        async with running.client(running.facts.tokens["alice"], mode) as client:
            listed = await client.list_tools()
            answer = await client.call_tool("mnote.weknora.search", {"query": "treasure stone"})
            return [tool.name for tool in listed.tools], answer

    names, answer = asyncio.run(talk())

    assert names == DEFAULTS
    assert answer.is_error is False
    assert json.loads(answer.content[0].text) == answer.structured_content
    assert len(answer.content) == 1
    assert answer.structured_content["results"][0]["citationMarkdown"].startswith("[treasure")


def test_tools_are_read_only_and_promise_no_output_schema(running: Served) -> None:
    listed = json.loads(running.post(LIST, running.facts.tokens["alice"])[2])["result"]["tools"]

    assert all(tool["annotations"]["readOnlyHint"] and "outputSchema" not in tool for tool in listed)
    assert all(tool["inputSchema"]["type"] == "object" and tool["description"] for tool in listed)


def test_only_tools_are_offered(running: Served) -> None:
    async def capabilities() -> Any:
        async with running.client(running.facts.tokens["alice"], "legacy") as client:
            return client.server_capabilities

    offered = asyncio.run(capabilities()).model_dump(exclude_none=True)

    assert set(offered) <= {"tools", "experimental"}


def test_errors_are_tool_errors_with_a_code(running: Served) -> None:
    async def fail() -> Any:
        async with running.client(running.facts.tokens["alice"], "legacy") as client:
            return await client.call_tool("mnote.weknora.search", {"topK": 3})

    answer = asyncio.run(fail())

    assert answer.is_error is True
    assert json.loads(answer.content[0].text) == answer.structured_content
    assert answer.structured_content["error"]["code"] == "invalid"


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_post_is_answered(running: Served, method: str) -> None:
    token = running.facts.tokens["alice"]
    headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}

    status, answered, _ = running.send(method, b"", headers)

    assert (status, answered["allow"]) == (405, "POST")


def test_nothing_is_answered_without_a_token(running: Served) -> None:
    for token in ("", "mnt_wrong", "mnb_wrong"):
        status, headers, body = running.post(LIST, token)
        assert (status, headers["www-authenticate"]) == (401, 'Bearer realm="mnote"')
        assert json.loads(body)["code"] == "not-authenticated"


def test_a_session_cookie_counts_for_nothing(running: Served) -> None:
    assert running.post(LIST, Cookie="mnote_session=anything")[0] == 401


def test_an_api_token_needs_the_scope(running: Served) -> None:
    token = running.world.ask("api_token", "alice", ["knowledge:read", "pageai"])

    assert running.post(LIST, token)[0] == 403


def test_foreign_pages_are_refused_before_anything_is_looked_at(running: Served) -> None:
    token, before = running.facts.tokens["alice"], running.world.ask("count_tool_calls")
    own = f"http://127.0.0.1:{running.port}"

    assert search(running, token, Origin=own)[0] == 200
    assert running.post(LIST, token, Host="evil.example")[0] == 400
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", f"{own}.evil.example", "https://127.0.0.1"):
        assert running.post(LIST, token, Origin=origin)[0] == 403, origin
        assert running.post(LIST, "", Origin=origin)[0] == 403, origin
    assert running.post(LIST, token, Host="evil.example", Origin="http://evil.example")[0] == 400
    assert running.world.ask("count_tool_calls") == before + 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b'{"jsonrpc":"2.0","id":1}', 400),
        (b"\xff\xfe", 400),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","x":"' + b"x" * 1_100_000 + b'"}', 413),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","x":"' + b"x" * 6_000_000 + b'"}', 413),
        (b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}', 202),
        (b'{"jsonrpc":"2.0","id":1,"method":"resources/list"}', 200),
    ],
)
def test_what_is_no_request_is_refused_politely(running: Served, body: bytes, status: int) -> None:
    answered, _, text = running.post(body, running.facts.tokens["alice"])

    assert answered == status
    assert b"Traceback" not in text
    assert b"/tests/" not in text


def test_odd_arguments_are_answered(running: Served) -> None:
    token = running.facts.tokens["alice"]
    deep: Any = "x"
    for _ in range(60):
        deep = [deep]
    for arguments in (None, {}, {"query": "a\0b"}, {"query": "x" * 900_000}, {"query": deep}):
        status, _, body = running.post(message("mnote.weknora.search", arguments), token)
        answer = json.loads(body)["result"]
        assert (status, answer["isError"]) == (200, True), arguments
        assert answer["structuredContent"]["error"]["code"] == "invalid"
        assert len(body) < 5_000
    for arguments in ([1], {"query": "\ud800"}):
        status, _, body = running.post(message("mnote.weknora.search", arguments), token)
        assert status in {200, 400}
        assert "error" in json.loads(body)


def test_a_name_that_is_no_tool_is_unknown(running: Served) -> None:
    token = running.facts.tokens["alice"]
    names = ["mnote.evidence.search", "mnote_weknora_search", "../mnote.weknora.search", "", "x" * 5_000, "a\0b"]

    answers = {running.post(message(name, {"query": "treasure"}), token)[2] for name in names}

    assert len(answers) == 1
    assert json.loads(answers.pop())["result"]["structuredContent"]["error"]["code"] == "unknown-tool"


def test_each_sees_their_own(running: Served) -> None:
    tokens = running.facts.tokens

    assert found(search(running, tokens["alice"])[1]) == {"alice", "shared"}
    assert found(search(running, tokens["bob"])[1]) == {"bob", "shared"}
    refused = search(running, tokens["mallory"])[1]["result"]
    assert refused["structuredContent"]["error"]["code"] == "invalid"


def test_what_is_taken_away_counts_at_the_next_call(running: Served) -> None:
    world, person = running.world, running.world.ask("newcomer")
    bound = world.ask("bind", person["name"], "shared/rules of bob.md", {})
    secret = bound["secret"]
    assert found(search(running, secret)[1]) == {"alice", "bob", "shared"}

    world.ask("forbid", person["name"], "shared")
    assert found(search(running, secret)[1]) == {"alice", "bob"}

    world.ask("prefer", person["name"], {"ai.agent.openhub.knowledge": False})
    assert json.loads(running.post(LIST, secret)[2])["result"]["tools"] == []
    assert search(running, secret)[1]["result"]["structuredContent"]["error"]["code"] == "unknown-tool"

    world.ask("archive", bound["binding"])
    assert search(running, secret)[0] == 401


@pytest.mark.parametrize("end", ["revoke_binding", "expire_binding"])
def test_a_binding_token_that_ended_opens_nothing(running: Served, end: str) -> None:
    person = running.world.ask("newcomer")
    bound = running.world.ask("bind", person["name"], "shared/rules of bob.md", {})
    assert search(running, bound["secret"])[0] == 200

    running.world.ask(end, bound["binding"])

    assert search(running, bound["secret"])[0] == 401


@pytest.mark.parametrize("end", ["revoke_binding", "expire_binding", "archive", "deactivate"])
def test_a_session_of_the_client_ends_with_its_binding(running: Served, end: str) -> None:
    """Whatever ends a binding ends its agent in the middle of its session, and writes nothing more down for it."""
    name = running.world.ask("newcomer")["name"]
    bound = running.world.ask("bind", name, "shared/rules of bob.md", {})

    async def talk() -> None:
        async with running.client(bound["secret"], "legacy") as client:
            assert not (await client.call_tool("mnote.weknora.search", {"query": "treasure"})).is_error
            await asyncio.to_thread(running.world.ask, end, name if end == "deactivate" else bound["binding"])
            with pytest.raises(MCPError):
                await client.call_tool("mnote.weknora.search", {"query": "treasure"})
            with pytest.raises(MCPError):
                await client.list_tools()

    asyncio.run(talk())

    assert len(running.world.ask("tool_calls", name)) == 1


@pytest.mark.parametrize("end", ["revoke_tokens", "expire_tokens", "deactivate"])
def test_an_api_token_that_ended_opens_nothing(running: Served, end: str) -> None:
    person = running.world.ask("newcomer")

    async def talk() -> None:
        async with running.client(person["token"], "legacy") as client:
            assert not (await client.call_tool("mnote.weknora.search", {"query": "treasure"})).is_error
            await asyncio.to_thread(running.world.ask, end, person["name"])
            with pytest.raises(MCPError):
                await client.call_tool("mnote.weknora.search", {"query": "treasure"})

    asyncio.run(talk())


def test_the_run_of_the_host_is_written_down(running: Served) -> None:
    person = running.world.ask("newcomer")
    search(running, person["token"], X_MNote_Run="run_1")
    search(running, person["token"], X_MNote_Run="run 2")

    rows = running.world.ask("tool_calls", person["name"])
    assert [row["run"] for row in rows] == ["run_1", ""]
    assert rows[0]["kbs"] == [running.facts.kb]


def test_a_call_that_takes_too_long_is_answered_and_written_down(seed: Seed, tmp_path: Path) -> None:
    with serve(seed, tmp_path / "data", MNOTE_TOOL_SECONDS="0.01") as hurried:
        arguments = {"query": " ".join(f"treasure{number}" for number in range(600))}
        answers = [
            json.loads(hurried.post(message("mnote.weknora.search", arguments), hurried.facts.tokens["alice"])[2])
            for _ in range(3)
        ]
        codes = [each["result"]["structuredContent"].get("error", {}).get("code") for each in answers]
        rows = hurried.world.ask("tool_calls", "alice")

    assert "tool-timeout" in codes
    assert [row["outcome"] for row in rows].count("tool-timeout") == codes.count("tool-timeout")


def test_calls_go_on_after_a_restart_and_the_log_tells_no_secret(served: Served) -> None:
    async def talk() -> list[bool]:
        async with served.client(served.facts.tokens["alice"], "legacy") as client:
            first = await client.call_tool("mnote.weknora.search", {"query": "treasure"})
            await asyncio.to_thread(served.restart)
            second = await client.call_tool("mnote.weknora.search", {"query": "treasure"})
            return [first.is_error, second.is_error]

    assert asyncio.run(talk()) == [False, False]
    served.stop()
    assert '"route": "/mcp"' in served.output()
    assert "treasure" not in served.output()
    assert "mnt_" not in served.output()
