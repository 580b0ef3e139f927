from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from mnote.models import ApiToken
from mnote.services import profiles, tokens

PASSWORD = "a fine long password"
FRAGMENT = {"HX-Request": "true"}


@pytest.fixture
def alice(people):
    return people.client("alice")


def make_token(alice, **changes):
    data = {"name": "laptop", "scopes": ["knowledge:read", "mcp"], "lifetime": "90"}
    return alice.post("/account/tokens/", data | changes)


def test_account_shows_a_new_secret_exactly_once(alice):
    page = make_token(alice).text

    (secret,) = re.findall(r"mnt_[\w-]{40}", page)
    assert tokens.authenticate(secret).scopes == {"knowledge:read", "mcp"}
    assert secret not in alice.get("/account/").text


def test_account_answers_htmx_with_the_tokens_alone(alice):
    response = alice.post("/account/tokens/", {"name": "x", "scopes": ["mcp"], "lifetime": ""}, headers=FRAGMENT)

    assert response.text.lstrip().startswith('<section class="block setting" id="tokens"')
    assert "<html" not in response.text


@pytest.mark.parametrize(("lifetime", "days"), [("30", 30), ("365", 365), ("", None)])
def test_account_ends_a_token_when_asked(lifetime, days, alice):
    make_token(alice, lifetime=lifetime)

    end = ApiToken.objects.get().expires_at
    if days is None:
        assert end is None
    else:
        assert timedelta(days=days - 1) < end - timezone.now() < timedelta(days=days + 1)


@pytest.mark.parametrize(
    "wrong", [{"name": ""}, {"name": " "}, {"scopes": []}, {"scopes": ["admin:read"]}, {"lifetime": "9"}]
)
def test_account_gives_the_form_back_when_a_token_cannot_be_made(wrong, alice):
    response = make_token(alice, **wrong)

    assert response.status_code == 422
    assert 'aria-invalid="true"' in response.text
    assert not ApiToken.objects.exists()


def test_account_asks_before_it_revokes_a_token(alice):
    make_token(alice)
    token = ApiToken.objects.get()

    question = alice.get(f"/account/tokens/{token.pk}/revoke/", headers=FRAGMENT)

    assert "Revoke the token “laptop”?" in question.text
    token.refresh_from_db()
    assert token.revoked_at is None


def test_account_revokes_a_token(alice):
    make_token(alice)
    token = ApiToken.objects.get()

    alice.post(f"/account/tokens/{token.pk}/revoke/")

    token.refresh_from_db()
    assert token.revoked_at is not None
    assert "laptop" not in re.sub(r'class="toast.*?</div>', "", alice.get("/account/").text, flags=re.DOTALL)


def test_account_does_not_know_tokens_of_others(people, alice):
    make_token(alice)
    token = ApiToken.objects.get()

    assert people.client("mallory").get(f"/account/tokens/{token.pk}/revoke/").status_code == 404
    assert people.client("mallory").post(f"/account/tokens/{token.pk}/revoke/").status_code == 404


def test_account_changes_the_password_and_ends_other_sessions(people, alice):
    profiles.set_password(user=people.alice, password=PASSWORD)
    here, elsewhere = people.client("alice"), people.client("alice")

    data = {"present": PASSWORD, "password": "another long one 2", "again": "another long one 2"}
    assert here.post("/account/password/", data).status_code == 302

    assert here.get("/").status_code == 200
    assert elsewhere.get("/").status_code == 302


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"present": "guess"}, "This is not your present password."),
        ({"again": "something else 1"}, "The two passwords differ."),
        ({"password": "12345678", "again": "12345678"}, "entirely numeric"),
    ],
)
def test_account_refuses_a_password_and_says_why(wrong, message, people):
    profiles.set_password(user=people.alice, password=PASSWORD)
    data = {"present": PASSWORD, "password": "another long one 2", "again": "another long one 2"}

    response = people.client("alice").post("/account/password/", data | wrong)

    assert response.status_code == 422
    assert message in response.text


def test_account_without_a_password_needs_no_present_one(people):
    people.alice.set_unusable_password()
    people.alice.save()
    data = {"password": "another long one 2", "again": "another long one 2"}

    assert people.client("alice").post("/account/password/", data).status_code == 302


def test_account_changes_the_shown_name(people, alice):
    alice.post("/account/name/", {"display_name": "Alice in the office"})

    people.alice.refresh_from_db()
    assert people.alice.shown_name == "Alice in the office"
