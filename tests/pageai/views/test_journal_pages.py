"""The pages of the run journal: they need neither OpenHub nor scripts."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from mnote.models import Access
from pageai.models import EndReason, OpenHubBinding, Run, RunEvent
from pageai.panel.drafts import Draft
from pageai.services import runs
from pageai.services.runs import Wanted
from tests.factories.mnote import GrantFactory
from tests.pageai.panel.visits import bind
from tests.people import People, make_people


@pytest.fixture
def people(transactional_db: None, tmp_path: Any) -> People:
    return make_people(tmp_path / "notes")


@pytest.fixture
def binding(people: People) -> OpenHubBinding:
    (people.folder / "private").mkdir()
    (people.folder / "private" / "b.md").write_text("# b", encoding="utf-8")
    return bind(people, "bob")


def told(kind: str, key: str = "", **payload: Any) -> Draft:
    return Draft(kind=kind, payload=payload, key=key)


@pytest.fixture
def run(binding: OpenHubBinding) -> Run:
    made = runs.begin(binding=binding, wanted=Wanted(title="How long is <the> notice period?"))
    evidence = [{"evidenceId": "ev_1", "sourcePath": "private/b.md", "label": "B · line 3"}]
    tool = {"toolCallId": "c1", "tool": "kb_1_mnote_weknora_search"}
    runs.append(
        run_id=made.pk,
        drafts=[
            told("message.delta", text="Let me <look>. "),
            told("tool.started", **tool, input={"query": "notice period"}),
            told("tool.completed", **tool, state="completed", evidence=evidence),
            told("permission.requested", requestId="per_1", permission="edit", path="a.md"),
            told("permission.answered", requestId="per_1", answer="allowed"),
            told("changed_files", toolCallId="c2", files=[{"path": "a.md", "added": 3, "removed": 1}]),
            told("message.delta", text="Three "),
            told("message.delta", text="months."),
        ],
    )
    return made


def text(people: People, path: str, name: str = "bob", **headers: str) -> str:
    answer = people.client(name).get(path, headers=headers)
    assert answer.status_code == 200, answer.content[:500]
    return answer.text


def test_a_run_is_read_step_by_step(people: People, run: Run) -> None:
    runs.end(run_id=run.pk, reason=EndReason.DONE)

    shown = text(people, f"/page-ai/runs/{run.pk}")

    assert "How long is &lt;the&gt; notice period?" in shown
    for part in ("Let me &lt;look&gt;.", "notice period", "It asked to change a.md.", "Allowed once.", "Three months."):
        assert part in shown, part
    assert "a.md +3 −1" in shown
    assert "The assistant finished." in shown
    assert "js/run.js" not in shown


def test_a_live_run_is_followed(people: People, run: Run) -> None:
    shown = text(people, f"/page-ai/runs/{run.pk}")

    assert f"/api/page-ai/runs/{run.pk}/events?afterSeq=9" in shown
    assert "js/run.js" in shown


def test_places_that_the_reader_lost_are_not_named(people: People, run: Run) -> None:
    assert "B · line 3" in text(people, f"/page-ai/runs/{run.pk}")

    GrantFactory(root=people.root, user=people.bob, prefix="private", access=Access.NONE)

    shown = text(people, f"/page-ai/runs/{run.pk}")
    assert "B · line 3" not in shown
    assert "private" not in shown


@pytest.mark.parametrize("reason", EndReason.values)
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_end_is_said_in_words(people: People, run: Run, reason: str, language: str) -> None:
    runs.end(run_id=run.pk, reason=EndReason(reason))

    shown = text(people, f"/page-ai/runs/{run.pk}", **{"Accept-Language": language})

    assert f">{reason}<" not in shown or language == "en"
    assert ("助手" in shown or "停止" in shown or "回答" in shown) == (language == "zh-hans")


@pytest.mark.parametrize("name", ["alice", "carol", "mallory"])
def test_another_persons_run_is_not_there(people: People, run: Run, name: str) -> None:
    assert people.client(name).get(f"/page-ai/runs/{run.pk}").status_code == 404


@pytest.mark.parametrize("wanted", ["run_none", "..", "%00", "x" * 3_000])
def test_an_unknown_run_is_not_there(people: People, run: Run, wanted: str) -> None:
    assert people.client("bob").get(f"/page-ai/runs/{wanted}").status_code == 404


def test_an_old_run_says_that_its_steps_are_forgotten(people: People, run: Run) -> None:
    runs.end(run_id=run.pk, reason=EndReason.DONE)
    RunEvent.objects.filter(run=run).delete()

    assert "The steps of old runs are forgotten" in text(people, f"/page-ai/runs/{run.pk}")


def test_without_openhub_the_panel_offers_the_journal_and_search(people: People, run: Run) -> None:
    runs.end(run_id=run.pk, reason=EndReason.CUT)
    where = f"workspaceId={people.workspace.pk}&root=notes&path=a.md"

    shown = text(people, f"/page-ai/aside?{where}")

    assert "The AI panel is not set up here" in shown
    assert "Search with citations" in shown
    assert f"/page-ai/runs/{run.pk}" in shown
    assert "broke off" in shown


def test_the_list_of_a_page_holds_the_runs_of_this_page_only(people: People, run: Run) -> None:
    other = runs.begin(binding=bind(people, "bob", path="c.md"), wanted=Wanted(title="another page"))
    theirs = runs.begin(binding=bind(people, "carol"), wanted=Wanted(title="of somebody else"))
    where = f"workspaceId={people.workspace.pk}&root=notes&path=a.md"

    shown = text(people, f"/page-ai/runs?{where}")

    assert run.pk in shown
    assert other.pk not in shown
    assert theirs.pk not in shown


def test_the_strip_shows_the_newest_run(people: People, run: Run) -> None:
    live = text(people, f"/page-ai/{run.binding_id}/now")
    runs.end(run_id=run.pk, reason=EndReason.CUT)
    over = text(people, f"/page-ai/{run.binding_id}/now")

    assert f'data-page-ai-run="{run.pk}" data-is-live="true"' in live
    assert "notice period" in live
    assert f'data-page-ai-run="{run.pk}" data-is-live="false"' in over
    assert "The answer broke off before its end." in over


def test_a_page_with_a_thousand_steps_has_an_end(people: People, run: Run) -> None:
    rows = [
        RunEvent(
            run=run, seq=number, kind="error", source="opencode", payload={"message": "x"}, created_at=timezone.now()
        )
        for number in range(20, 1_100)
    ]
    RunEvent.objects.bulk_create(rows)

    assert "More happened than this page shows." in text(people, f"/page-ai/runs/{run.pk}")
