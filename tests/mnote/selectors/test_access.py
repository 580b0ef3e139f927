from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from mnote.exceptions import Forbidden, NotFound
from mnote.models import Access, Role
from mnote.principals import Principal
from mnote.selectors import access
from mnote.selectors.access import AccessMap
from tests.factories.mnote import (
    AuditEntryFactory,
    GrantFactory,
    GroupFactory,
    MembershipFactory,
    RootFactory,
    UserFactory,
    WorkspaceFactory,
)
from tests.people import People

NONE, READ, WRITE = Access.NONE, Access.READ, Access.WRITE

# Names that LIKE, prefix strings, case folding or normalisation would mix up. The last is not UTF-8.
NAMES = ["ws", "ws_x", "WS", "ws%", "w", "é", "e\u0301", "中文", "\\xff\\xfe"]
paths = st.lists(st.sampled_from(NAMES), max_size=4).map("/".join)
rules = st.dictionaries(paths, st.sampled_from(Access), max_size=8)
maps = st.builds(AccessMap, default=st.sampled_from([NONE, READ]), rules=rules)


def naive_access(access_map: AccessMap, path: str) -> Access:
    """The rule as the specification says it: of all prefixes that cover the path, the longest."""
    names = path.split("/") if path else []
    covering = [
        (len(head), value)
        for prefix, value in access_map.rules.items()
        for head in [prefix.split("/") if prefix else []]
        if names[: len(head)] == head
    ]
    return max(covering, key=lambda pair: pair[0])[1] if covering else access_map.default


@given(maps, paths)
def test_access_of_agrees_with_the_plain_rule(access_map: AccessMap, path: str) -> None:
    assert access_map.access_of(path) == naive_access(access_map, path)


@given(maps, paths)
def test_may_enter_is_true_exactly_where_something_readable_lies_at_or_below(access_map: AccessMap, path: str) -> None:
    below = [prefix for prefix in access_map.rules if path in ("", prefix) or prefix.startswith(f"{path}/")]

    expected = any(naive_access(access_map, each) != NONE for each in [path, *below])

    assert access_map.may_enter(path) == expected


@pytest.fixture
def rows(db: None) -> set[str]:
    """One row for each path of up to three names, and some neighbours."""
    three = {f"{a}/{b}/{c}" for a in NAMES for b in NAMES[:3] for c in NAMES[:3]}
    found = three | {f"{a}/{b}" for a in NAMES for b in NAMES} | set(NAMES)
    for path in found:
        AuditEntryFactory(target=path)
    return found


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(maps)
def test_filter_q_keeps_exactly_the_readable_rows(rows: set[str], access_map: AccessMap) -> None:
    from mnote.models import AuditEntry

    found = set(AuditEntry.objects.filter(access_map.filter_q("target")).values_list("target", flat=True))

    assert found == {path for path in rows if naive_access(access_map, path) != NONE}


@pytest.mark.django_db
def test_filter_q_takes_thousands_of_grants() -> None:
    from mnote.models import AuditEntry

    access_map = AccessMap(rules={f"folder{number}/sub": READ for number in range(5_000)})
    AuditEntryFactory(target="folder4999/sub/a.md")
    AuditEntryFactory(target="folder4999/other.md")

    found = AuditEntry.objects.filter(access_map.filter_q("target"))

    assert [row.target for row in found] == ["folder4999/sub/a.md"]


@pytest.mark.parametrize("path", ["../ws", "ws/..", "ws//a", "./ws", "ws/\0", ".."])
def test_access_of_what_is_no_path_is_none(path: str) -> None:
    access_map = AccessMap(default=READ, rules={"ws": WRITE})

    assert access_map.access_of(path) == NONE
    assert not access_map.may_enter(path)


@pytest.mark.parametrize(
    ("role", "grants", "path", "expected"),
    [
        (None, [], "a", NONE),
        (Role.VIEWER, [], "a", READ),
        (Role.OWNER, [], "a", READ),
        (Role.OWNER, [("", WRITE)], "a", WRITE),
        (Role.OWNER, [("", NONE)], "a", NONE),
        (None, [("ws", READ)], "ws/a", READ),
        (None, [("ws", READ)], "ws_x/a", NONE),
        (None, [("ws", READ)], "WS/a", NONE),
        (None, [("ws", READ)], "", NONE),
        (Role.VIEWER, [("ws", NONE), ("ws/open", READ)], "ws/open/a", READ),
        (Role.VIEWER, [("ws", NONE), ("ws/open", READ)], "ws/a", NONE),
        (Role.VIEWER, [("ws", WRITE), ("ws/kept", READ)], "ws/kept/a", READ),
        (None, [("\\xff\\xfe", READ)], "\\xff\\xfe/a.md", READ),
        (None, [("é", READ)], "e\u0301/a.md", NONE),
    ],
)
def test_access_map_follows_membership_and_grants(
    people: People, role: Role | None, grants: list[tuple[str, Access]], path: str, expected: Access
) -> None:
    if role:
        MembershipFactory(workspace=people.workspace, user=people.mallory, role=role)
    for prefix, given_access in grants:
        GrantFactory(root=people.root, user=people.mallory, prefix=prefix, access=given_access)

    assert access.access_map(people.principal("mallory"), people.root).access_of(path) == expected


@pytest.mark.parametrize(
    ("own", "group", "expected"),
    [(READ, WRITE, WRITE), (WRITE, READ, WRITE), (READ, NONE, NONE), (NONE, WRITE, NONE), (READ, READ, READ)],
)
def test_access_map_joins_own_and_group_grants_of_one_prefix(
    people: People, own: Access, group: Access, expected: Access
) -> None:
    GrantFactory(root=people.root, user=people.mallory, prefix="a", access=own)
    GrantFactory(root=people.root, group=group_of(people.mallory), prefix="a", access=group)

    assert access.access_map(people.principal("mallory"), people.root).access_of("a/b") == expected


def test_access_map_prefers_the_deeper_group_grant_to_the_own_one(people: People) -> None:
    GrantFactory(root=people.root, user=people.mallory, prefix="a", access=NONE)
    GrantFactory(root=people.root, group=group_of(people.mallory), prefix="a/b", access=READ)

    assert access.access_map(people.principal("mallory"), people.root).may_read("a/b/c")


def test_access_map_gives_an_administrator_nothing(people: People) -> None:
    admin = UserFactory(is_staff=True, is_superuser=True)

    assert not access.access_map(Principal(user=admin), people.root).sees_anything


def test_access_map_of_one_workspace_gives_nothing_in_another_on_the_same_folder(people: People) -> None:
    twin = RootFactory(folder=people.folder)

    assert not access.access_map(people.principal("alice"), twin).sees_anything


def test_access_map_takes_at_most_two_queries(people: People, django_assert_max_num_queries) -> None:
    for number in range(20):
        GrantFactory(root=people.root, user=people.bob, prefix=f"a/{number}")
    principal = people.principal("bob")

    with django_assert_max_num_queries(2):
        assert access.access_map(principal, people.root).may_read("a/1")


def test_a_closed_account_sees_nothing_even_through_a_principal_made_before(people: People) -> None:
    principal = people.principal("alice")
    GrantFactory(root=people.root, user=people.alice)
    type(people.alice).objects.filter(pk=people.alice.pk).update(is_active=False)

    assert not access.access_map(principal, people.root).sees_anything
    assert access.role_in(principal, people.workspace) is None
    assert not access.workspaces_for(principal).exists()


def test_an_archived_workspace_shows_nothing(people: People) -> None:
    people.workspace.archived_at = datetime(2026, 1, 1, tzinfo=UTC)
    people.workspace.save()
    GrantFactory(root=people.root, user=people.alice, access=WRITE)
    principal = people.principal("alice")

    assert not access.access_map(principal, people.root).sees_anything
    assert access.role_in(principal, people.workspace) is None
    with pytest.raises(NotFound):
        access.get_workspace(principal, people.workspace.pk)


@pytest.mark.parametrize(
    ("own", "group", "expected"),
    [
        (Role.VIEWER, Role.MANAGER, Role.MANAGER),
        (Role.OWNER, Role.CURATOR, Role.OWNER),
        (None, Role.CURATOR, Role.CURATOR),
        (Role.VIEWER, None, Role.VIEWER),
        (None, None, None),
    ],
)
def test_role_in_is_the_strongest_of_own_and_group(
    people: People, own: Role | None, group: Role | None, expected: Role | None
) -> None:
    if own:
        MembershipFactory(workspace=people.workspace, user=people.mallory, role=own)
    if group:
        MembershipFactory(workspace=people.workspace, group=group_of(people.mallory), role=group)

    assert access.role_in(people.principal("mallory"), people.workspace) == expected


@pytest.mark.parametrize(
    ("grants", "expected"),
    [
        ([READ], Role.VIEWER),
        ([WRITE], Role.VIEWER),
        ([NONE], None),
        ([READ, NONE], None),
    ],
)
def test_a_grant_without_membership_makes_a_viewer_if_it_opens_something(
    people: People, grants: list[Access], expected: Role | None
) -> None:
    for given_access, holder in zip(
        grants, [{"user": people.mallory}, {"group": group_of(people.mallory)}], strict=False
    ):
        GrantFactory(root=people.root, prefix="a", access=given_access, **holder)
    principal = people.principal("mallory")

    assert access.role_in(principal, people.workspace) == expected
    assert access.workspaces_for(principal).exists() == (expected is not None)


def test_get_workspace_hides_those_of_others(people: People) -> None:
    assert access.get_workspace(people.principal("carol"), people.workspace.pk) == people.workspace
    for wrong in [people.workspace.pk.upper(), "ws_none", "a\0b", ""]:
        with pytest.raises(NotFound):
            access.get_workspace(people.principal("carol"), wrong)
    with pytest.raises(NotFound):
        access.get_workspace(people.principal("mallory"), people.workspace.pk)


@pytest.mark.parametrize(
    ("name", "role", "error"),
    [
        ("alice", Role.OWNER, None),
        ("bob", Role.CURATOR, None),
        ("bob", Role.VIEWER, None),
        ("bob", Role.MANAGER, Forbidden),
        ("carol", Role.CURATOR, Forbidden),
        ("mallory", Role.VIEWER, NotFound),
    ],
)
def test_require_role_tells_weak_from_stranger(
    people: People, name: str, role: Role, error: type[Exception] | None
) -> None:
    if error is None:
        access.require_role(people.principal(name), people.workspace, role)
        return
    with pytest.raises(error):
        access.require_role(people.principal(name), people.workspace, role)


def test_root_of_finds_by_key_by_uri_and_first(people: People) -> None:
    second = RootFactory(workspace=people.workspace, key="second")

    assert access.root_of(people.workspace, None) == people.root
    assert access.root_of(people.workspace, "second") == second
    assert access.root_of(people.workspace, second.root_uri) == second
    assert access.root_of(people.workspace, f"{second.root_uri}/") == second


@pytest.mark.parametrize(
    "name", ["", "other", "file:///", "file://host/x", "http://notes", "a\0", "file:///%00", "NOTES"]
)
def test_root_of_refuses_what_the_workspace_does_not_have(people: People, name: str) -> None:
    RootFactory(key="other")

    with pytest.raises(NotFound):
        access.root_of(people.workspace, name)


def test_visible_roots_leaves_out_roots_in_which_nothing_is_seen(people: People) -> None:
    closed = RootFactory(workspace=people.workspace)
    GrantFactory(root=closed, user=people.carol, access=NONE)
    GrantFactory(root=closed, user=people.mallory, prefix="a/b")

    def seen_by(name: str) -> list[str]:
        found = access.visible_roots(people.principal(name), [people.workspace])
        return [root.key for root in found.get(people.workspace.pk, [])]

    assert seen_by("alice") == ["notes", closed.key]
    assert seen_by("carol") == ["notes"]
    assert seen_by("mallory") == [closed.key]


def test_visible_roots_takes_the_same_queries_for_many_workspaces(people: People, django_assert_num_queries) -> None:
    workspaces = [people.workspace]
    for _ in range(5):
        other = WorkspaceFactory()
        RootFactory(workspace=other)
        MembershipFactory(workspace=other, user=people.carol)
        workspaces.append(other)
    principal = people.principal("carol")

    with django_assert_num_queries(3):
        assert len(access.visible_roots(principal, workspaces)) == 6


def group_of(user: object) -> Group:
    group = GroupFactory()
    user.groups.add(group)
    return group


def test_filter_q_compares_exactly_on_this_engine(people: People) -> None:
    from mnote.models import AuditEntry

    for target in ["ws", "ws/a", "WS/a", "ws_x/a", "wsa"]:
        AuditEntryFactory(target=target)

    found = AuditEntry.objects.filter(AccessMap(rules={"ws": READ}).filter_q("target")).order_by("pk")

    assert [row.target for row in found] == ["ws", "ws/a"], connection.vendor
