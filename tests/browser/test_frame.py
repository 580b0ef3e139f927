from __future__ import annotations

import pytest

from tests.browser.looks import LOOKS


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_sign_in_page_is_accessible(look, visit, snap, accessible):
    page = visit("/sign-in/", look=look)

    snap(page, f"sign-in-{look}")
    accessible(page)


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_home_page_is_accessible(look, visit, snap, accessible, people):
    page = visit("/", as_user=people.alice, look=look)

    snap(page, f"home-{look}")
    accessible(page)


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_account_page_is_accessible(look, visit, snap, accessible, people):
    page = visit("/account/", as_user=people.alice, look=look)

    snap(page, f"account-{look}")
    accessible(page)


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_styleguide_is_accessible(look, visit, snap, accessible, administrator):
    page = visit("/_styleguide/", as_user=administrator, look=look)

    snap(page, f"styleguide-{look}")
    accessible(page)


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_error_page_is_accessible(look, visit, snap, accessible, people, complaints):
    page = visit("/nothing-here/", as_user=people.alice, look=look)

    snap(page, f"error-{look}")
    accessible(page)
    complaints.clear()  # the browser writes every 404 into its console
