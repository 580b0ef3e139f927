from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connections
from django.utils import timezone

from mnote.models import Job
from pageai.models import EndReason, OpenHubBinding, Run, RunEvent, RunStatus
from pageai.panel.drafts import Draft
from pageai.panel.scribe import answer
from pageai.selectors import runs as selectors
from pageai.services import pruning, runs
from pageai.services.runs import Wanted
from tests.pageai.panel.visits import bind
from tests.people import People, make_people


@pytest.fixture
def binding(people: People) -> OpenHubBinding:
    return bind(people)


def begun(binding: OpenHubBinding, **more: str) -> Run:
    return runs.begin(binding=binding, wanted=Wanted(title="How long is it?", **more))


def said(text: str, key: str = "") -> Draft:
    return Draft(kind="message.delta", payload={"text": text}, key=key)


def events(run: Run) -> list[tuple[int, str]]:
    return list(RunEvent.objects.filter(run=run).order_by("seq").values_list("seq", "kind"))


def test_a_run_has_numbered_events_and_one_end(binding: OpenHubBinding) -> None:
    run = begun(binding)
    runs.append(run_id=run.pk, drafts=[said("a"), said("b")])

    ended = [runs.end(run_id=run.pk, reason=EndReason.DONE) for _each in range(2)]
    late = runs.append(run_id=run.pk, drafts=[said("late")])

    run.refresh_from_db()
    kinds = ["run.created", "message.delta", "message.delta", "run.completed"]
    assert events(run) == list(enumerate(kinds, start=1))
    assert (ended, late) == ([True, False], 0)
    assert (run.status, run.end_reason, run.last_seq) == (RunStatus.COMPLETED, EndReason.DONE, 4)
    assert run.ended_at is not None


@pytest.mark.parametrize(
    ("reason", "status"),
    [("done", "completed"), ("failed", "failed"), ("cut", "failed"), ("lost", "failed"), ("cancelled", "cancelled"),
     ("signed_out", "cancelled")],
)  # fmt: skip
def test_every_reason_has_its_status_and_event(binding: OpenHubBinding, reason: str, status: str) -> None:
    run = begun(binding)

    runs.end(run_id=run.pk, reason=EndReason(reason), detail="why")

    last = RunEvent.objects.filter(run=run).order_by("-seq")[0]
    run.refresh_from_db()
    assert (run.status, last.kind) == (status, f"run.{status}")
    assert last.payload == {"status": status, "reason": reason, "detail": "why"}


def test_what_two_tell_is_written_once(binding: OpenHubBinding) -> None:
    run = begun(binding)

    counts = [runs.append(run_id=run.pk, drafts=[said("a", "k1"), said("b", "k2"), said("a", "k1")]) for _ in range(2)]

    assert counts == [2, 0]


def test_the_same_request_is_the_same_run(binding: OpenHubBinding) -> None:
    wanted = Wanted(request_id="click-0001")
    first, is_new = runs.receive(binding=binding, wanted=wanted)
    again, is_again_new = runs.receive(binding=binding, wanted=wanted)
    started = runs.begin(binding=binding, wanted=wanted)

    assert (is_new, is_again_new) == (True, False)
    assert first.pk == again.pk == started.pk
    assert events(first) == [(1, "run.created")]
    assert started.status == RunStatus.RUNNING


def test_asking_again_after_the_end_follows_the_first_run(binding: OpenHubBinding) -> None:
    first = begun(binding, request_id="click-0001")
    runs.end(run_id=first.pk, reason=EndReason.CUT)

    second = begun(binding, request_id="click-0001")

    assert second.pk != first.pk
    assert (second.parent_run_id, second.resume_request_id) == (first.pk, "click-0001")


@pytest.mark.parametrize("limit", ["MAX_EVENTS", "MAX_EVENT_BYTES"])
def test_a_run_with_too_much_says_so_and_still_ends(
    binding: OpenHubBinding, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(runs, limit, {"MAX_EVENTS": 10, "MAX_EVENT_BYTES": 2_000}[limit])
    run = begun(binding)
    asked = Draft(kind="permission.requested", payload={"requestId": "per_1"}, key="permission.requested:per_1")

    for number in range(20):
        runs.append(run_id=run.pk, drafts=[said(f"{number} " + "x" * 300)] * 3)
    runs.append(run_id=run.pk, drafts=[asked])
    runs.end(run_id=run.pk, reason=EndReason.DONE)

    run.refresh_from_db()
    kinds = [kind for _seq, kind in events(run)]
    assert len(kinds) < 15
    assert kinds[-4:] == ["session.info.updated", "permission.requested", "permission.answered", "run.completed"]
    assert [seq for seq, _kind in events(run)] == list(range(1, run.last_seq + 1))
    last = RunEvent.objects.filter(run=run).order_by("-seq")[0]
    assert last.payload["omitted"] == run.omitted > 40


def test_a_hostile_payload_is_bounded(binding: OpenHubBinding) -> None:
    run = begun(binding)

    runs.append(run_id=run.pk, drafts=[Draft(kind="tool.completed", payload={"output": "y" * 10_000_000})])

    kept = RunEvent.objects.get(run=run, kind="tool.completed").payload
    assert (kept["cut"], len(kept["output"])) == (True, 4_000)


def test_an_end_that_was_forgotten_is_made_up_from_the_status(binding: OpenHubBinding) -> None:
    run = begun(binding)
    runs.append(run_id=run.pk, drafts=[said("a")])
    runs.end(run_id=run.pk, reason=EndReason.LOST)
    RunEvent.objects.filter(run=run, kind="run.failed").delete()
    run.refresh_from_db()

    first, after = selectors.read(run, after=0), selectors.read(run, after=run.last_seq + 1)

    assert [each.kind for each in first.events] == ["run.created", "message.delta", "run.failed"]
    assert first.events[-1].payload == {"status": "failed", "reason": "lost"}
    assert (first.is_over, after.is_over, list(after.events)) == (True, True, [])


def test_old_journals_are_forgotten_before_old_runs(binding: OpenHubBinding) -> None:
    old, older, fresh, live = (begun(binding) for _each in range(4))
    for run in (old, older, fresh):
        runs.end(run_id=run.pk, reason=EndReason.DONE)
    for run, days in ((old, 40), (older, 200)):
        Run.objects.filter(pk=run.pk).update(ended_at=timezone.now() - timedelta(days=days))
    Run.objects.filter(pk=live.pk).update(created_at=timezone.now() - timedelta(days=400))
    pruning.ask_when_due()

    pruning.prune()
    pruning.ask_when_due()

    assert set(Run.objects.values_list("pk", flat=True)) == {old.pk, fresh.pk, live.pk}
    assert not RunEvent.objects.filter(run=old).exists()
    assert RunEvent.objects.filter(run__in=[fresh.pk, live.pk]).count() == 3
    assert Job.objects.filter(kind=pruning.PRUNE_KIND).count() == 1


@pytest.mark.django_db(transaction=True)
def test_many_writers_at_once_leave_one_unbroken_sequence(transactional_db: None, tmp_path: Path) -> None:
    run = begun(bind(make_people(tmp_path / "notes")))
    ready = threading.Barrier(6)

    def write(number: int) -> None:
        ready.wait(20)
        try:
            for each in range(15):
                drafts = [said("own", f"{number}:{each}"), said("shared", f"shared:{each}")]
                runs.append(run_id=run.pk, drafts=drafts)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(6)))

    run.refresh_from_db()
    assert [seq for seq, _kind in events(run)] == list(range(1, 1 + 1 + 6 * 15 + 15))
    assert run.last_seq == 106


@pytest.mark.parametrize(
    ("reason", "how"), [("lost", "lost"), ("cut", "lost"), ("cancelled", "ended"), ("done", "ended")]
)
def test_no_request_outlives_its_run(binding: OpenHubBinding, reason: str, how: str) -> None:
    run = begun(binding)
    asked = [("permission", "per_1"), ("question", "que_1"), ("question", "que_2")]
    kinds = {"permission": "permission.requested", "question": "question.asked"}
    runs.append(run_id=run.pk, drafts=[Draft(kind=kinds[kind], payload={"requestId": each}) for kind, each in asked])
    runs.append(run_id=run.pk, drafts=[answer("question", "que_2", "answered")])

    runs.end(run_id=run.pk, reason=EndReason(reason))

    rows = RunEvent.objects.filter(run=run, kind__endswith=".answered").order_by("seq")
    assert [(row.payload["requestId"], row.payload["answer"]) for row in rows] == [
        ("que_2", "answered"), ("per_1", how), ("que_1", how),
    ]  # fmt: skip
    assert RunEvent.objects.filter(run=run).order_by("-seq")[0].kind.startswith("run.")


def test_what_the_last_word_answers_is_not_answered_again(binding: OpenHubBinding) -> None:
    run = begun(binding)
    runs.append(run_id=run.pk, drafts=[Draft(kind="permission.requested", payload={"requestId": "per_1"})])

    runs.end(run_id=run.pk, reason=EndReason.CUT, drafts=[answer("permission", "per_1", "gone")])

    [row] = RunEvent.objects.filter(run=run, kind="permission.answered")
    assert row.payload["answer"] == "gone"
