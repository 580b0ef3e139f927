from __future__ import annotations

import pytest
from django.test import Client

from mnote.templatetags.mnote_ui import ICONS, LAMP_SHAPES, lamp_word
from tests.factories.mnote import UserFactory


@pytest.fixture
def page(db):
    browser = Client()
    browser.force_login(UserFactory(is_staff=True))
    return browser.get("/_styleguide/").text


def test_styleguide_shows_every_lamp_with_its_word(page):
    for status in LAMP_SHAPES:
        assert f'<span class="lamp {status}"' in page
        assert f"<span>{lamp_word(status)}</span>" in page


def test_styleguide_shows_every_icon(page):
    for path in ICONS.values():
        assert path in page


def test_styleguide_is_for_administrators(people):
    assert people.client("alice").get("/_styleguide/").status_code == 404
