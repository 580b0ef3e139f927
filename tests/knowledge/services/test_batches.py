"""One thing done to many documents: what fits, what is passed over, who may, and that files stay."""

from __future__ import annotations

import pytest

from knowledge.models import Document, DocumentTag, Exclusion, IndexStatus
from knowledge.selectors.document_lists import Filters
from knowledge.services import batches
from knowledge.services.batches import Action, Selection
from mnote.exceptions import Forbidden, Invalid
from mnote.models import Access, AuditEntry, Job
from mnote.services import grants
from tests.factories.knowledge import DocumentFactory
from tests.knowledge.vault import Vault


@pytest.fixture
def mixed(vault: Vault) -> Vault:
    """One document in each state, below `docs/`."""
    for status in IndexStatus:
        DocumentFactory(kb=vault.kb, source_path=f"docs/{status}.md", index_status=status, source=vault.source)
    Job.objects.all().delete()
    return vault


EVERYTHING = Selection(filters=Filters(), is_all=True)


def run(vault: Vault, action: Action, selection: Selection = EVERYTHING, who: str = "alice") -> batches.Done:
    return batches.run(principal=vault.people.principal(who), kb=vault.kb, selection=selection, action=action)


@pytest.mark.parametrize(
    ("action", "became"),
    [
        (Action.REINDEX, {"indexed": "queued", "failed": "queued", "stale": "queued"}),
        (Action.RETRY, {"failed": "queued"}),
        (Action.STOP, {"queued": "failed", "parsing": "failed"}),
    ],
)
def test_batch_changes_what_fits_and_passes_over_the_rest(mixed: Vault, action: Action, became: dict[str, str]) -> None:
    done = run(mixed, action)

    states = {path.rpartition("/")[2].removesuffix(".md"): state for path, state in mixed.states().items()}
    assert states == {status.value: became.get(status.value, status.value) for status in IndexStatus}
    assert done.count == len(became)
    assert done.passed_over == len(IndexStatus) - len(became)


def test_batch_gives_every_changed_row_a_revision_of_its_own(mixed: Vault) -> None:
    before = max(Document.objects.values_list("rev", flat=True))

    run(mixed, Action.REINDEX)

    revs = list(Document.objects.filter(rev__gt=before).values_list("rev", flat=True))
    assert len(revs) == len(set(revs)) == 3


@pytest.mark.parametrize("action", [Action.REINDEX, Action.RETRY])
def test_batch_asks_for_workers(mixed: Vault, action: Action) -> None:
    run(mixed, action)

    assert Job.objects.filter(kind="resource_parse", kb_id=mixed.kb.pk).exists()


def test_stopped_document_says_who_stopped_it(mixed: Vault) -> None:
    run(mixed, Action.STOP, who="bob")

    row = mixed.row("docs/queued.md")
    assert (row.reason_code, row.reason_detail) == ("stopped", "bob")


def test_all_that_match_are_looked_for_again_when_it_is_done(mixed: Vault) -> None:
    selection = Selection(filters=Filters(statuses=("failed",)), is_all=True)
    DocumentFactory(kb=mixed.kb, source_path="docs/late.md", index_status="failed")

    assert run(mixed, Action.RETRY, selection).count == 2


def test_all_that_match_can_leave_some_out(mixed: Vault) -> None:
    kept = mixed.row("docs/indexed.md")
    selection = Selection(filters=Filters(), is_all=True, left_out=(kept.pk,))

    run(mixed, Action.REINDEX, selection)

    assert mixed.row("docs/indexed.md").index_status == "indexed"


def test_no_ids_mean_no_documents(mixed: Vault) -> None:
    assert run(mixed, Action.REINDEX, Selection(filters=Filters())).count == 0


def test_batch_does_not_touch_what_the_person_may_not_read(mixed: Vault) -> None:
    grants.set_grant(root=mixed.people.root, holder=mixed.people.bob, prefix="docs", access=Access.NONE)

    done = run(mixed, Action.REINDEX, who="bob")

    assert (done.count, done.passed_over) == (0, 0)


def test_batch_does_not_touch_another_base(mixed: Vault) -> None:
    foreign = DocumentFactory(index_status="failed")

    assert run(mixed, Action.RETRY, Selection(filters=Filters(), ids=(foreign.pk,))).count == 0


@pytest.mark.parametrize("action", list(Action)[:4])
def test_viewer_may_not_do_it(mixed: Vault, action: Action) -> None:
    with pytest.raises(Forbidden):
        run(mixed, action, who="carol")


def test_excluded_documents_stay_out_and_their_files_stay(vault: Vault) -> None:
    for number in range(3):
        vault.write(f"n{number}.md", f"# {number}\n\nText.\n")
    vault.level()
    before = vault.checksums()

    run(vault, Action.EXCLUDE, Selection(filters=Filters(query="n1"), is_all=True))
    vault.level()

    assert vault.states() == {"n0.md": "indexed", "n1.md": "deleted", "n2.md": "indexed"}
    assert Exclusion.objects.filter(kb=vault.kb).count() == 1
    assert vault.checksums() == before


def test_tags_are_added_and_removed_and_others_stay(mixed: Vault) -> None:
    row = mixed.row("docs/indexed.md")
    Document.objects.filter(pk=row.pk).update(tags_json=["old", "kept"])
    DocumentTag.objects.bulk_create([DocumentTag(document=row, name=name) for name in ("old", "kept")])

    batches.change_tags(
        principal=mixed.alice, kb=mixed.kb, selection=Selection(filters=Filters(), ids=(row.pk,)),
        add=[" new  one ", "kept"], remove=["old"],
    )  # fmt: skip

    row.refresh_from_db()
    assert row.tags_json == ["kept", "new one"]
    assert set(row.tag_rows.values_list("name", flat=True)) == {"kept", "new one"}


def test_tag_that_is_too_long_is_refused(mixed: Vault) -> None:
    with pytest.raises(Invalid):
        batches.change_tags(principal=mixed.alice, kb=mixed.kb, selection=EVERYTHING, add=["x" * 81], remove=[])


def test_selection_survives_a_job_payload() -> None:
    selection = Selection(
        filters=Filters(query="*.md", statuses=("failed",), tags=("a",), path="docs", is_browsing=True, page=3),
        ids=("src_1",),
        is_all=True,
        left_out=("src_2",),
    )

    assert Selection.from_json(selection.to_json()) == selection


def test_batch_writes_one_line_into_the_audit_trail(mixed: Vault) -> None:
    run(mixed, Action.REINDEX, who="bob")

    [entry] = AuditEntry.objects.filter(action="source.reindex")
    assert (entry.actor, entry.facts) == (mixed.people.bob, {"count": 3})
