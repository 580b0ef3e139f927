from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from mnote.exceptions import Invalid, NotAuthenticated
from mnote.models import ApiToken, AuditEntry, TokenScope
from mnote.services import tokens, users
from tests.factories.mnote import UserFactory
from tests.people import People

READ = TokenScope.KNOWLEDGE_READ


def test_create_token_shows_the_secret_once_and_keeps_its_hash(people: People) -> None:
    token, secret = tokens.create_token(user=people.alice, name=" laptop ", scopes=[READ], kb_ids=["kb_1"])

    stored = ApiToken.objects.filter(pk=token.pk).values().get()
    assert secret.startswith("mnt_")
    assert len(secret) == 44
    assert not any(secret in str(value) or secret[12:] in str(value) for value in stored.values())
    assert (stored["name"], stored["scopes"], stored["kb_ids"]) == ("laptop", [READ], ["kb_1"])
    assert secret not in str(list(AuditEntry.objects.values()))


def test_create_token_never_makes_the_same_secret_or_one_from_another(people: People) -> None:
    made = {tokens.create_token(user=people.alice, name="x", scopes=[READ])[1] for _ in range(50)}

    assert len(made) == len({secret[:12] for secret in made}) == 50
    assert all(sum(secret.count(char) for secret in made) > 0 for char in "abcXYZ019")


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 121}, "name"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["everything"]}, "scopes"),
        ({"scopes": [TokenScope.ADMIN_READ]}, "scopes"),
        ({"kb_ids": ["x" * 41]}, "kb_ids"),
        ({"kb_ids": [f"kb_{number}" for number in range(101)]}, "kb_ids"),
        ({"expires_at": timezone.now() - timedelta(seconds=1)}, "expires_at"),
    ],
)
def test_create_token_names_the_value_that_is_wrong(people: People, given: dict[str, object], field: str) -> None:
    with pytest.raises(Invalid) as error:
        tokens.create_token(**({"user": people.alice, "name": "x", "scopes": [READ]} | given))

    assert list(error.value.extra["errors"]) == [field]
    assert not ApiToken.objects.exists()


def test_create_token_lets_administrators_take_the_admin_scope(db: None) -> None:
    admin = UserFactory(is_staff=True)
    _, secret = tokens.create_token(user=admin, name="x", scopes=[TokenScope.ADMIN_READ])

    assert tokens.authenticate(secret).is_administrator


def test_authenticate_gives_the_person_narrowed_by_the_token(people: People) -> None:
    _, secret = tokens.create_token(user=people.bob, name="ci", scopes=[READ], kb_ids=["kb_1"])

    principal = tokens.authenticate(secret)

    assert principal.user == people.bob
    assert principal.token_name == "ci"
    assert principal.has_scope(READ)
    assert not principal.has_scope(TokenScope.KNOWLEDGE_WRITE)
    assert principal.may_use_kb("kb_1")
    assert not principal.may_use_kb("kb_2")


def _expired(people: People) -> str:
    with time_machine.travel(timezone.now() - timedelta(days=2), tick=False):
        ends = timezone.now() + timedelta(days=1)
        return tokens.create_token(user=people.alice, name="x", scopes=[READ], expires_at=ends)[1]


def _revoked(people: People) -> str:
    token, secret = tokens.create_token(user=people.alice, name="x", scopes=[READ])
    tokens.revoke_token(token=token)
    return secret


def _suspended(people: People) -> str:
    secret = people.token("bob", READ)
    type(people.bob).objects.filter(pk=people.bob.pk).update(is_active=False)
    return secret


def _deactivated_and_back(people: People) -> str:
    secret = people.token("bob", READ)
    users.deactivate(people.bob)
    users.activate(people.bob)
    return secret


BAD = {
    "expired": _expired,
    "revoked": _revoked,
    "suspended": _suspended,
    "deactivated and back": _deactivated_and_back,
    "cut": lambda people: people.token("alice")[:-1],
    "longer": lambda people: people.token("alice") + "a",
    "other case": lambda people: people.token("alice").swapcase(),
    "the hash itself": lambda people: ApiToken.objects.create(user=people.alice, secret_hash="a" * 64).secret_hash,
    "the shown part": lambda people: people.token("alice")[:10],
    "empty": lambda people: "",
    "no text": lambda people: "mnt_\udcff\0",
}


@pytest.mark.parametrize("kind", BAD)
def test_authenticate_refuses_every_dead_or_wrong_token_alike(people: People, kind: str) -> None:
    secret = BAD[kind](people)

    with pytest.raises(NotAuthenticated) as error:
        tokens.authenticate(secret)

    with pytest.raises(NotAuthenticated) as unknown:
        tokens.authenticate("mnt_" + "x" * 40)
    assert str(error.value) == str(unknown.value)


def test_authenticate_takes_a_token_until_the_second_it_ends(people: People) -> None:
    start = timezone.now()
    ends = start + timedelta(hours=1)
    _, secret = tokens.create_token(user=people.alice, name="x", scopes=[READ], expires_at=ends)

    with time_machine.travel(ends - timedelta(seconds=1), tick=False):
        assert tokens.authenticate(secret)
    with time_machine.travel(ends, tick=False), pytest.raises(NotAuthenticated):
        tokens.authenticate(secret)


def test_authenticate_notes_the_use_at_most_once_a_minute(people: People) -> None:
    token, secret = tokens.create_token(user=people.alice, name="x", scopes=[READ])
    start = timezone.now()
    seen = []
    for seconds in (0, 59, 61):
        with time_machine.travel(start + timedelta(seconds=seconds), tick=False):
            tokens.authenticate(secret)
        token.refresh_from_db()
        seen.append(round((token.last_used_at - start).total_seconds()))

    assert seen == [0, 0, 61]


def test_authenticate_costs_one_query_while_the_use_is_fresh(people: People, django_assert_num_queries) -> None:
    secret = people.token("alice")
    tokens.authenticate(secret)

    with django_assert_num_queries(1):
        tokens.authenticate(secret)


def test_revoke_token_twice_is_one_event(people: People) -> None:
    token, _ = tokens.create_token(user=people.alice, name="x", scopes=[READ])

    tokens.revoke_token(token=token, by=people.principal("alice"))
    tokens.revoke_token(token=token, by=people.principal("alice"))

    assert AuditEntry.objects.filter(action="token.revoke").count() == 1
