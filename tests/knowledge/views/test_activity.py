"""Activity: curators see who did what, nobody learns of a closed file, jobs can be tried again and cancelled."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from lxml import html

from mnote.models import Access, AuditEntry, Job, JobStatus
from mnote.services import audit, grants
from tests.factories.knowledge import KnowledgeBaseFactory
from tests.factories.mnote import AuditEntryFactory, JobFactory, WorkspaceFactory
from tests.knowledge.vault import Vault


@pytest.fixture
def used(vault: Vault) -> Vault:
    """A knowledge base to which some things were done."""
    Job.objects.all().delete()
    AuditEntry.objects.all().delete()
    people = vault.people
    for who, action, target, facts in [
        ("alice", "kb.create", "Notes", {}),
        ("bob", "source.exclude", "private/diary.md", {}),
        ("bob", "file.upload", "public/a.md", {"bytes": 12, "sha256": "f" * 64}),
        ("alice", "kb.update", "Notes", {"before": {"name": "Old"}, "after": {"name": "Notes"}}),
        ("alice", "grant.set", "private", {"access": "none", "holder": "carol"}),
    ]:
        audit.record(
            principal=people.principal(who), action=action, workspace=people.workspace, kb_id=vault.kb.pk,
            target=target, facts=facts,
        )  # fmt: skip
    audit.record(
        principal=people.principal("bob"), action="file.upload", workspace=people.workspace, kb_id=vault.kb.pk,
        target="public/b.md", outcome="failed", facts={"code": "disk-full"},
    )  # fmt: skip
    return vault


def get(vault: Vault, who: str = "alice", *, everywhere: bool = False, **query: Any) -> HttpResponse:
    address = reverse("knowledge:activity") if everywhere else reverse("knowledge:kb-activity", args=[vault.kb.pk])
    return vault.people.client(who).get(address, query)


def done(response: HttpResponse) -> list[str]:
    rows = html.fromstring(response.text).xpath("//ul[contains(@class, 'entries-done')]/li/*[@class='main']")
    return [" ".join(row.text_content().split()) for row in rows]


def test_owner_sees_everything_newest_first(used: Vault) -> None:
    rows = done(get(used))

    assert rows[0].startswith("bob added the file public/b.md failed")
    assert rows[-1] == "alice made the knowledge base Notes"
    assert len(rows) == 6


def test_changes_are_told_as_before_and_after(used: Vault) -> None:
    assert any("name: Old → Notes" in row for row in done(get(used)))


def test_reason_of_a_failure_is_told_in_words(used: Vault) -> None:
    assert "reason: The disk of the server is full" in done(get(used))[0]
    assert "f" * 64 not in get(used).text


def test_chosen_values_are_told_in_the_language_of_the_reader(used: Vault) -> None:
    facts = {"before": {"sync_mode": "manual"}, "after": {"sync_mode": "on_change"}}
    audit.record(
        principal=used.people.principal("alice"), action="source.update", workspace=used.people.workspace,
        kb_id=used.kb.pk, target="Notes", facts=facts,
    )  # fmt: skip

    address = reverse("knowledge:kb-activity", args=[used.kb.pk])
    rows = done(used.people.client("alice").get(address, headers={"Accept-Language": "zh-hans"}))

    assert "手动 → 更改时" in rows[0]
    assert "权限: 无" in rows[2]


def test_curator_sees_no_rights_and_no_closed_file(used: Vault) -> None:
    assert any("private/diary.md" in row for row in done(get(used, "bob")))
    assert not any("access right" in row for row in done(get(used, "bob")))

    grants.set_grant(root=used.people.root, holder=used.people.bob, prefix="private", access=Access.NONE)

    rows = done(get(used, "bob"))
    assert not any("private" in row for row in rows)
    assert any("public/a.md" in row for row in rows)


def test_viewer_sees_what_became_of_knowledge_bases_only(used: Vault) -> None:
    rows = done(get(used, "carol"))

    assert [row.split()[1] for row in rows] == ["changed", "made"]
    assert "Export as CSV" not in get(used, "carol").text


def test_stranger_sees_nothing(used: Vault) -> None:
    assert get(used, "mallory").status_code == 404
    assert "No workspace yet" in get(used, "mallory", everywhere=True).text


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"kind": "kb"}, 2),
        ({"kind": "file"}, 2),
        ({"kind": "rights"}, 1),
        ({"actor": "bob"}, 3),
        ({"outcome": "failed"}, 1),
        ({"outcome": "succeeded"}, 5),
        ({"kind": "kb", "actor": "bob"}, 0),
        ({"from": "2100-01-01"}, 0),
        ({"to": "2000-01-01"}, 0),
        ({"from": "nonsense", "to": "2026-99-99", "kind": "magic", "page": "x"}, 6),
    ],
)
def test_entries_are_narrowed(used: Vault, query: dict[str, str], count: int) -> None:
    assert len(done(get(used, **query))) == count


def test_nothing_that_fits_offers_a_way_back(used: Vault) -> None:
    assert "Show everything" in get(used, actor="nobody").text


def test_entries_of_other_workspaces_are_not_there(used: Vault) -> None:
    AuditEntryFactory(action="kb.create", target="Elsewhere", workspace=WorkspaceFactory())

    assert "Elsewhere" not in get(used, everywhere=True).text


def test_entries_of_other_knowledge_bases_are_not_on_the_tab(used: Vault) -> None:
    other = KnowledgeBaseFactory(root=used.people.root, name="Other")
    audit.record(
        principal=used.alice, action="kb.create", workspace=used.people.workspace, kb_id=other.pk, target="Other"
    )

    assert not any("Other" in row for row in done(get(used)))
    assert any("Other" in row for row in done(get(used, everywhere=True)))


def table(response: HttpResponse) -> list[list[str]]:
    text = b"".join(response.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    return list(csv.reader(io.StringIO(text)))


def test_export_holds_what_the_page_shows(used: Vault) -> None:
    response = get(used, kind="file", format="csv")

    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    head, *rows = table(response)
    assert head[:4] == ["at", "person", "token", "action"]
    assert [row[4] for row in rows] == ["public/b.md", "public/a.md"]
    assert rows[0][5] == "failed"


def test_export_passes_the_same_filter(used: Vault) -> None:
    grants.set_grant(root=used.people.root, holder=used.people.bob, prefix="private", access=Access.NONE)

    assert "private" not in str(table(get(used, "bob", format="csv")))
    assert len(table(get(used, "carol", format="csv"))) == 3


@pytest.mark.parametrize("target", ["=1+1", "+cmd", "-2", "@sum", "\tx"])
def test_export_gives_no_formula_to_a_spreadsheet(used: Vault, target: str) -> None:
    audit.record(
        principal=used.alice, action="file.upload", workspace=used.people.workspace, kb_id=used.kb.pk, target=target
    )

    assert table(get(used, format="csv"))[1][4] == f"'{target}"


def test_list_goes_on_page_by_page(used: Vault) -> None:
    for number in range(60):
        audit.record(
            principal=used.alice, action="kb.sync", workspace=used.people.workspace, kb_id=used.kb.pk,
            target=f"round {number}",
        )  # fmt: skip

    page = get(used)
    assert len(done(page)) == 50
    [more] = html.fromstring(page.text).xpath("//*[@id='more-done']//a/@hx-get")
    rest = used.people.client("alice").get(str(more), headers={"HX-Request": "true"})
    assert rest.text.count("<li>") == 16
    assert "<html" not in rest.text


def job(vault: Vault, **facts: Any) -> Job:
    return JobFactory(
        workspace=vault.people.workspace, kb_id=vault.kb.pk,
        **({"kind": "knowledge.sync_source", "requested_by": vault.people.alice} | facts),
    )  # fmt: skip


def jobs(response: HttpResponse) -> list[str]:
    return [" ".join(row.text_content().split()) for row in html.fromstring(response.text).xpath("//*[@id='jobs']//li")]


def test_jobs_say_what_they_are_and_how_they_stand(used: Vault) -> None:
    now = timezone.now()
    job(used)
    job(used, status=JobStatus.RUNNING, started_at=now, progress={"count": 1200})
    job(used, kind="knowledge.import_address", status=JobStatus.FAILED, finished_at=now,
        error_code="address-unreachable", error_detail="3 tries")  # fmt: skip
    job(used, status=JobStatus.SUCCEEDED, finished_at=now)

    running, waiting, failed = jobs(get(used))

    assert running.startswith("Look at a folder runs")
    assert "documents 1,200" in running
    assert waiting.startswith("Look at a folder waits")
    assert failed.startswith("Fetch a web address failed")
    assert "This address does not answer" in failed
    assert len(jobs(get(used, jobs="all"))) == 4
    assert len(jobs(get(used, jobs="failed"))) == 1


def test_technical_details_are_for_who_asked(used: Vault) -> None:
    job(
        used, status=JobStatus.FAILED, finished_at=timezone.now(), error_code="internal", error_detail="secret.md broke"
    )

    assert "secret.md broke" in get(used, "alice").text
    assert "secret.md broke" not in get(used, "bob").text


def test_jobs_section_asks_again_only_while_something_is_done(used: Vault) -> None:
    assert "hx-trigger" not in html.tostring(
        html.fromstring(get(used).text).xpath("//*[@id='jobs']")[0], encoding="unicode"
    )

    job(used)

    [trigger] = html.fromstring(get(used).text).xpath("//*[@id='jobs']/@hx-trigger")
    assert trigger == "every 5s"


def act(vault: Vault, name: str, target: Job, who: str, **data: str) -> HttpResponse:
    return vault.people.client(who).post(reverse(f"knowledge:job-{name}", args=[target.pk]), data)


@pytest.mark.parametrize(("who", "status"), [("alice", 302), ("bob", 302), ("carol", 403), ("mallory", 404)])
def test_acting_on_a_job_needs_a_curator(used: Vault, who: str, status: int) -> None:
    failed = job(used, status=JobStatus.FAILED, finished_at=timezone.now())

    assert act(used, "retry", failed, who).status_code == status
    failed.refresh_from_db()
    assert failed.status == (JobStatus.QUEUED if status == 302 else JobStatus.FAILED)


def test_viewer_gets_no_buttons(used: Vault) -> None:
    job(used)

    assert "Cancel" not in jobs(get(used, "carol"))[0]
    assert "Cancel" in jobs(get(used, "bob"))[0]


def test_cancelled_job_is_noted(used: Vault) -> None:
    waiting = job(used)

    assert act(used, "cancel", waiting, "bob", next="/activity/?jobs=all").headers["Location"] == "/activity/?jobs=all"

    waiting.refresh_from_db()
    assert waiting.status == JobStatus.CANCELLED
    assert AuditEntry.objects.get(action="job.cancel").target == waiting.pk


def test_job_that_cannot_be_tried_again_says_so(used: Vault) -> None:
    finished = job(used, status=JobStatus.SUCCEEDED, finished_at=timezone.now())

    response = used.people.client("alice").post(reverse("knowledge:job-retry", args=[finished.pk]), follow=True)

    assert "Only a job that waits, failed or was cancelled can be tried again" in response.text


@pytest.mark.parametrize("address", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_way_back_stays_here(used: Vault, address: str) -> None:
    assert act(used, "cancel", job(used), "bob", next=address).headers["Location"].startswith("/kb/")


def test_one_workspace_can_be_chosen(used: Vault) -> None:
    other = WorkspaceFactory(name="Other")
    from tests.factories.mnote import MembershipFactory

    MembershipFactory(workspace=other, user=used.people.alice, role="owner")
    audit.record(principal=used.alice, action="kb.create", workspace=other, target="Elsewhere")

    assert any("Elsewhere" in row for row in done(get(used, everywhere=True)))
    assert not any("Elsewhere" in row for row in done(get(used, everywhere=True, workspace=used.people.workspace.pk)))
