"""The sources tab: rules in words, states that follow from the last look, and what each role may do."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpResponse
from django.urls import reverse
from lxml import html

from knowledge.models import Document, Exclusion, Source, SyncOutcome
from knowledge.services import sources
from knowledge.services.sync import Order, sync_source
from mnote.models import Access, Job, JobStatus
from mnote.services import grants
from tests.factories.knowledge import KnowledgeBaseFactory
from tests.knowledge.vault import Vault


@pytest.fixture
def filled(vault: Vault) -> Vault:
    for number in range(8):
        vault.write(f"notes/n{number}.md", f"# Note {number}\n\nText {number}.\n")
    vault.write("films/a.mp4", b"\x00")
    vault.level()
    Job.objects.all().delete()
    return vault


def page_of(vault: Vault, who: str = "alice") -> html.HtmlElement:
    response = vault.people.client(who).get(reverse("knowledge:kb-sources", args=[vault.kb.pk]))
    assert response.status_code == 200
    return html.fromstring(response.text)


def text_of(vault: Vault, who: str = "alice") -> str:
    return " ".join(page_of(vault, who).text_content().split())


def post(vault: Vault, name: str, *args: Any, who: str = "alice", **data: Any) -> HttpResponse:
    return vault.people.client(who).post(reverse(f"knowledge:{name}", args=[vault.kb.pk, *args]), data)


def test_source_says_its_rules_schedule_and_last_look(filled: Vault) -> None:
    text = text_of(filled)

    assert "everything that can be read · with sub-folders · files up to 50 MB" in text
    assert "Looked at when a file changes, and every 15 minutes. Next look" in text
    assert "leave the index after 24 hours" in text
    assert "+8 new" in text
    assert "1 left out" in text
    assert "This type of file is not read." in text


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"include": ["*.md"]}, "only *.md"),
        ({"exclude": ["drafts/", "*.tmp"]}, "without drafts/, *.tmp"),
        ({"exclude": [f"{n}/" for n in range(9)]}, "5/, +3"),
        ({"recursive": False}, "without sub-folders"),
        ({"max_file_mb": 7}, "files up to 7 MB"),
        ({"sync_mode": "manual"}, "Looked at only when somebody asks."),
        ({"sync_mode": "interval", "interval_minutes": 360}, "Looked at every 6 hours."),
        ({"sync_mode": "interval", "interval_minutes": 1440}, "Looked at every day."),
        ({"disappearance": "keep"}, "stay until somebody decides"),
        ({"safety_stop_percent": 12}, "more than 12 % leave at once"),
    ],
)
def test_rules_are_told_in_words(filled: Vault, rules: dict[str, Any], words: str) -> None:
    Source.objects.filter(pk=filled.source.pk).update(**rules)

    assert words in text_of(filled)


def test_state_follows_from_the_last_look(filled: Vault) -> None:
    assert "level with the disk" in text_of(filled)

    for path in (filled.folder / "notes").iterdir():
        path.unlink()
    filled.sync()
    Job.objects.all().delete()
    text = text_of(filled)

    assert "waits for your decision" in text
    assert "8 missing, kept" in text
    assert page_of(filled).xpath("//a[text()='Decide']")


def test_unreachable_folder_is_said(filled: Vault) -> None:
    filled.folder.rename(filled.folder.parent / "away")
    filled.sync()
    Job.objects.all().delete()

    assert "folder not reachable" in text_of(filled)
    assert "The folder cannot be reached" in text_of(filled)


@pytest.mark.parametrize(
    ("status", "words"), [(JobStatus.QUEUED, "is looked at next"), (JobStatus.RUNNING, "being looked at")]
)
def test_waiting_and_running_looks_are_shown(filled: Vault, status: str, words: str) -> None:
    sources.request_sync(source=filled.source, trigger="manual")
    Job.objects.filter(kind="knowledge.sync_source").update(status=status)

    assert words in text_of(filled)


def test_look_that_never_ended_is_interrupted(filled: Vault) -> None:
    run = filled.source.sync_runs.latest("started_at")
    run.outcome, run.finished_at = SyncOutcome.RUNNING, None
    run.save()

    assert "last look interrupted" in text_of(filled)


def test_failed_documents_lead_to_their_list(filled: Vault) -> None:
    Document.objects.filter(source_path="notes/n1.md").update(index_status="failed")

    [link] = page_of(filled).xpath("//a[contains(@class, 'pill')]")

    assert link.text_content() == "1 failed"
    assert link.get("href").endswith(f"?source={filled.source.pk}&status=failed")


def test_numbers_are_kept_from_who_may_not_read_all(filled: Vault) -> None:
    grants.set_grant(root=filled.people.root, holder=filled.people.carol, prefix="films", access=Access.NONE)

    text = text_of(filled, "carol")

    assert "parts of this folder are closed to you" in text
    assert "new" not in text.split("last look")[1].split("Documents")[0]


def test_source_in_a_closed_folder_is_not_there(filled: Vault) -> None:
    sources.remove_source(principal=filled.alice, source=filled.source)
    [inner] = sources.add_sources(
        principal=filled.alice, kb=filled.kb, root=filled.people.root, paths=["films"]
    ).sources
    grants.set_grant(root=filled.people.root, holder=filled.people.bob, prefix="films", access=Access.NONE)

    assert "films" not in text_of(filled, "bob")
    assert post(filled, "source-sync", inner.pk, who="bob").status_code == 404
    assert post(filled, "source-sync", inner.pk, who="alice").status_code == 302


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("source-sync", {"alice", "bob"}),
        ("source-remove", {"alice"}),
        ("source-thaw", {"alice"}),
    ],
)
@pytest.mark.parametrize("who", ["alice", "bob", "carol", "mallory"])
def test_each_act_has_its_role(filled: Vault, name: str, allowed: set[str], who: str) -> None:
    status = post(filled, name, filled.source.pk, who=who, how="freeze").status_code

    assert status == (302 if who in allowed else 404 if who == "mallory" else 403)


def test_buttons_are_those_one_may_press(filled: Vault) -> None:
    def labels(who: str) -> set[str]:
        found = page_of(filled, who).xpath("//*[contains(@class, 'source-acts')]//*[self::a or self::button]")
        return {" ".join(each.text_content().split()) for each in found}

    assert labels("alice") == {"Look now", "Rules", "Remove…"}
    assert labels("bob") == {"Look now"}
    assert labels("carol") == set()


def test_looking_now_asks_for_one_look(filled: Vault) -> None:
    post(filled, "source-sync", filled.source.pk, who="bob")
    post(filled, "source-sync", filled.source.pk, who="bob")

    [job] = Job.objects.filter(kind="knowledge.sync_source")
    assert job.payload["source_id"] == filled.source.pk
    assert job.requested_by == filled.people.bob


def test_source_of_another_knowledge_base_is_not_found(filled: Vault) -> None:
    other = KnowledgeBaseFactory(root=filled.people.root)

    response = filled.people.client("alice").post(reverse("knowledge:source-sync", args=[other.pk, filled.source.pk]))

    assert response.status_code == 404


RULES = {
    "include": "*.md\n\n reports/** ", "exclude": "", "recursive": "on", "max_file_mb": "5", "when": "60",
    "disappearance": "keep", "grace_hours": "24", "safety_stop_percent": "10",
}  # fmt: skip


def test_rules_are_changed_and_the_source_looked_at(filled: Vault) -> None:
    assert post(filled, "source-edit", filled.source.pk, **RULES).status_code == 302

    source = Source.objects.get(pk=filled.source.pk)
    assert source.include == ["*.md", "reports/**"]
    assert (source.sync_mode, source.interval_minutes, source.disappearance) == ("interval", 60, "keep")
    assert Job.objects.get(kind="knowledge.sync_source").payload["trigger"] == "rules"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("include", "../up", "does not name anything below the folder"),
        ("exclude", "/", "is no pattern"),
        ("include", "x" * 501, "is too long"),
        ("max_file_mb", "0", "greater than or equal to 1"),
        ("safety_stop_percent", "101", "less than or equal to 100"),
        ("when", "never", "Select a valid choice"),
    ],
)
def test_rules_that_cannot_be_used_are_said_at_their_field(filled: Vault, field: str, value: str, message: str) -> None:
    response = post(filled, "source-edit", filled.source.pk, **(RULES | {field: value}))

    assert response.status_code == 422
    assert message in response.text
    assert Source.objects.get(pk=filled.source.pk).include == []


def test_interval_set_elsewhere_is_kept(filled: Vault) -> None:
    Source.objects.filter(pk=filled.source.pk).update(sync_mode="interval", interval_minutes=37)

    response = filled.people.client("alice").get(
        reverse("knowledge:source-edit", args=[filled.kb.pk, filled.source.pk])
    )

    assert html.fromstring(response.text).xpath("//select[@name='when']/option[@selected]/@value") == ["37"]


def test_rules_of_a_single_file_are_fewer(filled: Vault) -> None:
    sources.remove_source(principal=filled.alice, source=filled.source)
    [single] = sources.add_sources(
        principal=filled.alice, kb=filled.kb, root=filled.people.root, paths=["notes/n1.md"]
    ).sources

    response = filled.people.client("alice").get(reverse("knowledge:source-edit", args=[filled.kb.pk, single.pk]))

    assert html.fromstring(response.text).xpath("//*[@name='include']") == []


@pytest.mark.parametrize(("include", "words"), [("*.md", "8 files"), ("n1.md", "1 file"), ("../x", "As it is saved")])
def test_estimate_follows_the_rules_in_the_form(filled: Vault, include: str, words: str) -> None:
    response = post(filled, "source-estimate", filled.source.pk, **(RULES | {"include": include}))

    assert words in " ".join(response.text.split())


def test_removing_asks_with_the_number_and_says_that_files_stay(filled: Vault) -> None:
    address = reverse("knowledge:source-remove", args=[filled.kb.pk, filled.source.pk])

    text = filled.people.client("alice").get(address, headers={"HX-Request": "true"}).text

    assert "8 documents belong to it." in text
    assert "Your files stay where they are." in text
    assert "<html" not in text


def test_removed_source_is_gone_and_its_files_stay(filled: Vault) -> None:
    before = filled.checksums()

    post(filled, "source-remove", filled.source.pk, how="remove")

    assert not Source.objects.filter(pk=filled.source.pk).exists()
    assert Job.objects.filter(kind="knowledge.remove_documents").count() == 1
    assert filled.checksums() == before


def test_frozen_source_stays_searchable_and_can_be_followed_again(filled: Vault) -> None:
    post(filled, "source-remove", filled.source.pk, how="freeze")

    assert "frozen: searchable, not followed" in text_of(filled)
    assert filled.found("note 3")

    post(filled, "source-thaw", filled.source.pk)

    assert Source.objects.get(pk=filled.source.pk).frozen_at is None
    assert Job.objects.get(kind="knowledge.sync_source").payload["trigger"] == "thawed"


def test_frozen_source_is_not_looked_at(filled: Vault) -> None:
    post(filled, "source-remove", filled.source.pk, how="freeze")

    assert post(filled, "source-sync", filled.source.pk).status_code == 404


def test_excluded_file_is_listed_and_included_again(filled: Vault) -> None:
    sources.exclude(principal=filled.alice, kb=filled.kb, targets=[filled.row("notes/n2.md")])
    row = Exclusion.objects.get()
    Job.objects.all().delete()

    assert "notes/n2.md" in text_of(filled)
    assert post(filled, "include-again", row.pk, who="bob").status_code == 302

    assert not Exclusion.objects.exists()
    filled.level()
    assert filled.states()["notes/n2.md"] == "indexed"


def test_excluded_file_in_a_closed_folder_is_not_there(filled: Vault) -> None:
    sources.exclude(principal=filled.alice, kb=filled.kb, targets=[filled.row("notes/n2.md")])
    grants.set_grant(root=filled.people.root, holder=filled.people.bob, prefix="notes", access=Access.NONE)

    assert "n2.md" not in text_of(filled, "bob")
    assert post(filled, "include-again", Exclusion.objects.get().pk, who="bob").status_code == 404


ADD = {**RULES, "include": "", "go": "add"}


def new_kb(vault: Vault) -> Vault:
    """The same folder, a knowledge base without sources."""
    kb = KnowledgeBaseFactory(root=vault.people.root, owner=vault.people.alice)
    return Vault(people=vault.people, kb=kb, source=vault.source)


def test_picked_folder_becomes_a_source_without_what_was_left_out(filled: Vault) -> None:
    other = new_kb(filled)

    response = post(other, "source-new", who="bob", chosen=["notes:"], left_out=["notes:films"], **ADD)

    assert response.status_code == 302
    [source] = other.kb.sources.all()
    assert (source.path, source.exclude, source.interval_minutes) == ("", ["/films"], 60)


def test_picking_is_kept_in_the_form(filled: Vault) -> None:
    response = post(new_kb(filled), "source-new", toggle="notes:films", opened=["notes:"])

    tree = html.fromstring(response.text)
    assert tree.xpath("//input[@name='chosen']/@value") == ["notes:films"]
    assert tree.xpath("//button[@value='notes:' and @name='toggle']/@aria-checked") == ["mixed"]


def test_adding_nothing_is_said(filled: Vault) -> None:
    response = post(new_kb(filled), "source-new", **ADD)

    assert response.status_code == 422
    assert "Choose at least one folder or file." in response.text


def test_adding_what_is_held_already_is_said(filled: Vault) -> None:
    response = post(filled, "source-new", chosen=["notes:films"], **ADD)

    assert response.status_code == 422
    assert "Another source of the knowledge base holds it." in response.text


def test_pasted_path_that_is_not_there_is_said(filled: Vault) -> None:
    response = post(new_kb(filled), "source-new", go="paste", pasted="films\nnowhere/at/all")

    assert "“nowhere/at/all” is not there" in response.text
    assert 'name="chosen" value="notes:films"' in response.text


def test_adding_needs_a_curator(filled: Vault) -> None:
    assert post(filled, "source-new", who="carol", chosen=["notes:films"], **ADD).status_code == 403
    assert post(filled, "source-new", who="mallory", chosen=["notes:films"], **ADD).status_code == 404


def test_estimate_of_what_is_picked(filled: Vault) -> None:
    response = post(new_kb(filled), "source-new-estimate", chosen=["notes:notes"], **ADD)

    assert "8 files" in " ".join(response.text.split())


def test_new_sources_begin_with_the_rules_of_their_knowledge_base(filled: Vault) -> None:
    other = new_kb(filled)
    other.kb.settings_json = {"source_rules": {"sync_mode": "manual", "grace_hours": 99}}
    other.kb.save()

    response = other.people.client("alice").get(reverse("knowledge:source-new", args=[other.kb.pk]))

    tree = html.fromstring(response.text)
    assert tree.xpath("//select[@name='when']/option[@selected]/@value") == ["manual"]
    assert tree.xpath("//input[@name='grace_hours']/@value") == ["99"]


def test_number_of_queries_does_not_grow_with_the_sources(filled: Vault, django_assert_max_num_queries: Any) -> None:
    other = new_kb(filled)
    client = other.people.client("alice")
    address = reverse("knowledge:kb-sources", args=[other.kb.pk])
    sources.add_sources(principal=other.alice, kb=other.kb, root=other.people.root, paths=["films"])
    for source in other.kb.sources.select_related("kb__workspace", "root"):
        sync_source(source=source, order=Order())
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(
        connection,
    ) as few:
        client.get(address)
    sources.add_sources(
        principal=other.alice, kb=other.kb, root=other.people.root, paths=[f"notes/n{n}.md" for n in range(8)]
    )
    for source in other.kb.sources.select_related("kb__workspace", "root"):
        sync_source(source=source, order=Order())
    with CaptureQueriesContext(connection) as many:
        client.get(address)

    assert len(many) <= len(few) + 1
