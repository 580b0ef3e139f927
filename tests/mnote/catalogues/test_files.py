from __future__ import annotations

import gettext
import os

import polib
import pytest

from mnote.catalogues.extraction import Message
from mnote.catalogues.files import compile_stale, problems, update

SAVE = Message(text="Save %(name)s", file="page.html")
ROWS = Message(text="%(n)d row", plural="%(n)d rows", file="page.html")


@pytest.fixture
def catalogue(tmp_path):
    return tmp_path / "zh_Hans" / "LC_MESSAGES" / "django.po"


def translate(path, text, **changes):
    entries = polib.pofile(str(path))
    entry = entries.find(text, include_obsolete_entries=True)
    for name, value in changes.items():
        setattr(entry, name, value)
    entries.save(str(path))


def test_update_adds_new_texts_and_counts_what_waits(catalogue):
    assert update(catalogue, [SAVE, ROWS]) == 2
    assert polib.pofile(str(catalogue)).find("%(n)d row").msgstr_plural == {0: ""}


def test_update_gives_a_text_that_comes_back_its_translation(catalogue):
    update(catalogue, [SAVE])
    translate(catalogue, SAVE.text, msgstr="保存 %(name)s")

    update(catalogue, [])

    assert list(problems(catalogue, [SAVE])) == [f"missing: {SAVE.text!r} (page.html)"]
    assert update(catalogue, [SAVE]) == 0


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"msgstr": ""}, "empty: 'Save %(name)s' (page.html)"),
        ({"msgstr": "保存 %(name)s", "flags": ["fuzzy"]}, "fuzzy: 'Save %(name)s' (page.html)"),
        ({"msgstr": "保存"}, "placeholders differ: 'Save %(name)s' -> '保存' (page.html)"),
        ({"msgstr": "保存 %(title)s"}, "placeholders differ: 'Save %(name)s' -> '保存 %(title)s' (page.html)"),
    ],
)
def test_problems_names_what_is_wrong(changes, problem, catalogue):
    update(catalogue, [SAVE])
    translate(catalogue, SAVE.text, **changes)

    assert list(problems(catalogue, [SAVE])) == [problem]


def test_problems_is_empty_for_a_complete_catalogue(catalogue):
    update(catalogue, [SAVE])
    translate(catalogue, SAVE.text, msgstr="保存 %(name)s")

    assert list(problems(catalogue, [SAVE])) == []


def test_compile_writes_what_gettext_reads(catalogue, tmp_path):
    update(catalogue, [SAVE])
    translate(catalogue, SAVE.text, msgstr="保存 %(name)s")

    (written,) = compile_stale([tmp_path])

    with written.open("rb") as stream:
        assert gettext.GNUTranslations(stream).gettext(SAVE.text) == "保存 %(name)s"


def test_compile_leaves_what_is_up_to_date(catalogue, tmp_path):
    update(catalogue, [SAVE])
    compile_stale([tmp_path])

    assert compile_stale([tmp_path]) == []

    os.utime(catalogue, ns=(2**62, 2**62))
    assert len(compile_stale([tmp_path])) == 1
