from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.template import Context, Template
from django.utils.translation import override

from mnote.templatetags.mnote_ui import LAMP_SHAPES, age_words, calendar_words, duration, file_size, lamp_word, number

NOW = datetime(2026, 11, 30, 14, 0, tzinfo=UTC)


def render(source, **context):
    return Template("{% load mnote_ui %}" + source).render(Context(context))


@pytest.mark.parametrize(
    ("ago", "english", "chinese"),
    [
        (timedelta(seconds=-5), "just now", "刚刚"),
        (timedelta(seconds=59), "just now", "刚刚"),
        (timedelta(minutes=3), "3 min ago", "3 分钟前"),
        (timedelta(minutes=119), "1 h ago", "1 小时前"),
        (timedelta(hours=13), "13 h ago", "13 小时前"),
        (timedelta(hours=15), "yesterday", "昨天"),
        (timedelta(days=3), "3 days ago", "3 天前"),
        (timedelta(days=90), "1 Sep", "9月1日"),
        (timedelta(days=500), "18 Jul 2025", "2025年7月18日"),
    ],
)
def test_age_is_said_in_a_word_or_two(ago, english, chinese):
    with override("en"):
        assert age_words(NOW - ago, NOW) == english
    with override("zh-hans"):
        assert age_words(NOW - ago, NOW) == chinese


@pytest.mark.parametrize(
    ("at", "english", "chinese"),
    [
        (datetime(2026, 11, 30, 9, 12, tzinfo=UTC), "today 09:12", "今天 09:12"),
        (datetime(2026, 5, 12, 10, 31, tzinfo=UTC), "12 May 10:31", "5月12日 10:31"),
        (datetime(2025, 5, 12, 10, 31, tzinfo=UTC), "12 May 2025 10:31", "2025年5月12日 10:31"),
    ],
)
def test_a_moment_is_said_as_on_the_calendar(at, english, chinese):
    with override("en"):
        assert calendar_words(at, NOW) == english
    with override("zh-hans"):
        assert calendar_words(at, NOW) == chinese


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (None, "–"),
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1_000, "1 KB"),
        (1_536, "2 KB"),
        (1 << 20, "1.0 MB"),
        (18_874_368, "18.0 MB"),
        (1_288_490_189, "1.2 GB"),
    ],
)
def test_a_size_is_said_in_its_unit(size, words):
    assert file_size(size).replace("\N{NO-BREAK SPACE}", " ") == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(None, "–"), (0.42, "0.4 s"), (59.94, "59.9 s"), (72, "1 min 12 s"), (7_500, "2 h 5 min")]
)
def test_a_duration_is_said_in_its_units(seconds, words):
    assert duration(seconds) == words


def test_numbers_have_their_thousands_marked():
    assert (number(1204), number(0), number(None)) == ("1,204", "0", "–")


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_lamp_has_a_shape_and_a_word_of_its_own(language):
    with override(language):
        words = {lamp_word(status) for status in LAMP_SHAPES}

    assert len(words) == len(LAMP_SHAPES) == len(set(LAMP_SHAPES.values())) == 7


@pytest.mark.parametrize("status", LAMP_SHAPES)
def test_a_lamp_says_its_word_even_when_compact(status):
    assert f"<span>{lamp_word(status)}</span>" in render("{% lamp status %}", status=status)
    assert f'<span class="vh">{lamp_word(status)}</span>' in render("{% lamp status compact=True %}", status=status)


def test_a_lamp_counts():
    with override("zh-hans"):
        assert "<span>已索引 1,204</span>" in render("{% lamp 'indexed' count=1204 %}")


def test_texts_in_parts_are_escaped():
    evil = "<img src=x>"

    page = render(
        "{% lamp 'failed' text=evil title=evil %}{% nothing 'file' title=evil %}{{ evil }}{% endnothing %}"
        "{% strip 'bad' id=evil %}{{ evil }}{% endstrip %}{% progress 1 2 evil evil %}",
        evil=evil,
    )

    assert evil not in page


@pytest.mark.parametrize(
    ("value", "total", "shown"), [(0, 0, "100.0"), (5, 10, "50.0"), (12, 10, "100.0"), (-1, 10, "0.0")]
)
def test_progress_stays_between_nothing_and_everything(value, total, shown):
    assert f'value="{shown}"' in render("{% progress value total 'x' %}", value=value, total=total)


@pytest.mark.parametrize(
    ("start", "end", "x", "width"),
    [(0, 0.1, "0.00", "1.00"), (99.9, 100, "99.00", "1.00"), (20, 60, "20.00", "40.00")],
)
def test_a_piece_of_a_timeline_can_always_be_seen(start, end, x, width):
    assert f'x="{x}" y="0" width="{width}"' in render("{% span start end %}", start=start, end=end)


def test_the_address_of_a_page_that_nobody_serves_is_empty():
    assert render("{% page_url 'nothing:here' as x %}[{{ x }}]") == "[]"
