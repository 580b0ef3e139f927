from __future__ import annotations

from django.core.management import call_command
from django.utils.translation import gettext, ngettext, override


def test_catalogues_have_every_text_of_the_project():
    call_command("check_catalogues")


def test_chinese_is_there_as_soon_as_the_project_runs():
    with override("zh-hans"):
        assert gettext("Knowledge bases") == "知识库"


def test_english_has_plurals_without_a_catalogue():
    with override("en"):
        assert ngettext("%(count)d byte", "%(count)d bytes", 2) % {"count": 2} == "2 bytes"
