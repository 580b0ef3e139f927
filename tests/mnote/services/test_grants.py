from __future__ import annotations

import pytest

from mnote.exceptions import Invalid
from mnote.models import Access, AuditEntry, Grant
from mnote.selectors import access
from mnote.services import grants
from tests.factories.mnote import GroupFactory
from tests.people import People


@pytest.mark.parametrize(
    ("given", "kept"),
    [("", ""), ("/", ""), ("/team/", "team"), ("team/a", "team/a"), ("caf\\xe9", "caf\\xe9"), ("a\\\\b", "a\\\\b")],
)
def test_set_grant_keeps_one_form_of_the_path(people: People, given: str, kept: str) -> None:
    grant = grants.set_grant(root=people.root, holder=people.mallory, prefix=given, access=Access.READ)

    assert Grant.objects.get(pk=grant.pk).prefix == kept
    assert access.access_map(people.principal("mallory"), people.root).may_read(f"{kept}/x".removeprefix("/"))


@pytest.mark.parametrize("prefix", ["..", "a/../b", "a//b", "./a", "a\0", "a\\b", "\\x41", "\udcff"])
def test_set_grant_refuses_what_is_no_path(people: People, prefix: str) -> None:
    with pytest.raises(Invalid) as error:
        grants.set_grant(root=people.root, holder=people.mallory, prefix=prefix, access=Access.READ)

    assert list(error.value.extra["errors"]) == ["prefix"]


def test_set_grant_again_replaces_the_access(people: People) -> None:
    first = grants.set_grant(root=people.root, holder=people.mallory, prefix="a", access=Access.WRITE)
    second = grants.set_grant(root=people.root, holder=people.mallory, prefix="a/", access=Access.NONE)

    assert first.pk == second.pk
    assert not access.access_map(people.principal("mallory"), people.root).may_read("a")


def test_set_grant_of_a_group_counts_for_its_people(people: People) -> None:
    group = GroupFactory()
    group.user_set.add(people.mallory)

    grants.set_grant(root=people.root, holder=group, prefix="a", access=Access.WRITE)

    assert access.access_map(people.principal("mallory"), people.root).may_write("a/b.md")
    assert not access.access_map(people.principal("carol"), people.root).may_write("a/b.md")


def test_remove_grant_counts_from_the_next_question_on(people: People) -> None:
    grant = grants.set_grant(root=people.root, holder=people.mallory, prefix="a", access=Access.READ)
    principal = people.principal("mallory")
    assert access.access_map(principal, people.root).may_read("a")

    grants.remove_grant(grant=grant, by=people.principal("alice"))
    grants.remove_grant(grant=grant, by=people.principal("alice"))

    assert not access.access_map(principal, people.root).may_read("a")
    assert [entry.actor for entry in AuditEntry.objects.filter(action="grant.remove")] == [people.alice]
