from __future__ import annotations

import pytest

from mnote.catalogues.extraction import messages_in

CODE = [
    ("from django.utils.translation import gettext as _\n_('Save')", ("", "Save", "")),
    ("from django.utils.translation import gettext_lazy\ngettext_lazy('one ' 'text')", ("", "one text", "")),
    ("from django.utils.translation import ngettext\nngettext('a row', '%(n)d rows', 3)", ("", "a row", "%(n)d rows")),
    ("from django.utils.translation import pgettext as c\nc('month', 'May')", ("month", "May", "")),
    ("from django.utils.translation import npgettext\nnpgettext('age', 'day', 'days', 1)", ("age", "day", "days")),
    ("from django.utils import translation\ntranslation.gettext('Home')", ("", "Home", "")),
]  # fmt: skip
TEMPLATES = [
    ("{% translate 'Save' %}", ("", "Save", "")),
    ('{% translate "It\'s" as x %}', ("", "It's", "")),
    ("{% translate 'May' context 'month' %}", ("month", "May", "")),
    ("{{ name|default:_('none') }}", ("", "none", "")),
    ("{% blocktranslate %}until {{ end }}{% endblocktranslate %}", ("", "until %(end)s", "")),
    (
        "{% blocktranslate count n=x %}{{ n }} row{% plural %}{{ n }} rows{% endblocktranslate %}",
        ("", "%(n)s row", "%(n)s rows"),
    ),
]


@pytest.mark.parametrize(("source", "key"), CODE)
def test_extraction_finds_texts_in_code(source, key, tmp_path):
    (tmp_path / "views.py").write_text(source)

    found = messages_in(tmp_path, ("",), ())

    assert [message.key for message in found] == [key]


@pytest.mark.parametrize(("source", "key"), TEMPLATES)
def test_extraction_finds_texts_in_templates(source, key, tmp_path):
    (tmp_path / "page.html").write_text("{% load i18n %}" + source)

    found = messages_in(tmp_path, (), ("",))

    assert [message.key for message in found] == [key]


def test_extraction_leaves_an_underscore_of_another_meaning_alone(tmp_path):
    (tmp_path / "rows.py").write_text("for _ in range(3):\n    _('not a text')\ngettext('nor this')")

    assert messages_in(tmp_path, ("",), ()) == []
