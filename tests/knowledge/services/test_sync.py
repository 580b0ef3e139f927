"""The registry follows the disk, and nothing is lost or touched on the way."""

from __future__ import annotations

import shutil

from knowledge.models import Document, IndexStatus, SyncOutcome
from knowledge.providers.registry import provider_for
from knowledge.services import removal, sources
from knowledge.services.ingest import kb_ref
from tests.knowledge.vault import Vault


def held(vault: Vault) -> int:
    """How many contents the provider holds."""
    return len(provider_for("local").list_documents(kb_ref(vault.kb)))


def test_sync_indexes_new_files_and_leaves_the_folder_as_it_was(vault: Vault) -> None:
    vault.write("a.md", "# Alpha\n\nThe quick brown fox.\n")
    vault.write("子/乙.md", "# 乙\n\n敏捷的棕色狐狸。\n")
    before = vault.checksums()

    run = vault.level()

    assert run.outcome == SyncOutcome.SUCCEEDED
    assert run.counts["added"] == 2
    assert vault.states() == {"a.md": "indexed", "子/乙.md": "indexed"}
    assert vault.found("brown fox") == ["a.md"]
    assert vault.found("棕色狐狸") == ["子/乙.md"]
    assert vault.checksums() == before


def test_second_sync_does_nothing(vault: Vault) -> None:
    vault.write("a.md", "some text to keep")
    vault.level()
    before = vault.row("a.md")

    run = vault.level()

    assert (run.counts["unchanged"], run.counts["added"], run.counts["changed"]) == (1, 0, 0)
    after = vault.row("a.md")
    assert (after.rev, after.indexed_at) == (before.rev, before.indexed_at)


def test_edit_replaces_the_old_text_under_the_same_id(vault: Vault) -> None:
    vault.write("a.md", "the old wording")
    vault.level()
    first = vault.row("a.md")

    vault.write("a.md", "an altogether new sentence")
    vault.level()

    second = vault.row("a.md")
    assert second.id == first.id
    assert second.index_status == IndexStatus.INDEXED
    assert vault.found("old wording") == []
    assert vault.found("altogether new") == ["a.md"]
    assert held(vault) == 1


def test_old_version_stays_searchable_until_the_new_one_is(vault: Vault) -> None:
    vault.write("a.md", "the old wording")
    vault.level()

    vault.write("a.md", "an altogether new sentence")
    vault.sync()

    assert vault.row("a.md").index_status == IndexStatus.QUEUED
    assert vault.found("old wording") == ["a.md"]


def test_move_keeps_row_and_index_entry_and_reads_nothing(vault: Vault) -> None:
    vault.write("notes/x.md", "a passage that moves")
    vault.level()
    before = vault.row("notes/x.md")

    (vault.folder / "notes/sub").mkdir()
    (vault.folder / "notes/x.md").rename(vault.folder / "notes/sub/x.md")
    run = vault.sync()

    after = Document.objects.get(id=before.id)
    assert run.counts["moved"] == 1
    assert after.source_path == "notes/sub/x.md"
    assert after.index_status == IndexStatus.INDEXED
    assert after.indexed_at == before.indexed_at
    assert vault.found("passage that moves") == ["notes/sub/x.md"]


def test_swapped_names_keep_their_ids_with_the_right_content(vault: Vault) -> None:
    vault.write("a.md", "content of the first")
    vault.write("b.md", "content of the second")
    vault.level()
    first, second = vault.row("a.md").id, vault.row("b.md").id

    (vault.folder / "a.md").rename(vault.folder / "t.md")
    (vault.folder / "b.md").rename(vault.folder / "a.md")
    (vault.folder / "t.md").rename(vault.folder / "b.md")
    vault.level()

    assert (vault.row("b.md").id, vault.row("a.md").id) == (first, second)
    assert vault.found("content of the first")[0] == "b.md"


def test_deleted_file_leaves_search_at_once_and_the_index_after_the_grace_period(vault: Vault) -> None:
    vault.write("a.md", "something to delete")
    vault.write("b.md", "something to keep")
    vault.level()

    (vault.folder / "a.md").unlink()
    vault.level()

    assert vault.row("a.md").index_status == IndexStatus.DELETED
    assert vault.row("a.md").reason_code == "missing"
    assert vault.found("something to delete") == ["b.md"]
    assert held(vault) == 2

    vault.source.grace_hours = 0
    vault.source.save()
    assert removal.remove_overdue() == 1
    assert held(vault) == 1


def test_file_that_comes_back_within_the_grace_period_is_not_read_again(vault: Vault) -> None:
    path = vault.write("a.md", "here, gone, here again")
    vault.level()
    indexed_at = vault.row("a.md").indexed_at
    aside = vault.folder.parent / "aside.md"
    path.rename(aside)
    vault.level()

    aside.rename(path)
    vault.level()

    assert vault.row("a.md").index_status == IndexStatus.INDEXED
    assert vault.row("a.md").indexed_at == indexed_at
    assert vault.found("gone, here again") == ["a.md"]


def test_vanished_root_removes_nothing(vault: Vault) -> None:
    for number in range(10):
        vault.write(f"n{number}.md", f"note number {number}")
    vault.level()
    aside = vault.folder.parent / "unmounted"
    vault.folder.rename(aside)

    run = vault.level()

    assert run.outcome == SyncOutcome.STOPPED
    assert run.reason_code == "root_gone"
    assert set(vault.states().values()) == {"indexed"}
    aside.rename(vault.folder)
    assert vault.level().outcome == SyncOutcome.SUCCEEDED


def test_emptied_root_waits_for_a_person(vault: Vault) -> None:
    for number in range(10):
        vault.write(f"n{number}.md", f"note number {number}")
    vault.level()
    for path in vault.folder.iterdir():
        path.unlink()

    run = vault.level()

    assert (run.outcome, run.reason_code) == (SyncOutcome.STOPPED, "root_empty")
    assert len(run.review) == 10
    assert set(vault.states().values()) == {"indexed"}

    confirmed = vault.sync(confirmed=True)
    assert confirmed.outcome == SyncOutcome.SUCCEEDED
    assert set(vault.states().values()) == {"deleted"}


def test_many_removals_at_once_wait_for_a_person(vault: Vault) -> None:
    for number in range(20):
        vault.write(f"d/n{number}.md", f"note number {number}")
    vault.level()
    for number in range(10):
        (vault.folder / f"d/n{number}.md").unlink()

    run = vault.level()

    assert (run.outcome, run.reason_code) == (SyncOutcome.STOPPED, "over_limit")
    assert list(vault.states().values()).count("indexed") == 20


def test_identical_files_share_one_entry_and_one_survives_the_other(vault: Vault) -> None:
    vault.write("a.md", "the very same words")
    vault.write("copies/b.md", "the very same words")
    vault.level()
    assert held(vault) == 1
    [reference] = vault.search("very same words")
    assert [reference.document.source_path, *reference.also_at] == ["a.md", "copies/b.md"]

    sources.exclude(principal=vault.alice, kb=vault.kb, targets=[vault.row("a.md")])
    removal.remove(documents_to_remove=[vault.row("a.md")], code="excluded_by_hand")

    assert held(vault) == 1
    assert vault.found("very same words") == ["copies/b.md"]


def test_excluded_file_does_not_come_back(vault: Vault) -> None:
    vault.write("a.md", "not wanted here")
    vault.level()
    sources.exclude(principal=vault.alice, kb=vault.kb, targets=[vault.row("a.md")])

    vault.level()

    assert vault.row("a.md").index_status == IndexStatus.DELETED
    assert vault.found("not wanted") == []
    assert (vault.folder / "a.md").exists()

    sources.include_again(principal=vault.alice, kb=vault.kb, root=vault.people.root, path="a.md")
    vault.level()
    assert vault.found("not wanted") == ["a.md"]


def test_file_that_became_blank_loses_its_old_text(vault: Vault) -> None:
    vault.write("a.md", "the secret is here")
    vault.level()
    document_id = vault.row("a.md").id

    vault.write("a.md", " \n")
    vault.level()

    row = vault.row("a.md")
    assert row.id == document_id
    assert vault.found("secret") == []
    assert row.index_status in (IndexStatus.FAILED, IndexStatus.DELETED)
    assert row.reason_code == "empty"


def test_bad_files_fail_with_a_reason_and_their_siblings_do_not(vault: Vault) -> None:
    vault.write("good.md", "a good file")
    vault.write("broken.pdf", b"%PDF-1.7 nothing more")
    vault.write("lies.md", b"\x00\x01\x02\x03" * 64)
    vault.write("notes.docx", b"PK\x03\x04 truncated")
    vault.level()

    states = vault.states()
    assert states["good.md"] == "indexed"
    assert {states[name] for name in ("broken.pdf", "lies.md", "notes.docx")} == {"failed"}
    for name in ("broken.pdf", "lies.md", "notes.docx"):
        row = vault.row(name)
        assert row.reason_class == "file", name
        assert row.reason_code in ("corrupt", "unsupported_type"), name


def test_left_out_files_have_a_reason_or_no_row(vault: Vault) -> None:
    vault.write("a.md", "text")
    vault.write("movie.mp4", b"\x00\x00\x00\x18ftypmp42")
    vault.write(".git/config", "[core]")
    vault.write(".env", "SECRET=1")

    run = vault.level()

    assert vault.states() == {"a.md": "indexed", "movie.mp4": "skipped"}
    assert vault.row("movie.mp4").reason_code == "unsupported_type"
    assert run.counts["skippedBy"]["secret"] == 1


def test_well_known_names_without_an_extension_are_read(vault: Vault) -> None:
    for name in ("README", "Makefile", "LICENSE-MIT", "unknown"):
        vault.write(name, f"The lantern of {name}.")

    vault.level()

    assert vault.states() == {
        "README": "indexed",
        "Makefile": "indexed",
        "LICENSE-MIT": "indexed",
        "unknown": "skipped",
    }
    assert vault.found("lantern Makefile")[0] == "Makefile"


def test_names_that_are_not_utf8_work_from_disk_to_citation(vault: Vault) -> None:
    (vault.folder / "x").mkdir()
    with open(bytes(vault.folder) + b"/x/caf\xe9.md", "wb") as stream:  # noqa: PTH123 the name is no text
        stream.write(b"a table by the window")
    vault.level()

    [reference] = vault.search("table by the window")

    assert reference.document.source_path == "x/caf\\xe9.md"
    assert vault.open(reference).state.value == "exact"


def test_source_folder_replaced_by_a_file_of_the_same_name(vault: Vault) -> None:
    vault.write("thing.md/inner.md", "a folder with an odd name")
    vault.level()
    shutil.rmtree(vault.folder / "thing.md")
    vault.write("thing.md", "now it is a file")

    vault.level()

    assert vault.row("thing.md").index_status == IndexStatus.INDEXED
    assert vault.found("now it is a file") == ["thing.md"]
