"""An installation that starts opencode itself: web server, agent host, scripted model, and ways to act as a person."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.engines import free_port
from tests.faults import worlds
from tests.faults.worlds import Driver, Process, wait_until
from tests.pageai import served
from tests.pageai.opencode import _program
from tests.pageai.served import Agents, Facts, Served
from tests.stubs.chat_model import Body, ChatModel, Say, Use, chat_model, text_of, tool_names

#: A slow machine with two cores, busy with other tests.
PATIENCE = 180.0
_MARK = "PLAN "


class _Agents(Agents):
    __slots__ = ()

    def driver(self) -> Driver:
        command = [sys.executable, "-m", "tests.pageai.agent_driver"]
        popen = self._open(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.stack.callback(worlds._close_driver, popen)
        return Driver(popen=popen)


@dataclass(slots=True, kw_only=True)
class Hosting:
    """What runs. `root` is the folder of documents."""

    served: Served
    model: ChatModel
    root: Path
    data: Path
    hosts: list[Process] = field(default_factory=list)

    def do(self, *call: Any) -> Any:
        return self.served.world.ask(*call)

    def start_host(self) -> Process:
        self.hosts.append(self.served.world.start("manage.py", "agent_host"))
        self.until(lambda: self.do("is_hosted"), "the agent host to start")
        return self.hosts[-1]

    def stop_host(self) -> int:
        """End it as a supervisor does, and return its exit code."""
        popen = self.hosts[-1].popen
        popen.send_signal(signal.SIGTERM)
        return popen.wait(PATIENCE)

    def open(self, name: str, path: str = "guide.md") -> str:
        """Open a page and return its binding."""
        binding: str = self.do("open_page", name, path)["binding"]["bindingId"]
        return binding

    def ask(self, name: str, binding: str, *steps: dict[str, Any]) -> None:
        """Ask a question whose answer goes through these steps."""
        session = self.do("ask", name, binding, _MARK + json.dumps(steps, ensure_ascii=False))
        assert isinstance(session, str), session

    def until_asked(self, name: str, binding: str) -> dict[str, str]:
        """Wait for the agent to ask for something."""
        found: list[dict[str, str]] = []

        def is_asked() -> bool:
            answer = self.do("waiting", name, binding)  # a busy machine may not answer in time
            found[:] = answer if isinstance(answer, list) else []
            return bool(found)

        self.until(is_asked, "the agent to ask")
        return found[0]

    def until_done(self, name: str, binding: str) -> list[Any]:
        """Wait for the end of a turn and return its messages."""
        self.until(lambda: self.do("is_working", name, binding) is False, "the turn to end")
        whole = self.do("messages", name, binding)
        asked = max(number for number, each in enumerate(whole) if each["info"]["role"] == "user")
        return list(whole[asked + 1 :])

    def converse(self, name: str, binding: str, *steps: dict[str, Any]) -> list[Any]:
        self.ask(name, binding, *steps)
        return self.until_done(name, binding)

    def until_state(self, name: str, *states: str) -> dict[str, Any]:
        self.until(lambda: (self.do("runtime", name) or {}).get("state") in states, f"the runtime to be {states}")
        row: dict[str, Any] = self.do("runtime", name)
        return row

    def until(self, holds: Callable[[], object], what: str) -> None:
        try:
            wait_until(holds, what, PATIENCE)
        except AssertionError as error:
            said = "\n".join(each.output()[-2000:] for each in self.hosts)
            raise AssertionError(f"{error}\n{self.do('runtime', 'alice')}\n{said}") from None


@contextmanager
def hosting(folder: Path, make_files: Callable[[Path], None], *, name: str, **settings: str) -> Iterator[Hosting]:
    """Run an installation on a folder of this name until the block ends."""
    program, data, root, config = _program(), folder / "data", folder / name, folder / "models.json"
    for each in (data, root):
        each.mkdir(parents=True)
    make_files(root)
    with chat_model(follow) as model:
        config.write_text(json.dumps(_models(model)))
        port = free_port()
        environment = {
            "MNOTE_PUBLIC_URL": f"http://127.0.0.1:{port}",
            "MNOTE_OPENCODE_PROGRAM": program,
            "MNOTE_OPENCODE_CONFIG": str(config),
            "MNOTE_OPENCODE_START_SECONDS": "150",
            **settings,
        }
        with served._world(data, environment) as plain:
            world = _Agents(folder=data, environment=plain.environment, stack=plain.stack)
            world.ask("prepare")
            made = world.ask("seed_agents", str(root))
            facts = Facts(workspace=made["workspace"], root_uri=made["rootUri"], kb=made["kb"], tokens={})
            running = Served(world=world, facts=facts, folder=root, port=port)
            running.start()
            yield Hosting(served=running, model=model, root=root, data=data)


def follow(body: Body) -> Say | Use:
    """Do the next step of the plan in the newest question. `{citation}` in an answer is the first citation given."""
    asked = [number for number, each in enumerate(body["messages"]) if _plan_of(each) is not None]
    if not asked:
        return Say(text="ok")
    steps = _plan_of(body["messages"][asked[-1]]) or []
    given = [text_of(each) for each in body["messages"][asked[-1] :] if each["role"] == "tool"]
    step = steps[min(len(given), len(steps) - 1)]
    if "say" in step:
        text: str = step["say"]
        return Say(text=text.replace("{citation}", _citation(given)) if "{citation}" in text else text)
    wanted = step["use"]  # ours begin with the name of their server
    [name] = [each for each in tool_names(body) if wanted.startswith("_") and each.endswith(wanted)] or [wanted]
    return Use(name=name, arguments=step["with"])


def _citation(given: list[str]) -> str:
    """Copy the citation of the first result, as far as there is one."""
    citation: str = json.loads(given[0])["results"][0].get("citationMarkdown", "")
    return citation


def _plan_of(message: Body) -> list[dict[str, Any]] | None:
    text = text_of(message)
    if message["role"] != "user" or _MARK not in text:
        return None
    plan: list[dict[str, Any]] = json.loads(text.partition(_MARK)[2])
    return plan


def _models(model: ChatModel) -> dict[str, Any]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": model.base_url, "apiKey": "key-of-the-model"},
        "models": {"scripted": {"tool_call": True, "limit": {"context": 100_000, "output": 4_000}}},
    }
    names = {"model": "fake/scripted", "small_model": "fake/scripted", "enabled_providers": ["fake"]}
    return names | {"provider": {"fake": provider}}


def command_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def said(messages: list[Any]) -> str:
    """Return the final answer."""
    return "".join(part.get("text", "") for part in messages[-1]["parts"] if part["type"] == "text")


def tools(messages: list[Any]) -> list[Any]:
    return [part for each in messages for part in each["parts"] if part["type"] == "tool"]


def remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)


def has_fence() -> bool:
    return shutil.which("bwrap") is not None and os.name == "posix"
