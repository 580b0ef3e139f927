"""Looks at sources: what each found, and the decision that a stopped one asks for."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpResponse
from django.urls import reverse
from lxml import html

from knowledge.models import IndexStatus, SyncOutcome, SyncRun
from knowledge.services import sync_runs
from knowledge.services.sync import Order, sync_source
from mnote.models import Access, AuditEntry, Job
from mnote.services import grants
from tests.knowledge.vault import Vault


@pytest.fixture
def filled(vault: Vault) -> Vault:
    for number in range(8):
        vault.write(f"notes/n{number}.md", f"# Note {number}\n")
    vault.write("films/a.mp4", b"\x00")
    vault.level()
    Job.objects.all().delete()
    return vault


@pytest.fixture
def stopped(filled: Vault) -> tuple[Vault, SyncRun]:
    """A look that found all notes missing."""
    for path in (filled.folder / "notes").iterdir():
        path.unlink()
    return filled, filled.sync()


def get(vault: Vault, name: str, *args: Any, who: str = "alice", **query: Any) -> HttpResponse:
    return vault.people.client(who).get(reverse(f"knowledge:{name}", args=[vault.kb.pk, *args]), query)


def post(vault: Vault, name: str, run: SyncRun, who: str = "alice") -> HttpResponse:
    return vault.people.client(who).post(reverse(f"knowledge:{name}", args=[vault.kb.pk, run.pk]))


def text_of(response: HttpResponse) -> str:
    return " ".join(html.fromstring(response.text).text_content().split())


def test_runs_are_listed_newest_first_with_what_they_did(filled: Vault) -> None:
    filled.write("notes/n1.md", "# Changed\n")
    filled.write("notes/new.md", "# New\n")
    filled.sync()

    rows = html.fromstring(get(filled, "kb-runs").text).xpath("//li[@data-row]")
    first, second = (" ".join(row.text_content().split()) for row in rows)

    assert "+1 new" in first
    assert "~1 changed" in first
    assert "+8 new" in second


def test_file_missing_for_longer_is_counted_once_as_removed(filled: Vault) -> None:
    (filled.folder / "notes/n1.md").unlink()
    filled.sync()
    filled.sync()

    rows = html.fromstring(get(filled, "kb-runs").text).xpath("//li[@data-row]")
    again, first = (" ".join(row.text_content().split()) for row in rows[:2])

    assert "−1 removed" in first
    assert "removed" not in again
    assert "1 missing since before" in again


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("root_gone", "The folder cannot be reached"),
        ("root_empty", "The folder looks empty"),
        ("scan_partial", "A part of the folder could not be read"),
        ("device_changed", "Another disk or folder now stands"),
        ("over_limit", "More documents are missing than the safety stop lets go"),
    ],
)
def test_every_reason_has_a_plain_sentence(stopped: tuple[Vault, SyncRun], reason: str, sentence: str) -> None:
    vault, run = stopped
    SyncRun.objects.filter(pk=run.pk).update(reason_code=reason)

    assert sentence in text_of(get(vault, "run", run.pk))
    assert sentence in text_of(get(vault, "kb-runs"))


def test_stopped_run_lists_what_would_go(stopped: tuple[Vault, SyncRun]) -> None:
    vault, run = stopped

    text = text_of(get(vault, "run", run.pk))

    assert run.outcome == SyncOutcome.STOPPED
    assert "8 files are missing" in text
    assert "notes/n7.md" in text
    assert "Agree to the removals" in text


def test_confirming_asks_first_and_then_removes(stopped: tuple[Vault, SyncRun]) -> None:
    vault, run = stopped
    Job.objects.all().delete()

    question = get(vault, "run-confirm", run.pk)
    assert "8 documents leave the index if their files are still missing. No file is touched." in question.text
    assert not Job.objects.exists()

    assert post(vault, "run-confirm", run, who="bob").status_code == 302
    job = Job.objects.get(kind="knowledge.sync_source")
    assert job.payload["confirmed"] is True
    vault.sync(confirmed=True)
    assert vault.states()["notes/n1.md"] == IndexStatus.DELETED


def test_run_that_was_overtaken_cannot_be_confirmed(stopped: tuple[Vault, SyncRun]) -> None:
    vault, run = stopped
    vault.sync()

    assert "A later look has been made since." in text_of(get(vault, "run", run.pk))
    assert post(vault, "run-confirm", run).status_code == 409


def test_dismissed_question_is_not_asked_again_for_the_same_files(stopped: tuple[Vault, SyncRun]) -> None:
    vault, run = stopped

    assert post(vault, "run-dismiss", run, who="bob").status_code == 302
    again = vault.sync()

    assert again.outcome == SyncOutcome.STOPPED
    assert again.counts["dismissed"] is True
    assert "Somebody decided to keep everything." in text_of(get(vault, "run", again.pk))
    assert "waits for your decision" not in get(vault, "kb-sources").text


def test_dismissed_question_is_asked_again_for_other_files(filled: Vault) -> None:
    for number in range(7):
        (filled.folder / f"notes/n{number}.md").unlink()
    sync_runs.dismiss(principal=filled.alice, run=filled.sync())
    (filled.folder / "notes/n7.md").unlink()

    assert "dismissed" not in filled.sync().counts


def test_looking_again_agrees_to_nothing(stopped: tuple[Vault, SyncRun]) -> None:
    vault, run = stopped
    Job.objects.all().delete()

    assert post(vault, "run-again", run, who="bob").status_code == 302

    assert not Job.objects.get(kind="knowledge.sync_source").payload.get("confirmed")


@pytest.mark.parametrize("name", ["run-confirm", "run-dismiss", "run-again"])
@pytest.mark.parametrize(("who", "status"), [("carol", 403), ("mallory", 404)])
def test_deciding_needs_a_curator(stopped: tuple[Vault, SyncRun], name: str, who: str, status: int) -> None:
    vault, run = stopped

    assert post(vault, name, run, who=who).status_code == status


def test_viewer_reads_but_gets_no_buttons(stopped: tuple[Vault, SyncRun]) -> None:
    vault, run = stopped

    text = text_of(get(vault, "run", run.pk, who="carol"))

    assert "A curator of this workspace can decide." in text
    assert "Agree to the removals" not in text


def test_closed_paths_and_numbers_are_left_out(stopped: tuple[Vault, SyncRun]) -> None:
    vault, run = stopped
    grants.set_grant(root=vault.people.root, holder=vault.people.carol, prefix="notes/n1.md", access=Access.NONE)

    text = text_of(get(vault, "run", run.pk, who="carol"))

    assert "n2.md" in text
    assert "n1.md" not in text
    assert "7 files are missing" in text
    assert "8 missing" not in text


def test_run_of_a_closed_folder_is_not_found(filled: Vault) -> None:
    from knowledge.services import sources

    sources.remove_source(principal=filled.alice, source=filled.source)
    [inner] = sources.add_sources(
        principal=filled.alice, kb=filled.kb, root=filled.people.root, paths=["films"]
    ).sources
    run = sync_source(source=inner, order=Order())
    grants.set_grant(root=filled.people.root, holder=filled.people.carol, prefix="films", access=Access.NONE)

    assert get(filled, "run", run.pk, who="carol").status_code == 404
    assert get(filled, "run", run.pk, who="bob").status_code == 200
    assert "films" not in text_of(get(filled, "kb-runs", who="carol"))


@pytest.mark.parametrize("run_id", ["run_nothing", "%00"])
def test_unknown_run_is_not_found(filled: Vault, run_id: str) -> None:
    assert filled.people.client("alice").get(f"/kb/{filled.kb.pk}/runs/{run_id}/").status_code == 404


def test_list_goes_on_page_by_page(filled: Vault) -> None:
    SyncRun.objects.bulk_create(
        SyncRun(kb=filled.kb, source=filled.source, outcome=SyncOutcome.SUCCEEDED) for _ in range(60)
    )

    page = html.fromstring(get(filled, "kb-runs").text)

    assert len(page.xpath("//li[@data-row]")) == 50
    [more] = page.xpath("//*[@id='more-runs']//a/@href")
    response = filled.people.client("alice").get(str(more), headers={"HX-Request": "true"})
    assert "<html" not in response.text
    assert len(html.fromstring(f"<ul>{response.text}</ul>").xpath("//li[@data-row]")) == 11


def test_run_whose_job_died_is_interrupted(filled: Vault) -> None:
    run = SyncRun.objects.create(kb=filled.kb, source=filled.source, job_id="job_gone")

    assert "The look was interrupted before its end." in text_of(get(filled, "run", run.pk))


def test_decisions_are_noted(stopped: tuple[Vault, SyncRun]) -> None:
    vault, run = stopped
    post(vault, "run-dismiss", run, who="bob")

    assert AuditEntry.objects.get(action="sync.dismiss").actor == vault.people.bob
