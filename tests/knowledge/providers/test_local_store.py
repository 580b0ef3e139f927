"""The embedded provider when the disk, the file or another process gets in its way."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from threading import Event

import apsw
import pytest

from knowledge.providers.base import (
    IngestRequest,
    KBRef,
    ProviderKBId,
    ProviderUnavailable,
    SearchOutcome,
    SearchRequest,
)
from knowledge.providers.local.errors import IndexBusy, IndexDamaged, IndexFull, IndexNotWritable
from knowledge.providers.local.provider import LocalProvider
from knowledge.providers.local.store import Store
from tests.conformance.maps import markdown_map

KB = KBRef(kb_id="kb", workspace_id="ws", provider_kb_id=ProviderKBId("kb"), name="kb")


@pytest.fixture
def provider(tmp_path: Path) -> LocalProvider:
    return LocalProvider(tmp_path)


def add(provider: LocalProvider, text: str) -> str:
    source_map = markdown_map(text)
    request = IngestRequest(
        kb=KB, document_id="d", display_name="note.md", source_hash=source_map.source_hash, source_map=source_map
    )
    return provider.ingest(request).state.provider_document_id


def search(provider: LocalProvider, query: str = "lupins") -> SearchOutcome:
    return provider.search(SearchRequest(workspace_id="ws", kbs=(KB,), query=query, limit=200))


def index_file(folder: Path) -> Path:
    return Store(folder).path("ws")


def set_aside(folder: Path, word: str) -> list[Path]:
    found = index_file(folder).parent.glob(f"evidence.sqlite.{word}-*")
    return [path for path in found if not path.name.endswith(("-wal", "-shm"))]


def scribble(path: Path) -> None:
    """Overwrite the file as a broken disk would, its write-ahead log gone."""
    path.write_bytes(b"\xde\xad\xbe\xef" * 4096)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def scribble_inside(path: Path) -> None:
    """Spoil every page but the first, so that the file still opens."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))


def edit_meta(folder: Path, key: str, value: str) -> None:
    connection = apsw.Connection(str(index_file(folder)))
    connection.execute("UPDATE evidence_meta SET value = ? WHERE key = ?", (value, key))
    connection.close()


def close_file(provider: LocalProvider, folder: Path) -> None:
    """Bring all written pages into the main file."""
    provider._store._forget(index_file(folder))


@pytest.mark.parametrize("spoil", [scribble, scribble_inside])
def test_damaged_file_is_set_aside_and_said(
    provider: LocalProvider, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    add(provider, "Lupins.\n")
    close_file(provider, tmp_path)
    spoil(index_file(tmp_path))
    damaged = index_file(tmp_path).read_bytes()

    with pytest.raises(IndexDamaged) as caught:
        search(provider)

    assert caught.value.retryable
    (aside,) = set_aside(tmp_path, "corrupt")
    assert aside.read_bytes() == damaged


def test_damaged_file_is_filled_again(provider: LocalProvider, tmp_path: Path) -> None:
    document = add(provider, "Lupins.\n")
    close_file(provider, tmp_path)
    scribble(index_file(tmp_path))
    with pytest.raises(IndexDamaged):
        search(provider)

    empty = search(provider)
    assert (empty.hits, empty.degraded, empty.notes) == ((), True, ("index-rebuilding",))
    assert provider.rebuild_reason("ws") == "damaged"
    assert provider.list_documents(KB) == []
    assert provider.status().facts["rebuilding"] == 1

    assert add(provider, "Lupins.\n") == document
    provider.finish_rebuild("ws")

    assert provider.rebuild_reason("ws") is None
    assert not search(provider).degraded
    assert len(search(provider).hits) == 1


def test_damaged_file_is_set_aside_once_by_many_threads(provider: LocalProvider, tmp_path: Path) -> None:
    add(provider, "Lupins.\n")
    close_file(provider, tmp_path)
    scribble(index_file(tmp_path))

    def ask(_: int) -> bool:
        try:
            search(provider)
        except IndexDamaged:
            return True
        return False

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(ask, range(32)))

    assert any(said)
    assert len(set_aside(tmp_path, "corrupt")) == 1
    assert provider.rebuild_reason("ws") == "damaged"


def test_status_says_that_a_file_is_damaged(provider: LocalProvider, tmp_path: Path) -> None:
    add(provider, "Lupins.\n")
    close_file(provider, tmp_path)
    scribble(index_file(tmp_path))

    status = provider.status()

    assert not status.reachable
    assert status.facts["code"] == "index-damaged"
    assert str(tmp_path) not in status.sentence


def test_file_of_other_tables_is_set_aside(provider: LocalProvider, tmp_path: Path) -> None:
    add(provider, "Lupins.\n")
    edit_meta(tmp_path, "schema_rev", "0")

    other = LocalProvider(tmp_path)

    assert search(other).notes == ("index-rebuilding",)
    assert other.rebuild_reason("ws") == "outdated"
    assert len(set_aside(tmp_path, "outdated")) == 1


def test_words_of_another_tokenizer_are_made_anew(provider: LocalProvider, tmp_path: Path) -> None:
    add(provider, "Lupins.\n")
    edit_meta(tmp_path, "tokenizer_rev", "words-0")

    assert provider.rebuild_reason("ws") == "tokenizer"
    assert search(provider).notes == ("index-outdated",)
    assert search(provider).degraded

    provider.rebuild_words("ws")

    assert provider.rebuild_reason("ws") is None
    assert search(provider).notes == ()
    assert len(search(provider).hits) == 1


def test_folder_that_cannot_be_made_is_a_misconfiguration(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    provider = LocalProvider(tmp_path / "file" / "indexes")

    with pytest.raises(IndexNotWritable):
        provider.ensure_kb(KB)

    status = provider.status()
    assert (status.reachable, status.facts["code"]) == (False, "index-not-writable")


def test_full_disk_keeps_what_was_there(provider: LocalProvider, tmp_path: Path) -> None:
    kept = add(provider, "Lupins.\n")
    connection = provider._store._connect(index_file(tmp_path)).connection
    pages = connection.execute("PRAGMA page_count").get
    connection.execute(f"PRAGMA max_page_count = {pages}")

    with pytest.raises(IndexFull) as caught:
        add(provider, "More lupins.\n\n" * 2_000)
    connection.execute("PRAGMA max_page_count = 1000000")

    assert caught.value.retryable
    assert [state.provider_document_id for state in provider.list_documents(KB)] == [kept]
    assert add(provider, "More lupins.\n\n" * 2_000) != kept


def test_locked_file_is_busy_for_writers_and_open_to_readers(provider: LocalProvider, tmp_path: Path) -> None:
    add(provider, "Lupins.\n")
    provider._store._connect(index_file(tmp_path)).connection.set_busy_timeout(10)
    other = apsw.Connection(str(index_file(tmp_path)))
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(IndexBusy) as caught:
        add(provider, "More lupins.\n")
    found = search(provider).hits
    other.execute("ROLLBACK")

    assert caught.value.retryable
    assert len(found) == 1
    add(provider, "More lupins.\n")
    assert len(search(provider).hits) == 2


def test_file_dropped_by_another_is_opened_anew(provider: LocalProvider, tmp_path: Path) -> None:
    add(provider, "Lupins.\n")

    LocalProvider(tmp_path).drop_workspace("ws")

    assert search(provider).hits == ()
    add(provider, "New lupins.\n")
    assert [hit.content for hit in search(LocalProvider(tmp_path)).hits] == ["New lupins."]


def test_file_dropped_while_it_is_written_is_no_success(provider: LocalProvider, tmp_path: Path) -> None:
    add(provider, "Lupins.\n")

    def write_while_it_goes() -> None:
        with provider._store.writing("ws") as connection, ThreadPoolExecutor(1) as pool:
            connection.execute("DELETE FROM evidence_block")
            pool.submit(LocalProvider(tmp_path).drop_workspace, "ws").result()

    with pytest.raises(ProviderUnavailable):
        write_while_it_goes()


def test_readers_see_whole_documents_while_one_writes(provider: LocalProvider) -> None:
    text = "Lupins and more.\n\n" * 30
    document = add(provider, text + "End.\n")
    stop = Event()

    def write() -> None:
        while not stop.is_set():
            provider.delete_document(KB, document)
            add(provider, text + "End.\n")

    with ThreadPoolExecutor(4) as pool:
        writer = pool.submit(write)
        totals = {total for part in pool.map(lambda _: counts(provider, document), range(90)) for total in part}
        stop.set()
        writer.result()

    assert totals <= {(0, 0), (31, 31)}


def counts(provider: LocalProvider, document: str) -> set[tuple[int, int]]:
    page = provider.chunks(KB, document, offset=0, limit=100)
    return {(page.total, len(page.chunks))}


def add_many(folder: str, start: int) -> list[str]:
    provider = LocalProvider(Path(folder))
    return [add(provider, f"Lupins, note {number}.\n") for number in range(start, start + 20)]


def test_processes_write_side_by_side(provider: LocalProvider, tmp_path: Path) -> None:
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as pool:
        added = [pool.submit(add_many, str(tmp_path), start) for start in (0, 10, 20)]
        ids = {one for result in added for one in result.result()}

    assert len(ids) == 40
    assert {state.provider_document_id for state in provider.list_documents(KB)} == ids
    assert len(search(provider).hits) == 40


_FORK = """
import os, sys
from pathlib import Path
from tests.knowledge.providers.test_local_store import LocalProvider, add, search
provider = LocalProvider(Path(sys.argv[1]))
add(provider, "Lupins before.\\n")
child = os.fork()
if child == 0:
    add(provider, "Lupins of the child.\\n")
    os._exit(len(search(provider).hits))
found = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
add(provider, "Lupins after.\\n")
print(found, len(search(provider).hits))
"""


def test_forked_child_opens_its_own_connection(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]

    done = subprocess.run(
        [sys.executable, "-c", _FORK, str(tmp_path)], cwd=root, capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.stdout.split(), done.stderr) == (["2", "3"], "")
