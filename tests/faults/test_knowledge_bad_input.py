"""Files that cannot be read, do harm, or do not hold still: each ends with a reason, and its siblings are indexed."""

from __future__ import annotations

import hashlib
import io
import os
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.worlds import World, wait_until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

_PATIENCE = 150.0
_LIMIT_MB = 60


def _encrypted_pdf() -> bytes:
    from fpdf import FPDF
    from fpdf.enums import AccessPermission

    document = FPDF()
    document.add_page()
    document.set_font("helvetica")
    document.cell(text="closed")
    document.set_encryption(owner_password="owner", user_password="user", permissions=AccessPermission.none())
    return bytes(document.output())


def _zip_bomb() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", b"\0" * 300_000_000)
    return stream.getvalue()


#: Name, content, and the reasons that are right for it.
BAD: tuple[tuple[str, Callable[[], bytes], frozenset[str]], ...] = (
    ("locked.pdf", _encrypted_pdf, frozenset({"encrypted"})),
    ("broken.pdf", lambda: b"%PDF-1.7\nnothing more", frozenset({"corrupt"})),
    ("cut.docx", lambda: b"PK\x03\x04 cut short", frozenset({"corrupt"})),
    ("blank.md", lambda: b"", frozenset({"empty"})),
    ("spaces.md", lambda: b" \n\n ", frozenset({"empty", "no_text"})),
    ("binary.md", lambda: os.urandom(4096), frozenset({"corrupt", "unsupported_type", "needs_encoding"})),
    ("bomb.docx", _zip_bomb, frozenset({"too_large", "corrupt"})),
)


def _world_of(world: World, files: dict[str, bytes]) -> tuple[Path, str]:
    world.environment["MNOTE_MAX_FILE_MB"] = str(_LIMIT_MB)
    folder = world.folder.parent / "notes"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder, world.ask("make_kb", str(folder))


def _settled(world: World, kb_id: str) -> Callable[[], bool]:
    return lambda: world.ask("is_quiet", kb_id) and bool(world.ask("states", kb_id))


def test_bad_files_have_a_reason_and_their_siblings_are_indexed(embedded: World) -> None:
    good = {f"good {number}.md": f"# Good\n\nlantern{number:05}x\n".encode() for number in range(5)}
    good["cp1250.txt"] = "zażółć gęślą jaźń, a sentence that is long enough to tell".encode("cp1250")
    folder, kb_id = _world_of(embedded, good | {name: make() for name, make, _ in BAD})
    with (folder / "endless.txt").open("wb") as stream:
        for _ in range(200):
            stream.write(b"word " * 209_715)
    embedded.start_worker()

    wait_until(_settled(embedded, kb_id), "the end of all work", _PATIENCE)

    reasons = embedded.ask("reasons", kb_id)
    assert {name for name in good if name in reasons} == set()
    assert {name: reasons.get(name) for name, _, right in BAD if reasons.get(name) not in right} == {}
    assert reasons["endless.txt"] == "too_large"
    assert embedded.ask("states", kb_id)["indexed"] == len(good)
    words = {name: content.split()[-1].decode() for name, content in good.items() if name.startswith("good")}
    assert embedded.ask("differences", kb_id, words) == []


def test_a_row_without_text_says_what_to_do(embedded: World) -> None:
    _folder, kb_id = _world_of(embedded, {name: make() for name, make, _ in BAD[:4]})
    embedded.start_worker()

    wait_until(_settled(embedded, kb_id), "the end of all work", _PATIENCE)

    explained = embedded.ask("explained", kb_id)
    assert set(explained) == {name for name, _, _ in BAD[:4]}
    for facts in explained.values():
        assert all(facts[name] for name in ("class", "sentence", "next_step", "since")), facts


def test_a_file_that_is_written_to_ends_as_one_version_of_its_last_content(embedded: World) -> None:
    folder, kb_id = _world_of(embedded, {"quiet.md": b"a sibling that holds still"})
    target, is_over = folder / "growing.md", threading.Event()

    def write() -> None:
        number = 0
        while not is_over.wait(0.05):
            with target.open("a") as stream:
                stream.write(f"line {number} of a text that grows\n\n")
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    embedded.start_worker()
    wait_until(lambda: embedded.ask("hash_of", kb_id, "quiet.md") != [""], "the sibling", _PATIENCE)
    time.sleep(2)  # the writer goes on while the folder was looked at
    is_over.set()
    writer.join()
    last = "sha256:" + hashlib.sha256(target.read_bytes()).hexdigest()
    embedded.ask("look_again", kb_id)

    wait_until(lambda: embedded.ask("hash_of", kb_id, "growing.md") == [last], "the last content", _PATIENCE)
    wait_until(_settled(embedded, kb_id), "the end of all work", _PATIENCE)

    assert embedded.ask("differences", kb_id, {"growing.md": "grows"}) == []
    assert embedded.ask("states", kb_id) == {"indexed": 2}


def test_files_that_vanish_before_they_are_read_harm_nobody(embedded: World) -> None:
    files = {f"n{number:03}.md": f"# N\n\nlantern{number:05}x\n".encode() for number in range(60)}
    folder, kb_id = _world_of(embedded, files)
    embedded.ask("look_now", kb_id)
    for number in range(0, 60, 10):
        (folder / f"n{number:03}.md").unlink()
    embedded.start_worker()

    wait_until(_settled(embedded, kb_id), "the end of all work", _PATIENCE)

    states = embedded.ask("states", kb_id)
    assert states["indexed"] == 54
    assert set(embedded.ask("reasons", kb_id).values()) <= {"file_gone", "missing"}
    assert states.get("queued", 0) + states.get("parsing", 0) == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_closed_to_us_waits_with_its_reason(embedded: World) -> None:
    folder, kb_id = _world_of(embedded, {"open.md": b"anybody may read this", "closed.md": b"nobody may"})
    (folder / "closed.md").chmod(0)
    embedded.start_worker()

    wait_until(lambda: "closed.md" in embedded.ask("reasons", kb_id), "a reason", _PATIENCE)

    assert embedded.ask("reasons", kb_id) == {"closed.md": "unreadable"}
    assert embedded.ask("states", kb_id)["indexed"] == 1
