"""What the strip above a conversation does: choices of the person, passed on to the agent."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponse

from mnote.http_limits import Timeouts
from mnote.models import Preference
from pageai.models import OpenHubBinding
from pageai.panel import opencode
from pageai.services import runs
from pageai.services.runs import Wanted
from tests.pageai.panel.visits import bind
from tests.people import People
from tests.stubs.openhub import OpenHubStub
from tests.stubs.openhub_opencode import Pending

_QUESTION = {"question": "Which colour?", "header": "Colour", "options": [{"label": "Blue", "description": ""}]}


@pytest.fixture
def asked(people: People, hub: OpenHubStub) -> Pending:
    """A question that waits for alice."""
    binding = bind(people)
    session = hub.opencode.create(str(people.folder))
    binding.openhub_session_id = session.id
    binding.save()
    return hub.opencode.ask("question", session, {"questions": [_QUESTION]})


def answer(people: People, asked: Pending, **given: Any) -> int:
    binding = bind(people)
    url = f"/page-ai/{binding.pk}/questions/{asked.facts['id']}"
    return people.client("alice").post(url, {"questions": "1", "decision": "answer", **given}).status_code


def test_choice_is_passed_on(people: People, asked: Pending) -> None:
    assert answer(people, asked, **{"choice-0": "Blue", "own-0": "rather dark"}) == 204
    assert asked.answer == {"answers": [["Blue", "rather dark"]]}


@pytest.mark.parametrize("given", [{}, {"own-0": "  "}, {"own-0": "x" * 4001}])
def test_answer_that_says_nothing_or_too_much_is_refused_and_the_question_waits_on(
    people: People, asked: Pending, given: dict[str, str]
) -> None:
    assert answer(people, asked, **given) == 400
    assert not asked.answered.is_set()


@pytest.mark.parametrize("count", ["²", "9" * 5_000, "-1", "", "x"])
def test_number_of_questions_that_is_none_is_one(people: People, asked: Pending, count: str) -> None:
    assert answer(people, asked, **{"questions": count, "choice-0": "Blue"}) == 204
    assert asked.answer == {"answers": [["Blue"]]}


@pytest.mark.parametrize("place", ["asks", "questions"])
@pytest.mark.parametrize("name", ["bob", "mallory"])
def test_what_the_agent_of_another_person_asks_is_not_there(
    people: People, hub: OpenHubStub, asked: Pending, place: str, name: str
) -> None:
    """By their own conversation, and by that of the person who is asked."""
    session = next(iter(hub.opencode.sessions.values()))
    facts = {"permission": "bash", "patterns": ["ls"], "metadata": {"command": "ls"}, "always": []}
    waiting = asked if place == "questions" else hub.opencode.ask("permission", session, facts)
    ids = {bind(people).pk} | ({bind(people, "bob").pk} if name == "bob" else set())
    given = {"questions": "1", "decision": "answer" if place == "questions" else "allow", "choice-0": "Blue"}

    answers = {
        people.client(name).post(f"/page-ai/{each}/{place}/{waiting.facts['id']}", given).status_code for each in ids
    }

    assert answers == {404}
    assert not waiting.answered.is_set()


def strip(people: People) -> str:
    where = {"workspaceId": people.workspace.pk, "root": people.root.key, "path": "a.md"}
    return people.client("alice").get("/page-ai/aside", where).content.decode()


def keep(people: People, given: Mapping[str, Any]) -> HttpResponse:
    return people.client("alice").post(f"/page-ai/{bind(people).pk}/settings", given)


def shown(people: People) -> list[dict[str, Any]]:
    """Every setting that the descriptors name for alice."""
    told = people.client("alice").get("/api/page-ai/agents/descriptors").json()
    return [*told["commonFields"], *(field for agent in told["agents"] for field in agent["fields"])]


def filled(fields: list[dict[str, Any]], **changed: Any) -> dict[str, Any]:
    """What a browser sends of the form: a switch that is off is left out."""
    values = {field["key"]: field["value"] for field in fields} | changed
    switches = [field["key"] for field in fields if field["kind"] == "boolean"]
    sent = {key: "on" if value is True else value for key, value in values.items() if value not in (False, None)}
    return {**sent, "shown": switches}


@pytest.fixture
def hermes(tmp_path: Path, settings: Any) -> None:
    options = [{"value": "small", "label": "Small one"}, {"value": "large", "label": "Large one"}]
    fields = [
        {"key": "ai.agent.hermes.model", "kind": "select", "label": "Model", "default": "small", "options": options},
        {"key": "ai.agent.hermes.key", "kind": "string", "label": "Key", "default": "none", "secret": True},
        {"key": "ai.agent.hermes.route", "kind": "string", "label": "Route", "default": "fast", "auth": "admin"},
    ]
    path = tmp_path / "agents.json"
    path.write_text(json.dumps([{"agentId": "hermes", "provider": "acp", "displayName": "Hermes", "fields": fields}]))
    settings.MNOTE_AGENTS_FILE = path


@pytest.mark.usefixtures("hub", "hermes")
def test_strip_shows_every_setting_of_the_descriptors_and_no_other(people: People) -> None:
    bind(people)
    page = strip(people)

    named = set(re.findall(r'name="(ai\.[^"]+)"', page))
    assert named == {field["key"] for field in shown(people)}
    assert "ai.agent.hermes.model" in named
    assert "ai.agent.hermes.route" not in named
    assert "Large one" in page
    assert "OpenHub" in page
    assert "knowledge bases with 4 tools" in page


@pytest.mark.usefixtures("hub", "hermes")
def test_settings_are_kept_and_the_strip_says_so(people: People) -> None:
    changed = {"ai.common.defaultAgent": "opencode", "ai.agent.opencode.knowledge": False}
    sent = filled(shown(people), **changed, **{"ai.agent.hermes.model": "large", "ai.agent.hermes.key": "s3cret"})

    answer = keep(people, sent)

    assert answer.status_code == 200
    assert "knowledge bases switched off" in answer.content.decode()
    stored = dict(Preference.objects.filter(user=people.alice).values_list("key", "value"))
    assert stored == changed | {"ai.agent.hermes.model": "large", "ai.agent.hermes.key": "s3cret"}
    assert "s3cret" not in strip(people)


@pytest.mark.usefixtures("hub", "hermes")
def test_form_sent_as_it_was_changes_nothing(people: People) -> None:
    Preference.objects.create(user=people.alice, key="ai.agent.hermes.key", value="s3cret")

    assert keep(people, filled(shown(people), **{"ai.agent.hermes.key": ""})).status_code == 200
    assert Preference.objects.get().value == "s3cret"


@pytest.mark.usefixtures("hub", "hermes")
@pytest.mark.parametrize(("key", "value"), [("ai.common.defaultAgent", "nobody"), ("ai.agent.hermes.model", "huge")])
def test_choice_that_is_none_is_refused(people: People, key: str, value: str) -> None:
    assert keep(people, filled(shown(people), **{key: value})).status_code == 400
    assert not Preference.objects.exists()


@pytest.mark.usefixtures("hub", "hermes")
def test_setting_of_administrators_is_not_taken_from_others(people: People) -> None:
    keep(people, {**filled(shown(people)), "ai.agent.hermes.route": "slow"})

    assert not Preference.objects.exists()


def test_what_waits_is_read_patiently_after_the_page_is_there(
    people: People, hub: OpenHubStub, asked: Pending, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opencode, "SHORT", Timeouts(connect=1, read=0.1, total=0.2))
    hub.opencode.pending_seconds = 0.6
    runs.begin(binding=bind(people), wanted=Wanted(title="x"))

    drawn = strip(people)
    fetched = people.client("alice").get(f"/page-ai/{bind(people).pk}/now").text

    assert "Whether something waits for you could not be read." in drawn
    assert "Which colour?" in fetched
    assert "could not be read" not in fetched


def agent(people: People) -> str:
    binding: OpenHubBinding = bind(people)
    return str(binding.metadata_json.get("agentId", ""))


@pytest.mark.usefixtures("hub")
def test_another_agent_talks_at_once_where_nothing_was_asked_yet(people: People) -> None:
    bind(people)

    answer = keep(people, filled(shown(people), **{"ai.common.defaultAgent": "opencode"}))

    assert agent(people) == "opencode"
    assert answer.headers["HX-Refresh"] == "true"
    assert "stays with" not in answer.text


@pytest.mark.usefixtures("asked")
def test_a_conversation_stays_with_its_agent_and_the_next_one_is_with_the_chosen_one(people: People) -> None:
    answer = keep(people, filled(shown(people), **{"ai.common.defaultAgent": "opencode"}))

    assert "This conversation stays with OpenHub. opencode answers from the next one on." in answer.text
    assert "HX-Refresh" not in answer.headers
    assert "<iframe" in strip(people)
    people.client("alice").post(f"/page-ai/{bind(people).pk}/new")
    assert agent(people) == "opencode"
    assert 'id="page-ai-say"' in strip(people)
