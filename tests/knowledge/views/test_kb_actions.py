"""What the pages do to a knowledge base, from sync to removal, and to its documents in batches."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import HttpResponse
from lxml import html

from knowledge.models import IndexStatus, KnowledgeBase
from mnote.models import AuditEntry, Job
from tests.factories.knowledge import DocumentFactory, KnowledgeBaseFactory
from tests.knowledge.vault import Vault

HTMX = {"HX-Request": "true"}


@pytest.fixture
def filled(vault: Vault) -> Vault:
    for status in IndexStatus:
        DocumentFactory(kb=vault.kb, source_path=f"docs/{status}.md", index_status=status, source=vault.source)
    Job.objects.all().delete()
    return vault


def post(vault: Vault, tail: str, who: str = "alice", *, htmx: bool = False, **data: Any) -> HttpResponse:
    return vault.people.client(who).post(f"/kb/{vault.kb.pk}/{tail}", data, headers=HTMX if htmx else {})


def reload(vault: Vault) -> KnowledgeBase:
    return KnowledgeBase.objects.get(pk=vault.kb.pk)


@pytest.mark.parametrize(("what", "full"), [("changes", False), ("full", True)])
def test_sync_looks_at_every_source(filled: Vault, what: str, full: bool) -> None:
    answer = post(filled, "sync", what=what, htmx=True)

    [job] = Job.objects.filter(kind="knowledge.sync_source")
    assert job.payload["full"] is full
    assert "kb:poke" in answer.headers["HX-Trigger"]
    assert "The folders are looked at now." in answer.headers["HX-Trigger"]


@pytest.mark.parametrize("what", ["failed", "stale"])
def test_sync_works_off_what_failed_or_is_out_of_date(filled: Vault, what: str) -> None:
    post(filled, "sync", what=what)

    assert filled.row(f"docs/{what}.md").index_status == "queued"
    assert filled.row("docs/indexed.md").index_status == "indexed"


def test_paused_base_is_not_synced(filled: Vault) -> None:
    post(filled, "pause", paused="1")
    Job.objects.all().delete()

    answer = post(filled, "sync", what="changes", htmx=True)

    assert "The sync is paused. Resume it first." in answer.headers["HX-Trigger"]
    assert not Job.objects.exists()


def test_resuming_looks_at_the_folders_at_once(filled: Vault) -> None:
    post(filled, "pause", paused="1")
    assert reload(filled).paused_at is not None
    Job.objects.all().delete()

    post(filled, "pause", paused="")

    assert reload(filled).paused_at is None
    assert Job.objects.filter(kind="knowledge.sync_source").count() == 1


def test_plain_form_goes_back_where_it_came_from(filled: Vault) -> None:
    assert post(filled, "sync", what="changes", next="/kb/?tab=mine").headers["Location"] == "/kb/?tab=mine"
    assert post(filled, "sync", what="changes", next="//evil.example").headers["Location"] == f"/kb/{filled.kb.pk}/"


def test_settings_are_saved_and_the_change_is_on_record(filled: Vault) -> None:
    post(filled, "settings/", name="New name", description="Other words.")

    kb = reload(filled)
    assert (kb.name, kb.description, kb.default_tool_enabled) == ("New name", "Other words.", False)
    assert AuditEntry.objects.filter(action="kb.update", kb_id=kb.pk).exists()


@pytest.mark.parametrize("name", ["", "x" * 51, "Taken"])
def test_settings_refuse_a_name_that_cannot_be(filled: Vault, name: str) -> None:
    KnowledgeBaseFactory(root=filled.people.root, name="taken")

    answer = post(filled, "settings/", name=name, description="")

    assert answer.status_code == 422
    assert html.fromstring(answer.text).xpath("//*[contains(@class,'errors')]")
    assert reload(filled).name == "Notes"


SYNC = {"section": "sync", "when": "60", "disappearance": "keep", "grace_hours": "48", "safety_stop_percent": "10"}


def test_rules_are_kept_for_new_sources_only(filled: Vault) -> None:
    post(filled, "settings/", **SYNC)

    assert reload(filled).settings_json["source_rules"] == {
        "sync_mode": "interval", "interval_minutes": 60, "disappearance": "keep", "grace_hours": 48,
        "safety_stop_percent": 10,
    }  # fmt: skip
    assert filled.kb.sources.get().grace_hours == 24


def test_rules_can_change_present_sources_too(filled: Vault) -> None:
    post(filled, "settings/", **SYNC, also_present="on")

    source = filled.kb.sources.get()
    assert (source.sync_mode, source.interval_minutes, source.grace_hours) == ("interval", 60, 48)


def test_copy_has_the_settings_and_no_content(filled: Vault) -> None:
    KnowledgeBase.objects.filter(pk=filled.kb.pk).update(settings_json={"source_rules": {"grace_hours": 1}})

    post(filled, "duplicate", name="Copy")

    copy = KnowledgeBase.objects.get(name="Copy")
    assert copy.settings_json == {"source_rules": {"grace_hours": 1}}
    assert (copy.sources.count(), copy.documents.count()) == (0, 0)


def test_clearing_pauses_and_leaves_sources_settings_and_files(vault: Vault) -> None:
    vault.write("a.md", "# A\n\nText.\n")
    vault.level()
    before = vault.checksums()

    post(vault, "clear")

    [job] = Job.objects.filter(kind="knowledge.remove_documents")
    assert job.payload == {"document_ids": [vault.row("a.md").pk], "code": "index_cleared"}
    assert reload(vault).paused_at is not None
    assert vault.kb.sources.count() == 1
    assert vault.checksums() == before


def test_removing_takes_the_base_away_and_leaves_the_files(vault: Vault) -> None:
    vault.write("a.md", "# A\n\nText.\n")
    vault.level()
    before = vault.checksums()

    answer = post(vault, "remove", htmx=True)

    assert answer.headers["HX-Redirect"] == "/kb/"
    assert reload(vault).archived_at is not None
    assert vault.people.client("alice").get(f"/kb/{vault.kb.pk}/").status_code == 404
    assert vault.checksums() == before


@pytest.mark.parametrize(("typed", "is_removed"), [("", False), ("notes", False), ("Notes", True)])
def test_removing_a_large_base_wants_its_name(filled: Vault, typed: str, is_removed: bool) -> None:
    DocumentFactory.create_batch(101, kb=filled.kb)

    post(filled, "remove", name=typed)

    assert (reload(filled).archived_at is not None) is is_removed


def test_question_before_removing_says_what_stays(filled: Vault) -> None:
    answer = filled.people.client("alice").get(f"/kb/{filled.kb.pk}/remove", headers=HTMX)

    assert "Your files stay where they are." in answer.text
    assert html.fromstring(answer.text).xpath("//a[@autofocus]")[0].text_content() == "Cancel"


# --- Batches.


def test_batch_asks_first_with_fresh_numbers(filled: Vault) -> None:
    ids = list(filled.kb.documents.values_list("pk", flat=True))

    answer = post(filled, "batch", htmx=True, action="reindex", doc=ids)

    page = html.fromstring(answer.text)
    assert "Re-index 3 documents?" in answer.text
    assert "1 skipped" in answer.text
    assert sorted(page.xpath("//input[@name='doc']/@value")) == sorted(ids)
    assert filled.row("docs/indexed.md").index_status == "indexed"


def test_batch_that_is_confirmed_is_done(filled: Vault) -> None:
    row = filled.row("docs/indexed.md")

    answer = post(filled, "batch", htmx=True, action="reindex", doc=row.pk, confirmed="1")

    assert filled.row("docs/indexed.md").index_status == "queued"
    assert answer.status_code == 204
    assert "1 document queued." in answer.headers["HX-Trigger"]
    assert {"kb:poke", "kb:close-modal", "kb:select-none"} <= set(_events(answer))


def test_batch_over_all_that_match_uses_the_list_it_was_asked_from(filled: Vault) -> None:
    post(filled, "batch", action="reindex", scope="all", list="status=stale", confirmed="1")

    assert filled.row("docs/stale.md").index_status == "queued"
    assert filled.row("docs/indexed.md").index_status == "indexed"


def test_batch_says_how_many_were_passed_over_and_where_they_are(filled: Vault) -> None:
    ids = list(filled.kb.documents.exclude(index_status="deleted").values_list("pk", flat=True))

    answer = post(filled, "batch", htmx=True, action="retry", doc=ids)

    assert "1 document queued, 5 passed over." in answer.text
    [link] = html.fromstring(answer.text).xpath("//a/@href")
    shown = filled.people.client("alice").get(link).text
    assert shown.count("<tr data-row data-doc") == 5


def test_batch_works_as_a_plain_form(filled: Vault) -> None:
    row = filled.row("docs/indexed.md")

    question = post(filled, "batch", action="exclude", doc=row.pk, list="q=docs")
    done = post(filled, "batch", action="exclude", doc=row.pk, list="q=docs", confirmed="1")

    assert "The files stay where they are." in question.text
    assert done.headers["Location"] == f"/kb/{filled.kb.pk}/?q=docs"
    assert filled.row("docs/indexed.md").index_status == "deleted"


def test_large_batch_goes_to_the_background(filled: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knowledge.services.batches.MANY", 2)

    post(filled, "batch", action="stop", scope="all", list="deep=1", confirmed="1")

    [job] = Job.objects.filter(kind="knowledge.batch")
    assert job.payload["action"] == "stop"
    assert filled.row("docs/queued.md").index_status == "queued"


def test_tags_are_asked_for_and_changed(filled: Vault) -> None:
    row = filled.row("docs/indexed.md")
    post(filled, "batch", action="tags", doc=row.pk, confirmed="1", new="signed, urgent")

    asked = post(filled, "batch", htmx=True, action="tags", doc=row.pk)
    post(filled, "batch", action="tags", doc=row.pk, confirmed="1", remove="urgent")

    assert "1 of 1" in asked.text
    assert filled.row("docs/indexed.md").tags_json == ["signed"]


@pytest.mark.parametrize("action", ["", "delete", "REINDEX"])
def test_unknown_action_is_refused(filled: Vault, action: str) -> None:
    assert post(filled, "batch", action=action, confirmed="1").status_code == 400


@pytest.mark.parametrize(
    ("who", "tail", "status"),
    [
        *(("carol", tail, 403) for tail in ("sync", "pause", "batch", "clear", "remove", "duplicate", "settings/")),
        *(("bob", tail, 403) for tail in ("clear", "remove", "duplicate", "settings/")),
        *(("mallory", tail, 404) for tail in ("sync", "pause", "batch", "pin", "clear", "remove", "settings/")),
    ],
)
def test_action_needs_its_right(filled: Vault, who: str, tail: str, status: int) -> None:
    assert post(filled, tail, who, action="retry", confirmed="1").status_code == status


def test_other_bases_can_be_gone_to(filled: Vault) -> None:
    other = KnowledgeBaseFactory(root=filled.people.root, name="Other")
    KnowledgeBaseFactory(name="Foreign")

    text = filled.people.client("carol").get(f"/kb/{filled.kb.pk}/switch", headers=HTMX).text

    assert f"/kb/{other.pk}/" in text
    assert "Foreign" not in text


def test_about_names_sizes_rights_and_no_server_path(filled: Vault) -> None:
    text = filled.people.client("carol").get(f"/kb/{filled.kb.pk}/about", headers=HTMX).text

    assert "view: search, open, look at states" in text
    assert str(filled.folder) not in text


def _events(answer: HttpResponse) -> list[str]:
    return list(json.loads(answer.headers["HX-Trigger"]))
