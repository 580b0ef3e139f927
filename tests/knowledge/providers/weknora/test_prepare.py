from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge.providers.weknora.prepare import Shifts, prepare
from tests.knowledge.providers.weknora.desk import recorded_chunks

PIECES = (
    "word ", "\n", "\n\n", "![a](https://h/p.png)", "[![a](http://h/p)](https://l)", "<img src='https://h/i.gif'>",
    "![big](data:image/png;base64,AAAA\nBBBB)", "data:image/png;base64," + "Q" * 120, "[link](https://h/x)", "\x00",
    "中文。", "😀", "| a | b |\n| --- | --- |\n| 1 | 2 |\n", "base64," + "A" * 220, "\r\n", "![](x.png)", "\ufeff",
)  # fmt: skip


@pytest.mark.parametrize("record", recorded_chunks(), ids=lambda record: record["name"])
def test_prepare_sends_what_was_sent_to_the_live_server(record: dict[str, Any]) -> None:
    ours = record["input"].removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")

    assert prepare(ours).text == record["sent"]


REWRITES = {
    "remote image": ("![a](https://h/p.png)", "![a](//h/p.png)"),
    "remote image, other spelling": ("![a](HTTP://h/p)", "![a](//h/p)"),
    "remote image in angle brackets": ("![a](<https://h/p q>)", "![a](<//h/p q>)"),
    "remote image whose text has brackets": ("![a [b] c](https://h/p)", "![a [b] c](//h/p)"),
    "remote HTML image": ('<img class="x" src="https://h/p">', '<img class="x" src="//h/p">'),
    "linked image": ("[![a](p.png)](https://l)", "[ ![a](p.png)](https://l)"),
    "linked remote image": ("[![a](https://h/p)](https://l)", "[ ![a](//h/p)](https://l)"),
    "inline image": ("![a](data:image/png;base64,AAAA)", "![a](data-image)"),
    "inline image in lines": ("![a](data:image/png;base64,AA\nBB\nCC)", "![a](data-image\n\n)"),
    "inline HTML image": ('<img src="data:image/gif;base64,R0lG">', '<img src="data-image">'),
    "bare inline image": ("x data:image/png;base64," + "A" * 100 + " y", "x data-image y"),
    "bare payload": ("url(data:font/woff;base64," + "A" * 200 + ")", "url(data:font/woff;data-image)"),
    "NUL": ("a\x00b", "a\ufffdb"),
    "half a pair": ("a\ud83db", "a\ufffdb"),
    "plain link": ("[a](https://h/p)", "[a](https://h/p)"),
    "local image": ("![a](images/p.png)", "![a](images/p.png)"),
    "short payload": ("base64,QUJD", "base64,QUJD"),
}


@pytest.mark.parametrize(("ours", "sent"), REWRITES.values(), ids=REWRITES)
def test_prepare_rewrites_only_what_the_server_would(ours: str, sent: str) -> None:
    assert prepare(ours).text == sent


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_prepare_keeps_line_breaks_and_maps_every_line_back(pieces: list[str]) -> None:
    ours = "".join(pieces)
    prepared = prepare(ours)
    folded = ours.replace("\r\n", "\n").replace("\r", "\n")

    assert prepared.text.count("\n") == folded.count("\n")
    for at, character in enumerate(prepared.text):
        start, end = prepared.shifts.to_ours(at, at + 1)
        assert 0 <= start <= end <= len(ours)
        if end - start == 1 and character not in "\ufffd \n":
            assert ours[start:end] == character
    if prepared.text:
        assert prepared.shifts.to_ours(0, len(prepared.text)) in [(0, len(ours)), (1, len(ours))]


def test_prepare_gives_places_after_an_image_as_they_are_in_our_text() -> None:
    ours = "start ![a](https://h/p.png) middle ![b](data:image/png;base64,AAAABBBB) end"
    prepared = prepare(ours)

    for word in ("start", "middle", "end"):
        at = prepared.text.index(word)
        start, end = prepared.shifts.to_ours(at, at + len(word))
        assert ours[start:end] == word


def test_shifts_survive_being_written_down() -> None:
    shifts = prepare("a ![a](https://h/p) b ![b](data:image/png;base64,AAAA) c").shifts

    assert Shifts.read(shifts.note()) == shifts
    assert Shifts.read("") == prepare("plain").shifts


@pytest.mark.parametrize("note", [None, "?", "nonsense", "1:2", "1:2:3:4"])
def test_shifts_that_cannot_be_read_are_unknown(note: str | None) -> None:
    assert Shifts.read(note) is None


def test_shifts_of_very_many_images_are_not_sent_along() -> None:
    assert prepare("![a](https://h/p)\n" * 100).shifts.note() == "?"


@pytest.mark.parametrize("hostile", ["![", "![a](", "<img ", "![a]((", "(data:image/png;base64,", "base64,", "[![a"])
def test_prepare_does_not_choke_on_hostile_text(hostile: str) -> None:
    assert prepare(hostile * 20_000).text.count("\n") == 0
