"""The agent without tools: a chat model, told what was said before and nothing else, its answers in the journal."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from mnote.services import users
from pageai.models import OpenHubBinding, PanelTurn, Run, RunEvent
from pageai.services import settling
from tests.browser.server import LiveSite
from tests.pageai.panel.visits import bind
from tests.pageai.views.conftest import Panel, sign_in, wait_until
from tests.pageai.views.test_talk import Talking, kinds, over
from tests.people import People
from tests.stubs.chat_model import Body, ChatModel, Say, chat_model, text_of

pytestmark = pytest.mark.usefixtures("transactional_db")


class Script:
    """Repeats the question; one that begins with WAIT goes on when `go_on` is set, BREAK breaks off."""

    def __init__(self) -> None:
        self.go_on = threading.Event()

    def __call__(self, body: Body) -> Say:
        asked = text_of(body["messages"][-1])
        if asked == "FAIL":
            raise RuntimeError
        return Say(text=f"Echo: {asked}", until=self.go_on if asked.startswith("WAIT") else None)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def model(script: Script, settings: Any) -> Iterator[ChatModel]:
    with chat_model(script) as running:
        settings.MNOTE_CHAT_MODEL_URL = running.base_url
        settings.MNOTE_CHAT_MODEL = "scripted"
        settings.MNOTE_CHAT_MODEL_KEY = "key-of-the-model"
        yield running
        script.go_on.set()


@pytest.fixture
def talking(live: LiveSite, model: ChatModel, people: People) -> Iterator[Talking]:
    bind(people)
    OpenHubBinding.objects.update(metadata_json={"agentId": "chat_only"})
    panel = Panel(site=live.url, binding=OpenHubBinding.objects.get())
    sign_in(panel.session, people.alice)
    yield Talking(panel)
    panel.session.close()


def panel_of(people: People) -> str:
    where = {"workspaceId": people.workspace.pk, "root": people.root.key, "path": "a.md"}
    return people.client("alice").get("/page-ai/aside", where).text


def told(model: ChatModel) -> list[tuple[str, str]]:
    return [(each["role"], each["content"]) for each in model.asked[-1]["messages"]]


def test_a_question_is_answered_without_tools_and_is_a_run(talking: Talking, model: ChatModel) -> None:
    assert talking.ask("How **long**?").status_code == 200
    wait_until(over)

    run = Run.objects.get()
    assert (run.status, run.agent_id, run.provider) == ("completed", "chat_only", "chat_only")
    assert kinds() == ["run.created", "message.delta", "end", "run.completed"]
    assert set(RunEvent.objects.exclude(source="mnote").values_list("source", flat=True)) == {"chat_only"}
    assert "Echo: How <strong>long</strong>?" in talking.shown()
    assert "tools" not in model.asked[0]
    assert told(model) == [("user", "How **long**?")]


def test_what_was_said_before_goes_along(talking: Talking, model: ChatModel) -> None:
    for question in ("first " + "x" * 500, "second"):
        talking.ask(question)
        wait_until(over)

    assert told(model) == [
        ("user", "first " + "x" * 500), ("assistant", "Echo: first " + "x" * 500), ("user", "second"),
    ]  # fmt: skip
    assert talking.shown().count("Echo: ") == 2


def test_the_panel_offers_it_where_there_is_nothing_else(people: People, model: ChatModel) -> None:
    (people.folder / "a.md").write_text("# a\n", encoding="utf-8")

    shown = panel_of(people)

    assert 'id="page-ai-say"' in shown
    assert "This agent only talks" in shown
    assert OpenHubBinding.objects.get().metadata_json["agentId"] == "chat_only"


def test_an_answer_grows_and_is_stopped(talking: Talking, model: ChatModel) -> None:
    talking.ask("WAIT for it")
    wait_until(lambda: RunEvent.objects.filter(kind="message.delta").exists())
    assert "data-page-ai-live" in talking.shown()

    assert talking.stop().status_code == 204
    wait_until(over)

    assert Run.objects.get().end_reason == "cancelled"
    assert "It was stopped." in talking.shown()


def test_a_model_that_fails_is_named_and_the_next_question_is_answered(talking: Talking, model: ChatModel) -> None:
    refused = talking.ask("FAIL")

    assert refused.status_code == 204
    assert "The chat model does not answer" in refused.headers["HX-Trigger"]
    assert Run.objects.get().end_reason == "failed"
    talking.ask("again")
    wait_until(over)
    assert told(model) == [("user", "again")]


def test_without_a_model_it_says_so(talking: Talking, settings: Any, people: People) -> None:
    settings.MNOTE_CHAT_MODEL_URL = ""

    assert "not set up here" in talking.ask("hello").headers["HX-Trigger"]
    agents = people.client("alice").get("/api/page-ai/agents/descriptors").json()["agents"]
    [chat] = [each for each in agents if each["agentId"] == "chat_only"]
    assert chat["capabilityStates"][0]["reason"] == "not_configured"
    assert (chat["tools"], chat["canWriteFiles"], chat["defaultContextRefs"]) == ([], False, [])


def test_with_a_model_its_descriptor_says_so(model: ChatModel, people: People) -> None:
    agents = people.client("alice").get("/api/page-ai/agents/descriptors").json()["agents"]

    [chat] = [each for each in agents if each["agentId"] == "chat_only"]
    assert chat["capabilityStates"][0]["state"] == "available"


def test_closing_the_account_ends_the_run(talking: Talking, people: People) -> None:
    talking.ask("WAIT for it")

    users.deactivate(people.alice)
    wait_until(over)

    assert Run.objects.get().end_reason == "signed_out"


def test_a_run_whose_process_died_is_lost(talking: Talking, script: Script) -> None:
    talking.ask("WAIT for it")
    run = Run.objects.get()
    PanelTurn.objects.update(owner="another process", beat_at=None)

    assert not settling.settle(run.pk)

    run.refresh_from_db()
    assert run.end_reason == "lost"


def test_key_and_address_of_the_model_reach_no_page(talking: Talking, model: ChatModel) -> None:
    talking.ask(f"Say key-of-the-model at {model.base_url}")
    wait_until(over)

    shown = talking.shown()
    assert "Echo: Say" in shown
    assert "key-of-the-model" not in shown
    assert model.base_url not in shown
