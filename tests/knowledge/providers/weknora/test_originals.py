"""Originals on their way to the server: as a stream, once, under a name that no header can be broken with."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from io import BytesIO
from typing import IO, Any

import pytest

from knowledge.parsing.source_map import ResourceKind
from knowledge.providers.base import Chunk, IngestRequest, KBRef, OriginalChanged
from knowledge.providers.originals import Original
from knowledge.providers.weknora.errors import TextTooLarge, TypeRefused
from knowledge.providers.weknora.multipart import Multipart
from tests.conformance.bench import Bench
from tests.conformance.maps import markdown_map
from tests.knowledge.providers.weknora.desk import Desk
from tests.stubs.weknora import WeKnoraStub
from tests.weknora_documents import recorded, teach

BODY = b"%PDF-1.4 words of a page\n" * 400


class _Counting(BytesIO):
    """A file that remembers the largest piece that was asked for."""

    largest = 0

    def read(self, size: int | None = -1) -> bytes:
        wanted = -1 if size is None else size
        _Counting.largest = max(_Counting.largest, wanted if wanted >= 0 else 1 << 60)
        return super().read(wanted)


def _opener(*bodies: bytes) -> Callable[[], AbstractContextManager[IO[bytes]]]:
    """Open the bodies one after the other, the last one ever after."""
    left = list(bodies)

    @contextmanager
    def opened() -> Iterator[IO[bytes]]:
        yield _Counting(left.pop(0) if len(left) > 1 else left[0])

    return opened


def request(kb: KBRef, *bodies: bytes, name: str = "scan.pdf", **changes: Any) -> IngestRequest:
    """Ask for a file to be handed over; `bodies` are what it holds each time it is opened."""
    source_hash = "sha256:" + hashlib.sha256(bodies[0]).hexdigest()
    source_map = replace(markdown_map("\n"), kind=ResourceKind.PDF, text="", blocks=(), source_hash=source_hash)
    asked = IngestRequest(
        kb=kb,
        document_id="document-1",
        display_name=name,
        source_hash=source_hash,
        source_map=source_map,
        original=Original(open=_opener(*bodies)),
    )
    return replace(asked, **changes)


def test_original_arrives_byte_for_byte_without_being_read_whole(desk: Desk, bench: Bench, kb: KBRef) -> None:
    body = bytes(range(256)) * 40_000  # 10 MB, with every byte there is
    _Counting.largest = 0

    outcome = bench.provider.ingest(request(kb, body))

    assert desk.document(outcome.state.provider_document_id).body == body
    assert outcome.text_hash == ""
    assert 0 < _Counting.largest <= 1024 * 1024


NAMES = [
    'a"b.pdf',
    "line\r\nbreak: x.pdf",
    "Grundriß – 平面图.pdf",
    "../../etc/passwd.pdf",
    "x" * 300 + ".pdf",
    "\udcff.pdf",
]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_breaks_out_of_its_field(desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub, name: str) -> None:
    outcome = bench.provider.ingest(request(kb, BODY, name=name))

    held = desk.document(outcome.state.provider_document_id)
    (asked,) = stub.calls("POST", "/knowledge/file")
    assert (held.body, held.file_type, held.folder) == (BODY, "pdf", "")
    assert b'filename="document"' in asked.body
    assert not {"\r", "\n", '"', "/"} & set(held.name)
    assert len(held.name.encode()) <= 190


def test_length_of_the_form_is_known_before_it_is_read() -> None:
    form = Multipart({"name": "value", "other": ""}, BytesIO(BODY), size=len(BODY))
    announced = len(form)

    assert len(b"".join(form)) == announced


def test_form_of_a_file_that_became_shorter_is_given_up() -> None:
    form = Multipart({}, BytesIO(b"short"), size=500)

    with pytest.raises(OriginalChanged):
        b"".join(form)


def test_file_that_is_another_one_by_now_is_not_sent(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    with pytest.raises(OriginalChanged) as told:
        bench.provider.ingest(request(kb, BODY, source_hash="sha256:of something else"))

    assert told.value.retryable
    assert stub.calls("POST", "/knowledge/file") == []


@pytest.mark.parametrize("later", [BODY[:-7] + b"changed", BODY[:100]], ids=["rewritten", "shorter"])
def test_file_that_changes_while_it_is_sent_leaves_nothing_there(
    desk: Desk, bench: Bench, kb: KBRef, later: bytes
) -> None:
    """Between the look at it and the sending of it somebody saves it."""
    with pytest.raises(OriginalChanged):
        bench.provider.ingest(request(kb, BODY, later))

    assert [each for each in desk.documents(kb) if not each.is_to_be_deleted] == []
    assert bench.provider.ingest(request(kb, BODY)).state.provider_document_id  # its place is free again


def test_original_beyond_the_limit_is_not_sent(desk: Desk, kb: KBRef, stub: WeKnoraStub) -> None:
    with pytest.raises(TextTooLarge) as told:
        desk.provider(max_original_bytes=100).ingest(request(kb, BODY))

    assert told.value.code == "too_large"
    assert stub.calls("POST", "/knowledge/file") == []


@pytest.mark.parametrize("name", ["mail.eml", "sheet.ods", "book.xlsm", "noending"])
def test_type_that_the_server_refuses_is_not_sent(bench: Bench, kb: KBRef, stub: WeKnoraStub, name: str) -> None:
    with pytest.raises(TypeRefused) as told:
        bench.provider.ingest(request(kb, BODY, name=name))

    assert (told.value.code, told.value.retryable) == ("provider-type", False)
    assert stub.calls("POST", "/knowledge/file") == []


def test_same_original_twice_is_one_document(desk: Desk, bench: Bench, kb: KBRef) -> None:
    first = bench.provider.ingest(request(kb, BODY, name="a.pdf"))
    second = desk.provider().ingest(request(kb, BODY, name="b.pdf"))

    assert (first.duplicate, second.duplicate) == (False, True)
    assert first.state.provider_document_id == second.state.provider_document_id


def test_upload_whose_answer_was_lost_finds_its_document(
    desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub
) -> None:
    stub.misbehave(path="/knowledge/file", lose=True)

    outcome = bench.provider.ingest(request(kb, BODY))

    assert [each.id for each in desk.documents(kb)] == [outcome.state.provider_document_id]


def test_reading_is_put_together_from_more_pages_than_one(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    teach(stub.world)
    taught = recorded()["register.xlsx"]
    many = [(n, n * 10, n * 10 + 10, f"word{n:04}x ", "") for n in range(250)]
    stub.world.recorded[hashlib.md5(taught.body, usedforsecurity=False).hexdigest()] = many

    outcome = bench.provider.ingest(request(kb, taught.body, name="register.xlsx"))
    state = bench.settled(kb, outcome.state.provider_document_id, outcome.state)
    converted = bench.provider.converted(kb, state.provider_document_id)  # type: ignore[attr-defined]

    assert converted.text == "".join(content for _n, _start, _end, content, _crumb in many)
    assert len(converted.pieces) == 250


def test_key_of_a_passage_stays_when_pictures_are_stored_anew(bench: Bench) -> None:
    key_of = bench.provider.key_of  # type: ignore[attr-defined]
    hit = _chunk("See ![plan](resource://aaaaaaaaaaaaaaaaaaaaaa) here.")

    assert key_of(hit) == key_of(_chunk("See ![plan](resource://bbbbbbbbbbbbbbbbbbbbbb) here."))
    assert key_of(hit) != key_of(_chunk("See ![plan](resource://bbbbbbbbbbbbbbbbbbbbbb) there"))


def test_own_words_of_a_passage_are_those_that_stand_in_the_file(bench: Bench) -> None:
    """Not the head of a table that is repeated before it, and not what a model made of a picture: that has no
    offsets, and its words may stand in the file by chance."""
    own_words_of = bench.provider.own_words_of  # type: ignore[attr-defined]
    passage = "| [Pump 7](http://pumps.example/7) | 12 bar |"
    headed = replace(_chunk("| Tag | Limit |\n| --- | --- |\n" + passage), provider_end=7 + len(passage))

    assert own_words_of(headed, name="deep/report.docx").split() == ["|", "[Pump", "7]", "|", "12", "bar", "|"]
    assert own_words_of(replace(_chunk("A pump, and its gauge."), provider_end=7), name="report.docx") == ""


def _chunk(content: str) -> Chunk:
    return Chunk(
        chunk_id="c", index=0, content=content, char_start=-1, char_end=-1, provider_start=7,
        provider_end=7 + len(content),
    )  # fmt: skip
