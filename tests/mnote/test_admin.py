from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from mnote.exceptions import NotAuthenticated
from mnote.models import (
    Access,
    ApiToken,
    AuditEntry,
    Grant,
    Job,
    JobStatus,
    Membership,
    Role,
    Root,
    User,
    WorkerBeat,
    Workspace,
)
from mnote.selectors import access
from mnote.services import tokens, users
from tests.factories.mnote import (
    AuditEntryFactory,
    GrantFactory,
    GroupFactory,
    JobFactory,
    MembershipFactory,
    RootFactory,
    UserFactory,
    WorkspaceFactory,
)
from tests.people import People

MODELS = [ApiToken, AuditEntry, Grant, Job, Membership, Root, User, WorkerBeat, Workspace]
SHOWN_ONLY = [AuditEntry, Job, Root, WorkerBeat]


@pytest.fixture
def boss(db: None) -> User:
    return UserFactory(username="boss", is_staff=True, is_superuser=True)


@pytest.fixture
def client(boss: User) -> Client:
    client = Client()
    client.force_login(boss)
    return client


@pytest.fixture
def rows(people: People) -> dict[type, Any]:
    """One row of each table, with a person, a group and a secret behind it."""
    people.token("alice")
    return {
        ApiToken: ApiToken.objects.get(),
        AuditEntry: AuditEntryFactory(actor=people.alice, target="team/plan.md"),
        Grant: GrantFactory(root=people.root, group=GroupFactory(), prefix="caf\\xe9"),
        Job: JobFactory(workspace=people.workspace, status=JobStatus.FAILED),
        Membership: MembershipFactory(workspace=people.workspace, group=GroupFactory()),
        Root: people.root,
        User: people.alice,
        WorkerBeat: WorkerBeat.objects.create(worker="host:1"),
        Workspace: people.workspace,
    }


def address(model: type, page: str, *args: object) -> str:
    return reverse(f"admin:mnote_{model.__name__.lower()}_{page}", args=args)


def act(client: Client, name: str, *found: Any) -> HttpResponse:
    body = {"action": name, "_selected_action": [each.pk for each in found]}
    return client.post(address(type(found[0]), "changelist"), body, follow=True)


@pytest.mark.parametrize("model", MODELS)
def test_admin_lists_searches_and_shows_every_table(client: Client, rows: dict[type, Any], model: type) -> None:
    assert client.get(address(model, "changelist")).status_code == 200
    assert client.get(address(model, "changelist"), {"q": "x\\%_'"}).status_code == 200
    assert client.get(address(model, "change", rows[model].pk)).status_code == 200


@pytest.mark.parametrize("model", MODELS)
def test_admin_shows_no_secret_and_no_hash(client: Client, rows: dict[type, Any], model: type) -> None:
    users.make_sign_in_link(User.objects.get(username="alice"))
    pages = [client.get(address(model, "changelist")), client.get(address(model, "change", rows[model].pk))]

    text = "".join(page.content.decode() for page in pages)

    assert rows[ApiToken].secret_hash not in text
    assert "-secret" not in text
    assert not re.search(r"mnt_[\w-]{20}", text)


@pytest.mark.parametrize("model", SHOWN_ONLY)
def test_admin_only_shows_what_it_would_be_a_lie_to_edit(client: Client, rows: dict[type, Any], model: type) -> None:
    row = rows[model]

    assert client.get(address(model, "add")).status_code == 403
    assert client.post(address(model, "change", row.pk), {}).status_code == 403
    assert client.post(address(model, "delete", row.pk), {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("model", MODELS)
def test_admin_list_takes_the_same_queries_for_many_rows(
    client: Client, rows: dict[type, Any], model: type, django_assert_max_num_queries
) -> None:
    for number in range(20):
        person, group = UserFactory(), GroupFactory()
        workspace = WorkspaceFactory()
        MembershipFactory(workspace=workspace, user=person)
        GrantFactory(root=RootFactory(workspace=workspace), group=group)
        JobFactory(workspace=workspace)
        AuditEntryFactory(actor=person, workspace=workspace)
        tokens.create_token(user=person, name="x", scopes=["mcp"])
        WorkerBeat.objects.create(worker=f"other:{number}")

    with django_assert_max_num_queries(12):
        client.get(address(model, "changelist"))


@pytest.mark.parametrize("name", ["alice", "mallory"])
def test_admin_is_not_there_for_people_who_are_no_administrators(people: People, name: str) -> None:
    for place in ["/admin/", "/admin/login/", address(User, "changelist")]:
        assert people.client(name).get(place, follow=True).status_code == 404


def test_admin_has_no_sign_in_page_of_its_own(db: None) -> None:
    response = Client().get(address(User, "changelist"), follow=True)

    assert response.redirect_chain[-1][0].startswith(reverse("mnote:login"))
    assert "next=/admin/mnote/user/" in response.redirect_chain[-1][0]
    posted = Client().post("/admin/login/", {"username": "boss", "password": "boss-secret"})
    assert posted.status_code == 302


def test_closing_accounts_ends_their_tokens(client: Client, people: People) -> None:
    secret = people.token("bob")

    response = act(client, "deactivate", people.bob, people.carol)

    assert "Done for 2 rows." in response.text
    with pytest.raises(NotAuthenticated):
        tokens.authenticate(secret)
    assert AuditEntry.objects.filter(action="user.deactivate", actor__username="boss").count() == 2
    act(client, "activate", people.bob)
    people.bob.refresh_from_db()
    assert people.bob.is_active


def test_closing_the_last_superuser_is_refused_with_a_reason(client: Client, boss: User) -> None:
    response = act(client, "deactivate", boss)

    assert "last active superuser" in response.text
    boss.refresh_from_db()
    assert boss.is_active


def test_sign_in_link_is_shown_once_and_works(client: Client, people: People) -> None:
    response = act(client, "make_sign_in_link", people.carol)

    (secret,) = re.findall(r"http://127.0.0.1:8000/sign-in/([\w-]{40})<", response.text)
    assert "no-store" in response.headers["Cache-Control"]
    assert secret not in client.get(address(User, "changelist")).text
    assert users.use_sign_in_link(secret) == people.carol


def test_sign_in_link_is_for_one_person_at_a_time(client: Client, people: People) -> None:
    response = act(client, "make_sign_in_link", people.carol, people.bob)

    assert "Choose exactly one person" in response.text


def person_form(user: User, **change: Any) -> dict[str, Any]:
    return {"username": user.username, "display_name": "", "language": "", "theme": ""} | change


def test_person_is_added_and_changed(client: Client) -> None:
    body = {"username": "dora", "usable_password": "false"}
    client.post(address(User, "add"), body)
    dora = User.objects.get(username="dora")

    client.post(address(User, "change", dora.pk), person_form(dora, display_name="Dora", is_staff="on"))

    dora.refresh_from_db()
    assert (dora.display_name, dora.is_staff, dora.is_active) == ("Dora", True, True)
    assert [entry.action for entry in AuditEntry.objects.order_by("pk")] == ["user.create", "user.update"]


def test_last_superuser_stays_one(client: Client, boss: User) -> None:
    response = client.post(address(User, "change", boss.pk), person_form(boss, is_staff="on"))

    assert "last active superuser" in response.text
    boss.refresh_from_db()
    assert boss.is_superuser


def test_a_person_is_never_deleted(client: Client, people: People) -> None:
    assert client.post(address(User, "delete", people.bob.pk), {"post": "yes"}).status_code == 403


@pytest.fixture
def clerk(db: None) -> Client:
    """Staff with every permission on our tables, but no superuser."""
    user = UserFactory(username="clerk", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="mnote"))
    client = Client()
    client.force_login(user)
    return client


def test_staff_cannot_become_or_act_as_a_superuser(clerk: Client, boss: User, people: People) -> None:
    clerk.post(address(User, "change", people.bob.pk), person_form(people.bob, is_superuser="on", is_staff="on"))
    people.bob.refresh_from_db()
    link = act(clerk, "make_sign_in_link", boss)
    closing = act(clerk, "deactivate", boss)
    password = clerk.get(reverse("admin:auth_user_password_change", args=[boss.pk]))
    clerk.post(address(ApiToken, "add"), {"user": boss.pk, "name": "x", "scopes": ["mcp"]})

    assert (people.bob.is_superuser, people.bob.is_staff) == (False, False)
    assert "Choose exactly one person" in link.text
    assert "Done for" not in closing.text
    assert password.status_code == 403
    assert not ApiToken.objects.exists()


def inlines(**rows: list[dict[str, Any]]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for prefix in ("roots", "memberships"):
        given = rows.get(prefix, [])
        body |= {f"{prefix}-TOTAL_FORMS": len(given), f"{prefix}-INITIAL_FORMS": sum("id" in row for row in given)}
        body |= {f"{prefix}-{at}-{name}": value for at, row in enumerate(given) for name, value in row.items()}
    return body


def test_workspace_is_added_with_an_owner(client: Client, people: People) -> None:
    client.post(address(Workspace, "add"), {"name": "Lab", "owner": people.bob.pk, "quota_mb": "5"})

    made = Workspace.objects.get(name="Lab")
    assert made.quota_mb == 5
    assert access.role_in(people.principal("bob"), made) == Role.OWNER


def test_workspace_page_adds_folders_and_members_through_their_services(
    client: Client, people: People, tmp_path: Path
) -> None:
    (tmp_path / "more").mkdir()
    own = Membership.objects.get(user=people.bob)
    body = inlines(
        roots=[
            {"id": people.root.pk, "workspace": people.workspace.pk, "name": "Renamed", "path": "/etc"},
            {"path": str(tmp_path / "more"), "name": ""},
        ],
        memberships=[
            {"id": own.pk, "workspace": people.workspace.pk, "user": people.mallory.pk, "role": "manager"},
            {"user": people.mallory.pk, "role": "viewer"},
        ],
    )

    client.post(address(Workspace, "change", people.workspace.pk), {"name": "New name", **body})

    assert Workspace.objects.get().name == "New name"
    assert [(root.name, root.path) for root in Root.objects.order_by("pk")] == [
        ("Renamed", people.root.path),
        ("more", str(tmp_path / "more")),
    ]
    assert access.role_in(people.principal("bob"), people.workspace) == Role.MANAGER
    assert access.role_in(people.principal("mallory"), people.workspace) == Role.VIEWER
    assert AuditEntry.objects.filter(action="workspace.add_root").exists()


@pytest.mark.parametrize("name", ["", "inner", "../notes"])
def test_workspace_page_refuses_an_overlapping_folder_at_its_field(client: Client, people: People, name: str) -> None:
    (people.folder / "inner").mkdir()
    body = inlines(roots=[{"path": str(people.folder / name), "name": "x"}])

    response = client.post(address(Workspace, "change", people.workspace.pk), {"name": "Notes", **body})

    assert "lies in another root" in response.text
    assert Root.objects.count() == 1


def test_workspace_page_keeps_the_last_owner_and_says_why(client: Client, people: People) -> None:
    own = Membership.objects.get(user=people.alice)
    body = inlines(memberships=[{"id": own.pk, "workspace": people.workspace.pk, "role": "owner", "DELETE": "on"}])

    response = client.post(address(Workspace, "change", people.workspace.pk), {"name": "Notes", **body}, follow=True)

    assert "needs an owner" in response.text
    assert Membership.objects.filter(pk=own.pk).exists()


def test_workspace_actions_hide_and_show(client: Client, people: People) -> None:
    act(client, "archive", people.workspace)
    assert not access.workspaces_for(people.principal("alice")).exists()

    act(client, "restore", people.workspace)
    assert access.workspaces_for(people.principal("alice")).exists()


@pytest.mark.parametrize("holders", [[], ["user", "group"]])
@pytest.mark.parametrize("model", [Grant, Membership])
def test_holder_is_a_person_or_a_group(client: Client, people: People, model: type, holders: list[str]) -> None:
    found = {"user": people.mallory.pk, "group": GroupFactory().pk}
    body = {"workspace": people.workspace.pk, "root": people.root.pk, "role": "viewer", "access": "read"}

    response = client.post(address(model, "add"), body | {name: found[name] for name in holders})

    assert "Choose a person or a group, not both." in response.text


def test_grant_is_added_changed_and_removed(client: Client, people: People) -> None:
    principal = people.principal("mallory")
    body = {"root": people.root.pk, "user": people.mallory.pk, "prefix": "/team/", "access": "read"}

    client.post(address(Grant, "add"), body)
    grant = Grant.objects.get()
    assert access.access_map(principal, people.root).access_of("team/a") == Access.READ

    client.post(address(Grant, "change", grant.pk), body | {"prefix": "other", "access": "write"})
    assert access.access_map(principal, people.root).rules == {"team": Access.WRITE}

    client.post(address(Grant, "delete", grant.pk), {"post": "yes"})
    assert not access.access_map(principal, people.root).sees_anything
    assert AuditEntry.objects.filter(action__startswith="grant.").count() == 3


def test_grant_of_a_path_outside_is_refused_at_its_field(client: Client, people: People) -> None:
    body = {"root": people.root.pk, "user": people.mallory.pk, "prefix": "../x", "access": "read"}

    response = client.post(address(Grant, "add"), body)

    assert "not a path below the folder" in response.text
    assert not Grant.objects.exists()


def test_deleting_selected_grants_goes_through_the_service(client: Client, people: People) -> None:
    grants = [GrantFactory(root=people.root, user=user) for user in (people.bob, people.carol)]
    body = {"action": "delete_selected", "_selected_action": [grant.pk for grant in grants], "post": "yes"}

    client.post(address(Grant, "changelist"), body)

    assert not Grant.objects.exists()
    assert AuditEntry.objects.filter(action="grant.remove").count() == 2


def test_membership_is_added_and_removed(client: Client, people: People) -> None:
    body = {"workspace": people.workspace.pk, "user": people.mallory.pk, "role": "curator"}
    client.post(address(Membership, "add"), body)
    assert access.role_in(people.principal("mallory"), people.workspace) == Role.CURATOR

    made = Membership.objects.get(user=people.mallory)
    client.post(address(Membership, "delete", made.pk), {"post": "yes"})
    assert access.role_in(people.principal("mallory"), people.workspace) is None


def test_token_is_made_with_a_secret_shown_once(client: Client, people: People) -> None:
    body = {"user": people.alice.pk, "name": "agent", "scopes": ["mcp", "pageai"], "kb_ids": "kb_1  kb_2"}

    response = client.post(address(ApiToken, "add"), body)

    (secret,) = re.findall(r"mnt_[\w-]{40}", response.text)
    assert "no-store" in response.headers["Cache-Control"]
    principal = tokens.authenticate(secret)
    assert (principal.user, principal.kb_ids) == (people.alice, {"kb_1", "kb_2"})
    assert secret not in client.get(address(ApiToken, "changelist")).text


def test_token_that_cannot_be_made_is_refused_at_its_field(client: Client, people: People) -> None:
    body = {"user": people.alice.pk, "name": "agent", "scopes": ["admin:read"]}

    response = client.post(address(ApiToken, "add"), body)

    assert "may have the scope admin:read" in response.text
    assert not ApiToken.objects.exists()


def test_tokens_are_revoked_and_filtered_by_state(client: Client, rows: dict[type, Any]) -> None:
    token = rows[ApiToken]

    act(client, "revoke", token)

    token.refresh_from_db()
    assert token.revoked_at
    assert token.prefix not in client.get(address(ApiToken, "changelist"), {"live": "yes"}).text
    assert token.prefix in client.get(address(ApiToken, "changelist"), {"live": "no"}).text


def test_job_actions_retry_and_cancel(client: Client, rows: dict[type, Any]) -> None:
    job, done = rows[Job], JobFactory(status=JobStatus.SUCCEEDED)

    response = act(client, "retry", job, done)
    job.refresh_from_db()
    assert job.status == JobStatus.QUEUED
    assert "Only a job that waits" in response.text

    act(client, "cancel", job)
    job.refresh_from_db()
    assert job.status == JobStatus.CANCELLED


def test_every_table_of_the_kernel_that_people_ask_about_is_in_the_admin() -> None:
    registered = set(admin.site._registry)

    assert registered >= set(MODELS)
