"""MNote on its real server, OpenHub as a stub behind it, and browsers that know a session cookie and nothing else."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
from django.conf import settings as django_settings
from django.test import Client

from mnote.models import User
from pageai.models import OpenHubBinding
from pageai.services import turns
from tests.browser.server import LiveSite
from tests.pageai.panel.settings import connect
from tests.pageai.panel.visits import bind
from tests.people import People, make_people
from tests.stubs.openhub import OpenHubStub, openhub_stub
from tests.stubs.openhub_app import write_app


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.django_db(transaction=True))


@pytest.fixture(scope="session")
def live(django_db_setup: None) -> Iterator[LiveSite]:
    Path(django_settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
    site = LiveSite()
    site.start()
    yield site
    site.stop()


@pytest.fixture
def hub(tmp_path: Path, settings: Any) -> Iterator[OpenHubStub]:
    with openhub_stub(tmp_path / "openhub") as stub:
        connect(settings, stub, write_app(tmp_path / "app"))
        yield stub


@pytest.fixture
def people(transactional_db: None, tmp_path: Path) -> People:
    return make_people(tmp_path / "notes")


@dataclass(slots=True)
class Panel:
    """One person's browser at one conversation."""

    site: str
    binding: OpenHubBinding
    session: requests.Session = field(default_factory=requests.Session)

    @property
    def base(self) -> str:
        return f"{self.site}/pageai/openhub/{self.binding.pk}"

    @property
    def session_id(self) -> str:
        self.binding.refresh_from_db()
        return self.binding.openhub_session_id

    def call(self, method: str, path: str, **parts: Any) -> requests.Response:
        return self.session.request(method, f"{self.base}/api/{path}", timeout=20, allow_redirects=False, **parts)

    def ask(self, question: str, **more: Any) -> requests.Response:
        """Send a question and give the answer's head."""
        return self.call("POST", "query/stream", json={"question": question, **more}, stream=True)

    def frames(self, question: str, **more: Any) -> list[dict[str, Any]]:
        """Send a question and read the answer to its end."""
        with self.ask(question, **more) as answer:
            return list(frames_of(answer))

    def reconnect(self, session_id: str = "") -> requests.Response:
        query = {"session_id": session_id or self.session_id}
        return self.call("GET", "query/stream/reconnect", params=query, stream=True)


@pytest.fixture
def panels(live: LiveSite, hub: OpenHubStub, people: People) -> Iterator[Any]:
    """Open conversations: `panels("alice")`, `panels("alice", path="b.md")`, `panels("bob", binding=alices)`."""
    opened: list[Panel] = []

    def open_panel(name: str | None = "alice", *, path: str = "a.md", binding: OpenHubBinding | None = None) -> Panel:
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
        panel = Panel(site=live.url, binding=binding or bind(people, name or "alice", path=path))
        if name is not None:
            sign_in(panel.session, people.user(name))
        opened.append(panel)
        return panel

    yield open_panel
    for each in opened:
        each.session.close()


#: What bob said, and nobody else may read.
SECRET = "the secret words of bob"


@pytest.fixture
def two(panels: Any, hub: OpenHubStub) -> tuple[Panel, Panel]:
    """Alice and bob, each with a conversation; what reached OpenHub for it is forgotten."""
    alice, bob = panels("alice"), panels("bob")
    alice.frames("hello from alice")
    bob.frames(SECRET)
    for each in (alice, bob):
        idle(each)
    hub.reached.clear()
    hub.asked.clear()
    return alice, bob


def idle(panel: Panel) -> None:
    """Wait until the conversation takes the next question."""
    wait_until(lambda: not turns.standing(binding_id=panel.binding.pk).is_running)


def sign_in(session: requests.Session, user: User) -> None:
    client = Client()
    client.force_login(user)
    name, csrf = django_settings.SESSION_COOKIE_NAME, "c" * 32
    session.cookies.set(name, client.cookies[name].value)
    session.cookies.set(django_settings.CSRF_COOKIE_NAME, csrf)
    session.headers["X-CSRFToken"] = csrf


def frames_of(answer: requests.Response) -> Iterator[dict[str, Any]]:
    for line in answer.iter_lines(chunk_size=1):
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


def kinds(frames: list[dict[str, Any]]) -> list[str]:
    """The types in their order, equal neighbours once."""
    names = [each["type"] for each in frames]
    return [name for index, name in enumerate(names) if index == 0 or names[index - 1] != name]


def said(frames: list[dict[str, Any]]) -> str:
    return "".join(each["content"] for each in frames if each["type"] == "text")


def wait_until(condition: Any, *, seconds: float = 30) -> None:
    """Wait for something that happens on another thread; look often, give up late."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("it did not happen in time")
        threading.Event().wait(0.01)
