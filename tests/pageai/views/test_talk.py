"""Conversations with opencode itself, where there is no OpenHub or it is down: each question is a run."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from django.utils import timezone

from mnote.models import Access
from mnote.services import users
from pageai.models import OpenHubBinding, PanelTurn, Run, RunEvent, RunStatus
from pageai.services import settling
from pageai.views import direct_turn
from tests.factories.mnote import GrantFactory
from tests.pageai.views.conftest import Panel, wait_until
from tests.people import People
from tests.stubs.openhub import OpenHubStub


@dataclass(slots=True)
class Talking:
    """One person at the conversation of a page."""

    panel: Panel

    def _call(self, method: str, what: str, **data: str) -> requests.Response:
        url = f"{self.panel.site}/page-ai/{self.panel.binding.pk}/{what}"
        headers = {"HX-Request": "true"}
        return self.panel.session.request(method, url, data=data, headers=headers, timeout=60, allow_redirects=False)

    def ask(self, question: str, **data: str) -> requests.Response:
        return self._call("POST", "ask", question=question, **data)

    def stop(self) -> requests.Response:
        return self._call("POST", "stop")

    def shown(self) -> str:
        answer = self._call("GET", "talk")
        assert answer.status_code == 200, answer.text[:500]
        return answer.text


@pytest.fixture
def alone(hub: OpenHubStub, settings: Any) -> OpenHubStub:
    """An opencode, and no OpenHub."""
    settings.MNOTE_OPENHUB_URL = ""
    return hub


@pytest.fixture
def talking(panels: Any, alone: OpenHubStub) -> Talking:
    panel = panels()
    OpenHubBinding.objects.update(metadata_json={"agentId": "opencode"})
    return Talking(panel)


def over() -> bool:
    """Whether every run has its end, and the next question may come."""
    is_free = not PanelTurn.objects.filter(ended_at__isnull=True, started_at__isnull=False).exists()
    return is_free and Run.objects.exists() and not Run.objects.filter(ended_at__isnull=True).exists()


def kinds() -> list[str]:
    return list(RunEvent.objects.order_by("run__created_at", "seq").values_list("kind", flat=True))


def panel_of(people: People) -> str:
    where = {"workspaceId": people.workspace.pk, "root": people.root.key, "path": "a.md"}
    return people.client("alice").get("/page-ai/aside", where).text


def test_the_panel_of_a_page_has_a_conversation_without_openhub(people: People, alone: OpenHubStub) -> None:
    (people.folder / "a.md").write_text("# a\n", encoding="utf-8")

    shown = panel_of(people)

    assert 'id="page-ai-say"' in shown
    assert "<iframe" not in shown
    assert "OpenHub (not set up here)" in shown
    assert "opencode (not" not in shown
    assert OpenHubBinding.objects.get().metadata_json["agentId"] == "opencode"


def test_a_question_is_answered_and_is_a_run(talking: Talking, hub: OpenHubStub) -> None:
    answer = talking.ask("How <long>?")
    wait_until(over)

    assert answer.status_code == 200
    assert "How &lt;long&gt;?" in answer.text
    run = Run.objects.get()
    assert (run.status, run.end_reason, run.agent_id, run.provider) == ("completed", "done", "opencode", "opencode")
    assert kinds() == ["run.created", "message.delta", "end", "run.completed"]
    assert "Echo: How &lt;long&gt;?" in talking.shown()
    assert not [each for each in hub.asked if each.path.startswith("/api/query")]


def test_the_conversation_goes_on_and_is_remembered(talking: Talking, hub: OpenHubStub) -> None:
    for question in ("first", "second"):
        talking.ask(question)
        wait_until(over)

    shown = talking.shown()

    assert [shown.index(text) for text in ("Echo: first", "Echo: second")] == sorted(
        shown.index(text) for text in ("Echo: first", "Echo: second")
    )
    assert len(hub.opencode.sessions) == 1
    assert shown.count("Echo: ") == 2


def test_a_conversation_is_read_from_the_journal_when_opencode_is_away(talking: Talking, hub: OpenHubStub) -> None:
    talking.ask("first")
    wait_until(over)
    hub.opencode.is_down = True

    assert "Echo: first" in talking.shown()


def test_a_click_that_is_sent_twice_is_one_run(talking: Talking, hub: OpenHubStub) -> None:
    talking.ask("WAIT once", request="click-0001")

    again = talking.ask("WAIT once", request="click-0001")
    hub.world.turns[talking.panel.session_id].go_on.set()
    wait_until(over)

    assert again.status_code == 409
    assert "still working" in again.text
    assert Run.objects.get().request_id == "click-0001"


def test_an_answer_that_goes_on_is_read_from_the_journal(talking: Talking, hub: OpenHubStub) -> None:
    talking.ask("SAYFIRST CALL question " + json.dumps({"questions": [{"question": "Which?", "options": []}]}))
    wait_until(lambda: RunEvent.objects.filter(kind="question.asked").exists())

    shown = talking.shown()

    newest = RunEvent.objects.filter(kind="message.delta").order_by("-seq").first()
    assert newest is not None
    assert f'data-page-ai-live="{newest.run_id}" data-seq="{newest.seq}"' in shown
    assert "Let me use a tool." in shown


def test_what_is_asked_for_is_answered_and_changes_are_shown(
    talking: Talking, hub: OpenHubStub, people: People
) -> None:
    GrantFactory(root=people.root, user=people.alice, access=Access.WRITE)
    target = people.folder / "new.md"

    talking.ask("CALL write " + json.dumps({"filePath": str(target), "content": "three months"}))
    wait_until(lambda: hub.opencode.pending)
    (pending,) = hub.opencode.pending
    wait_until(lambda: Run.objects.get().status == RunStatus.INTERRUPTED)
    assert talking._call("POST", f"asks/{pending}", decision="allow").status_code == 204
    wait_until(over)

    assert target.read_text() == "three months"
    assert "new.md +1 −0" in talking._call("GET", "now").text
    assert {"permission.requested", "permission.answered", "changed_files"} <= set(kinds())


def changed(talking: Talking, hub: OpenHubStub, people: People, text: str) -> Path:
    """Have a file changed, with leave."""
    GrantFactory(root=people.root, user=people.alice, access=Access.WRITE)
    target = people.folder / "terms.md"
    target.write_text("# Terms\n\nOne month.\n\nEnd.\n", encoding="utf-8")
    edit = {"filePath": str(target), "oldString": "One month.", "newString": text}
    talking.ask("CALL edit " + json.dumps(edit))
    wait_until(lambda: hub.opencode.pending)
    (pending,) = hub.opencode.pending
    talking._call("POST", f"asks/{pending}", decision="allow")
    wait_until(over)
    return target


def changes_of(people: People) -> str:
    return people.client("alice").get(f"/page-ai/runs/{Run.objects.get().pk}/changes").text


def test_what_a_run_changed_is_shown_line_by_line(talking: Talking, hub: OpenHubStub, people: People) -> None:
    target = changed(talking, hub, people, "Three <months>.")

    shown = changes_of(people)

    for part in ("-One month.", "+Three &lt;months&gt;.", "terms.md +1 −1", "as the assistant left it"):
        assert part in shown, shown
    assert str(people.folder) not in shown
    assert 'id="changes"' in people.client("alice").get(f"/page-ai/runs/{Run.objects.get().pk}").text
    target.write_text("Something else.", encoding="utf-8")
    assert "changed since, or gone" in changes_of(people)


def test_a_changed_file_opens_at_the_change_while_that_is_there(
    talking: Talking, hub: OpenHubStub, people: People
) -> None:
    """The address tells which version it means; nobody has to read the file to draw the chip."""
    target = changed(talking, hub, people, "Three months.")
    (chip,) = re.findall(r'href="([^"]*lines=3-3[^"]*)"', talking._call("GET", "now").text)
    client = people.client("alice")
    assert 'data-truth="exact"' in client.get(html.unescape(chip)).text

    target.write_text("\n\n" + target.read_text(), encoding="utf-8")

    opened = client.get(html.unescape(chip)).text
    assert 'data-truth="changed"' in opened
    assert 'id="cited"' not in opened


def test_what_changed_leads_to_the_run_that_changed_it(talking: Talking, hub: OpenHubStub, people: People) -> None:
    changed(talking, hub, people, "Three months.")
    made = Run.objects.get()
    talking.ask("FAIL")
    wait_until(over)

    assert f"/page-ai/runs/{made.pk}?changes=1#changes" in talking._call("GET", "now").text


def test_an_answer_that_broke_off_says_so_also_when_others_follow(talking: Talking, hub: OpenHubStub) -> None:
    talking.ask("HANG")
    talking.stop()
    wait_until(over)
    talking.ask("next")
    wait_until(over)

    shown = talking.shown()

    assert shown.index("It was stopped.") < shown.index("Echo: next")
    assert shown.count("It was stopped.") == 1


def test_without_opencode_the_changed_files_are_named(talking: Talking, hub: OpenHubStub, people: People) -> None:
    changed(talking, hub, people, "Three months.")
    hub.opencode.is_down = True

    shown = changes_of(people)

    assert "terms.md +1 −1" in shown
    assert "Its lines can be shown while" in shown


def test_files_that_may_not_be_read_any_more_are_not_shown(talking: Talking, hub: OpenHubStub, people: People) -> None:
    changed(talking, hub, people, "Three months.")
    GrantFactory(root=people.root, user=people.alice, prefix="terms.md", access=Access.NONE)

    shown = changes_of(people)

    assert "terms.md" not in shown
    assert "months" not in shown


def test_it_is_stopped(talking: Talking, hub: OpenHubStub) -> None:
    talking.ask("HANG")

    assert talking.stop().status_code == 204
    wait_until(over)

    assert Run.objects.get().end_reason == "cancelled"
    assert "It was stopped." in talking.shown()
    assert talking.stop().status_code == 204


def test_a_question_that_cannot_be_asked_says_so_and_ends(talking: Talking, hub: OpenHubStub) -> None:
    hub.opencode.is_down = True

    refused = talking.ask("Is anybody there?")

    assert refused.status_code == 204
    assert "opencode does not answer" in refused.headers["HX-Trigger"]
    hub.opencode.is_down = False
    assert talking.ask("And now?").status_code == 200
    wait_until(over)
    assert Run.objects.get().end_reason == "done"


@pytest.mark.parametrize("question", ["", "  ", "x" * 20_001])
def test_a_question_that_says_nothing_or_too_much_is_refused(talking: Talking, question: str) -> None:
    assert talking.ask(question).status_code == 400
    assert not Run.objects.exists()


def test_a_restart_of_opencode_ends_the_run_and_what_it_asked(talking: Talking, hub: OpenHubStub) -> None:
    talking.ask("CALL question " + json.dumps({"questions": [{"question": "Which?", "options": []}]}))
    wait_until(lambda: RunEvent.objects.filter(kind="question.asked").exists())

    hub.opencode.restart()
    wait_until(over)

    assert Run.objects.get().end_reason == "cut"
    assert RunEvent.objects.get(kind="question.answered").payload["answer"] == "gone"


def test_what_waits_ends_with_a_reason_when_opencode_dies_for_good(
    talking: Talking, hub: OpenHubStub, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct_turn, "_DEAF_SECONDS", 0.5)
    GrantFactory(root=people.root, user=people.alice, access=Access.WRITE)
    talking.ask("CALL write " + json.dumps({"filePath": str(people.folder / "new.md"), "content": "x"}))
    wait_until(lambda: RunEvent.objects.filter(kind="permission.requested").exists())
    (pending,) = hub.opencode.pending

    hub.opencode.is_down = True
    hub.opencode.restart()
    wait_until(lambda: not PanelTurn.objects.filter(ended_at__isnull=True).exists())
    run = Run.objects.get()
    assert run.status == RunStatus.INTERRUPTED
    Run.objects.update(updated_at=timezone.now() - timedelta(minutes=3))
    assert not settling.settle(run.pk)

    run.refresh_from_db()
    assert run.end_reason == "lost"
    shown = people.client("alice").get(f"/page-ai/runs/{run.pk}").text
    assert "program was gone before anybody answered, so it was not done" in shown
    hub.opencode.is_down = False
    late = talking._call("POST", f"asks/{pending}", decision="allow")
    assert late.status_code == 404
    assert "does not wait for this any more" in late.text
    assert not (people.folder / "new.md").exists()


def test_closing_the_account_ends_the_run(talking: Talking, hub: OpenHubStub, people: People) -> None:
    talking.ask("HANG")
    session = talking.panel.session_id

    users.deactivate(people.alice)
    wait_until(over)

    assert Run.objects.get().end_reason == "signed_out"
    wait_until(lambda: session not in hub.world.turns)


def test_another_persons_conversation_is_not_there(talking: Talking, panels: Any) -> None:
    talking.ask("mine")
    wait_until(over)
    theirs = Talking(panels("bob", binding=talking.panel.binding))

    assert [theirs.ask("x").status_code, theirs.stop().status_code] == [404, 404]
    assert theirs._call("GET", "talk").status_code == 404


def test_while_openhub_is_down_opencode_can_be_asked_itself(panels: Any, hub: OpenHubStub, people: People) -> None:
    panel = panels()
    hub.redis.is_down = True
    shown = panel_of(people)

    begun = Talking(panel)._call("POST", "new", agent="opencode")

    assert "New conversation with opencode" in shown
    assert 'id="page-ai-say"' in begun.text
    assert OpenHubBinding.objects.get(status="active").metadata_json["agentId"] == "opencode"


def test_a_conversation_whose_agent_is_gone_says_so(
    panels: Any, hub: OpenHubStub, people: People, settings: Any
) -> None:
    panels().frames("hello")
    settings.MNOTE_OPENHUB_URL = ""

    shown = panel_of(people)

    assert "is not set up here any more" in shown
    assert "New conversation with opencode" in shown
    assert "hello" in shown
