"""The embedded index is made whole again from registry, files and artifacts, with the same ids and places."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from knowledge.models import IndexStatus
from knowledge.providers.base import IngestRequest, ProviderDocumentId
from knowledge.providers.local.store import Store
from knowledge.providers.registry import local_provider
from knowledge.selectors.index_states import index_state
from knowledge.services import drain, index_refresh, parsing, search
from knowledge.services.ingest import kb_ref
from mnote.models import Job
from tests.knowledge.vault import Vault


@pytest.fixture
def filled(vault: Vault) -> Vault:
    for number in range(5):
        vault.write(f"n{number}.md", f"# Note {number}\n\nA lantern in harbour number {number}.\n\nMore.\n")
    vault.level()
    level_index(vault)
    return vault


def level_index(vault: Vault) -> None:
    """Do what the worker does until the index is whole."""
    while index_refresh.refresh(workspace=vault.people.workspace):
        while drain.drain(kb=vault.kb, worker="test").more:
            pass


def index_file(vault: Vault, settings: Any) -> Path:
    return Store(Path(settings.MNOTE_INDEX_DIR)).path(vault.people.workspace.pk)


def blocks(vault: Vault, settings: Any) -> list[tuple[Any, ...]]:
    with Store(Path(settings.MNOTE_INDEX_DIR)).reading(vault.people.workspace.pk) as connection:
        return connection.execute(
            "SELECT block_id, resource_id, ordinal, text, line_range_json, char_range_json, locator_json"
            " FROM evidence_block ORDER BY block_id"
        ).fetchall()


def break_index(kind: str, path: Path) -> None:
    """Do it from outside, as another program or an upgrade does: another file stands there afterwards."""
    other = path.with_name("other.sqlite")
    if kind == "damaged":
        other.write_bytes(b"this is no database" * 100)
    elif kind == "outdated":
        connection = apsw.Connection(str(path))
        connection.execute("VACUUM INTO ?", (str(other),))
        connection.close()
        connection = apsw.Connection(str(other))
        connection.execute("UPDATE evidence_meta SET value = '0' WHERE key = 'schema_rev'")
        connection.close()
    for each in path.parent.glob(f"{path.name}*"):
        if kind != "log left behind" or each == path:
            each.unlink()
    if other.exists():
        other.rename(path)


@pytest.mark.parametrize("kind", ["deleted", "log left behind", "damaged", "outdated"])
def test_index_comes_back_with_equal_ids_and_places(filled: Vault, settings: Any, kind: str) -> None:
    before, files = blocks(filled, settings), filled.checksums()
    break_index(kind, index_file(filled, settings))
    filled.write("late.md", "written after the accident")

    filled.level()
    assert index_refresh.request_if_needed(filled.people.workspace)
    level_index(filled)

    after = [row for row in blocks(filled, settings) if "after the accident" not in row[3]]
    assert after == before
    assert set(filled.states().values()) == {IndexStatus.INDEXED}
    assert filled.found("lantern harbour")
    assert not index_refresh.request_if_needed(filled.people.workspace)
    assert {path: fact for path, fact in filled.checksums().items() if path != "late.md"} == files


def test_search_and_strip_say_that_the_index_is_built_anew(filled: Vault, settings: Any) -> None:
    shutil.rmtree(index_file(filled, settings).parent)
    index_refresh.request_where_needed()

    waiting = index_refresh.refresh(workspace=filled.people.workspace)

    assert waiting == 5
    state = index_state(filled.people.workspace.pk)
    assert state is not None
    assert (state.code, state.waiting) == ("index_rebuilding", 5)
    scope = search.Scope(workspace=filled.people.workspace)
    found = search.search(principal=filled.alice, scope=scope, query="lantern")
    assert "index-rebuilding" in found.notes


def test_whole_index_asks_for_nothing(filled: Vault) -> None:
    Job.objects.all().delete()

    assert index_refresh.request_where_needed() == 0
    assert not Job.objects.filter(kind="evidence_index_refresh").exists()
    assert index_state(filled.people.workspace.pk) is None


def test_missing_file_that_comes_back_after_the_index_was_lost_is_read_again(filled: Vault, settings: Any) -> None:
    aside = filled.folder.parent / "aside.md"
    (filled.folder / "n1.md").rename(aside)
    filled.level()
    shutil.rmtree(index_file(filled, settings).parent)
    level_index(filled)

    aside.rename(filled.folder / "n1.md")
    filled.level()

    assert filled.row("n1.md").index_status == IndexStatus.INDEXED
    assert "n1.md" in filled.found("harbour number 1")


def give_to_older_reader(vault: Vault, path: str) -> None:
    """Make a document look as an older version of MNote left it."""
    row, provider = vault.row(path), local_provider()
    source_map = parsing.known(workspace_id=row.workspace_id, source_hash=row.indexed_hash, name=row.name)
    assert source_map is not None
    provider.delete_document(kb_ref(vault.kb), ProviderDocumentId(row.provider_knowledge_id))
    request = IngestRequest(
        kb=kb_ref(vault.kb), document_id=row.id, display_name=row.name, source_hash=row.indexed_hash,
        source_map=replace(source_map, model_version="older"),
    )  # fmt: skip
    outcome = provider.ingest(request)
    vault.kb.documents.filter(id=row.id).update(provider_knowledge_id=outcome.state.provider_document_id)


def test_older_reader_is_replaced_and_its_entries_go(vault: Vault) -> None:
    vault.write("a.md", "# A\n\nread twice, held once")
    vault.write("b.txt", "read by another parser")
    vault.level()
    level_index(vault)
    old, other = vault.row("a.md").provider_knowledge_id, vault.row("b.txt").indexed_at
    give_to_older_reader(vault, "a.md")

    assert index_refresh.request_if_needed(vault.people.workspace)
    level_index(vault)

    assert vault.row("a.md").provider_knowledge_id == old
    held = {state.provider_document_id for state in local_provider().list_documents(kb_ref(vault.kb))}
    assert held == {old, vault.row("b.txt").provider_knowledge_id}
    assert vault.row("b.txt").indexed_at == other
    assert vault.found("held once") == ["a.md"]
    assert not index_refresh.request_if_needed(vault.people.workspace)
