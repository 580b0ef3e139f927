"""A piece cut anywhere is made whole: it keeps what it held, and ends where sentences and passages do."""

from __future__ import annotations

import pytest

from knowledge.citations.sentences import whole_sentences
from tests.conformance.maps import markdown_map

PROSE = (
    "First things first. The report is due\non the fifteenth of February. Nobody asked why.\n\nAnother passage here."
)
HAN = "每天凌晨两点备份数据库，并复制文件。恢复之前先停止服务。"


@pytest.mark.parametrize(
    ("text", "cut", "whole"),
    [
        (PROSE, "due\non the", "The report is due\non the fifteenth of February."),
        (PROSE, "The report is due", "The report is due\non the fifteenth of February."),
        (PROSE, "on the fifteenth of February.", "The report is due\non the fifteenth of February."),
        (PROSE, "Nobody asked why.", "Nobody asked why."),
        (PROSE, "asked why.\n\nAnother", "Nobody asked why.\n\nAnother passage here."),
        (HAN, "并复制文件", "每天凌晨两点备份数据库，并复制文件。"),
        (HAN, "恢复之前先停止服务。", "恢复之前先停止服务。"),
    ],
)
def test_cut_inside_a_sentence_is_made_whole(text: str, cut: str, whole: str) -> None:
    start = text.index(cut)

    first, last = whole_sentences(markdown_map(text), start, start + len(cut))

    assert text[first:last] == whole


def test_sentence_that_never_ends_stays_cut() -> None:
    text = "word " * 1000
    start, end = whole_sentences(markdown_map(text.rstrip()), 2000, 2500)

    assert (start, end) == (2000, 2500 - 1)


def test_every_cut_keeps_what_it_held() -> None:
    source_map = markdown_map(PROSE)
    for start in range(len(PROSE)):
        for end in range(start + 1, len(PROSE) + 1):
            first, last = whole_sentences(source_map, start, end)
            assert first <= start
            assert PROSE[first:last].rstrip() == PROSE[first:last]
            assert last >= start + len(PROSE[start:end].rstrip())
