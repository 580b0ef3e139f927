from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.sessions.models import Session
from django.utils import timezone

from mnote.exceptions import Conflict, Gone, Invalid, NotAuthenticated
from mnote.models import SignInLink
from mnote.services import tokens, users
from tests.factories.mnote import UserFactory
from tests.people import People


def test_deactivate_ends_sessions_tokens_and_links_for_good(people: People) -> None:
    secret, link = people.token("bob"), users.make_sign_in_link(people.bob)
    browser, other = people.client("bob"), people.client("alice")

    users.deactivate(people.bob)
    users.activate(people.bob)

    assert Session.objects.filter(pk=other.session.session_key).exists()
    assert not Session.objects.filter(pk=browser.cookies["mnote_session"].value).exists()
    with pytest.raises(NotAuthenticated):
        tokens.authenticate(secret)
    with pytest.raises(Gone):
        users.use_sign_in_link(link)


def test_deactivate_keeps_the_last_superuser(db: None) -> None:
    first, second = UserFactory(is_superuser=True), UserFactory(is_superuser=True)
    users.deactivate(second)

    with pytest.raises(Conflict):
        users.deactivate(first)
    first.refresh_from_db()
    assert first.is_active


def test_sign_in_link_works_once(people: People) -> None:
    secret = users.make_sign_in_link(people.carol)

    assert users.use_sign_in_link(secret) == people.carol
    with pytest.raises(Gone):
        users.use_sign_in_link(secret)


def test_sign_in_link_is_kept_as_a_hash(people: People) -> None:
    secret = users.make_sign_in_link(people.carol)

    assert secret not in str(SignInLink.objects.values().get())


@pytest.mark.parametrize("secret", ["", "x" * 40, "\udcff", "\0"])
def test_sign_in_link_refuses_what_was_never_made(db: None, secret: str) -> None:
    with pytest.raises(Gone):
        users.use_sign_in_link(secret)


def test_sign_in_link_ends_after_its_time(people: People) -> None:
    secret = users.make_sign_in_link(people.carol)

    with time_machine.travel(timezone.now() + users.SIGN_IN_LINK_LASTS + timedelta(seconds=1)), pytest.raises(Gone):
        users.use_sign_in_link(secret)


def test_sign_in_link_is_not_made_for_a_closed_account(people: People) -> None:
    users.deactivate(people.carol)

    with pytest.raises(Conflict):
        users.make_sign_in_link(people.carol)


def test_set_preferences_changes_some_and_removes_with_none(people: People) -> None:
    users.set_preferences(user=people.alice, values={"kb.list.view": "rows", "kb.list.sort": {"by": "name"}})
    users.set_preferences(user=people.alice, values={"kb.list.view": "cards", "kb.list.sort": None, "a": [1, None]})
    users.set_preferences(user=people.alice, values={"my.page-1.view_2": "x"})

    assert users.preferences_of(people.alice) == {
        "kb.list.view": "cards",
        "a": [1, None],
        "my.page-1.view_2": "x",
    }
    assert users.preferences_of(people.bob) == {}


@pytest.mark.parametrize("key", ["", "A", "a b", "a..b", ".a", "a.", "_b", "../a", "é", "a" * 121, "a\n", "{{7*7}}"])
def test_set_preferences_refuses_a_key_that_is_no_name(people: People, key: str) -> None:
    with pytest.raises(Invalid) as error:
        users.set_preferences(user=people.alice, values={key: 1})

    assert list(error.value.extra["errors"]) == [f"values.{key}"]


@pytest.mark.parametrize("value", ["x" * 8191, float("inf"), float("nan"), "a\0b", ["\udcff"], {"\0": 1}])
def test_set_preferences_refuses_a_value_that_cannot_be_kept(people: People, value: Any) -> None:
    with pytest.raises(Invalid):
        users.set_preferences(user=people.alice, values={"a": value})


@pytest.mark.parametrize("value", ["x" * 8190, "", 0, False, "\\u0000", "语言", {"a": {"b": [1.5]}}])
def test_set_preferences_gives_back_what_was_given(people: People, value: Any) -> None:
    users.set_preferences(user=people.alice, values={"a": value})

    assert users.preferences_of(people.alice) == {"a": value}


def test_set_preferences_keeps_a_bounded_number(people: People) -> None:
    users.set_preferences(user=people.alice, values={f"key{number}": 1 for number in range(200)})

    with pytest.raises(Invalid):
        users.set_preferences(user=people.alice, values={"one-more": 1})
    assert len(users.preferences_of(people.alice)) == 200
