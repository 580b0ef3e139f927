from __future__ import annotations

import itertools

import pytest

from pageai.panel import frames
from pageai.panel.frames import FrameReader, FrameTooLarge
from tests.stubs.openhub_turns import sse

_STREAM = b"".join(
    [
        sse({"type": "session", "conversation_id": "ses_1", "done": False}),
        sse({"type": "text", "content": "三个月 & more", "done": False}),
        sse({"type": "session_idle", "done": False}),
    ]
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 10_000])
def test_reader_finds_the_same_frames_in_pieces_of_any_size(size: int) -> None:
    reader = FrameReader()
    pieces = [_STREAM[start : start + size] for start in range(0, len(_STREAM), size)]

    found = list(itertools.chain.from_iterable(reader.feed(piece) for piece in pieces))

    assert [each.type for each in found] == ["session", "text", "session_idle"]
    assert found[1].text("content") == "三个月 & more"
    assert b"".join(each.raw for each in found) == _STREAM


@pytest.mark.parametrize(
    "raw", [b": comment\n\n", b"data: not json\n\n", b"data: [1]\n\n", b'data: {"type": 7}\n\n', b"\n\n"]
)
def test_reader_passes_on_what_is_no_frame_of_openhub(raw: bytes) -> None:
    (found,) = FrameReader().feed(raw)

    assert (found.raw, found.type, found.is_final) == (raw, "", False)


def test_reader_gives_up_on_a_frame_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_MAX_FRAME_BYTES", 1000)
    reader = FrameReader()

    list(reader.feed(b"x" * 1000))

    with pytest.raises(FrameTooLarge):
        list(reader.feed(b"x"))


def test_reader_takes_time_in_proportion_to_the_bytes() -> None:
    reader = FrameReader()
    looked_at = 0
    for _each in range(2000):
        looked_at += len(list(reader.feed(b"data: " + b"x" * 400)))

    (found,) = reader.feed(b"\n\n")

    assert (looked_at, len(found.raw)) == (0, 2000 * 406 + 2)
