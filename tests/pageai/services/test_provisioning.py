from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnote.models import Access, Job
from mnote.services import users
from pageai.exceptions import ConversationGone, FolderNotForAgents, PanelUnsafe
from pageai.models import PanelIdentity, PanelPolicy
from pageai.panel.errors import PanelError
from pageai.services import panel, provisioning
from tests.factories.mnote import GrantFactory, MembershipFactory, RootFactory
from tests.pageai.panel.settings import connect
from tests.pageai.panel.visits import bind, enter, visit
from tests.people import People
from tests.stubs.openhub import OpenHubStub, openhub_stub
from tests.stubs.openhub_http import Reply


@pytest.fixture
def hub(tmp_path: Path, settings: Any) -> Iterator[OpenHubStub]:
    with openhub_stub(tmp_path / "openhub") as stub:
        connect(settings, stub)
        yield stub


def models_of(hub: OpenHubStub, identity: PanelIdentity) -> set[str]:
    return {f"{provider}/{model}" for provider, model in hub.world.users[identity.openhub_user_id].models}


def test_identity_is_one_user_for_each_person_and_root(people: People, hub: OpenHubStub, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("# a\n")
    second = RootFactory(workspace=people.workspace, folder=other, key="other")

    found = [
        provisioning.ensure_identity(each).openhub_username
        for each in (
            visit(people, "alice"),
            visit(people, "alice", path="b.md"),
            visit(people, "bob"),
            enter(people, bind(people, "alice", root=second)),
        )
    ]

    assert found[0] == found[1]
    assert len(set(found)) == 3
    assert {user.username for user in hub.world.users.values()} == {"admin", *found}


def test_identity_is_asked_for_once(people: People, hub: OpenHubStub) -> None:
    provisioning.ensure_identity(visit(people))
    asked = len(hub.asked)

    provisioning.ensure_identity(visit(people))

    assert len(hub.asked) == asked


def test_identity_holds_no_name_of_the_person(people: People, hub: OpenHubStub) -> None:
    username = provisioning.ensure_identity(visit(people)).openhub_username

    assert "alice" not in username
    assert len(username) <= 50


def test_models_without_policy_are_all_but_the_public_ones(people: People, hub: OpenHubStub) -> None:
    identity = provisioning.ensure_identity(visit(people))

    assert models_of(hub, identity) == {"fake/fake-1", "fake/fake-2"}


def test_models_follow_the_policy_of_the_workspace(people: People, hub: OpenHubStub) -> None:
    identity = provisioning.ensure_identity(visit(people))
    PanelPolicy.objects.create(workspace=people.workspace, models_json=[{"model": "fake/fake-2", "monthlyLimit": 7}])

    provisioning.ensure_identity(visit(people))

    assert hub.world.users[identity.openhub_user_id].models == {("fake", "fake-2"): 7}


def test_no_token_of_the_host_is_left(people: People, hub: OpenHubStub) -> None:
    provisioning.ensure_identity(visit(people))

    assert not [key for key in hub.redis.values if key.startswith("token:")]


@pytest.mark.parametrize("place", ["{root}", "{root}/below", "{above}"])
def test_openhub_may_not_keep_its_own_folder_in_a_root(
    people: People, hub: OpenHubStub, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = place.format(root=people.folder, above=people.folder.parent)
    made = hub.world.add_user

    def add_user(username: str, **options: Any) -> Any:
        user = made(username, **options)
        user.workspace_path = path
        return user

    monkeypatch.setattr(hub.world, "add_user", add_user)

    with pytest.raises(PanelUnsafe):
        provisioning.ensure_identity(visit(people))
    assert not PanelIdentity.objects.exists()


def test_session_works_in_the_root_for_good(people: People, hub: OpenHubStub) -> None:
    found = visit(people)

    session = provisioning.ensure_session(found)

    assert hub.opencode.sessions[session].directory == str(people.folder)
    assert found.binding.openhub_session_id == found.binding.opencode_session_id == session
    assert provisioning.ensure_session(visit(people)) == session


@pytest.mark.parametrize("name", ["a & b", "h#x", "100%", "用户 A", "é", "q?x=1", "a+b", "-rf"])
def test_session_of_a_folder_with_any_name_works_in_it(
    people: People, hub: OpenHubStub, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "odd" / name
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("# a\n")
    root = RootFactory(workspace=people.workspace, folder=folder, key="odd")

    session = provisioning.ensure_session(enter(people, bind(people, root=root)))

    assert hub.opencode.sessions[session].directory == str(folder)


@pytest.mark.parametrize("name", ["caf\udce9", "p%41"])
def test_session_of_a_folder_that_agents_would_misread_is_refused(
    people: People, hub: OpenHubStub, tmp_path: Path, name: str
) -> None:
    folder = Path(f"{tmp_path}/{name}")
    folder.mkdir()
    (folder / "a.md").write_text("# a\n")
    root = RootFactory(workspace=people.workspace, folder=folder, key="odd", name="Odd")

    with pytest.raises(FolderNotForAgents):
        provisioning.ensure_session(enter(people, bind(people, root=root)))


def test_session_that_lands_in_another_folder_is_refused(people: People, hub: OpenHubStub) -> None:
    hub.opencode.lands_in = "/somewhere/else"

    with pytest.raises(PanelError):
        provisioning.ensure_session(visit(people))


def test_session_rules_follow_the_rights_of_the_moment(people: People, hub: OpenHubStub) -> None:
    pattern = f"{people.folder}/a.md".strip("/")
    session = hub.opencode.sessions[provisioning.ensure_session(visit(people))]
    before = session.action_for("edit", pattern)
    GrantFactory(root=people.root, user=people.alice, prefix="", access=Access.WRITE)

    provisioning.ensure_session(visit(people))

    assert (before, session.action_for("edit", pattern)) == ("deny", "ask")


def test_sessions_of_two_people_in_one_folder_see_different_tools(people: People, hub: OpenHubStub) -> None:
    visits = [visit(people, name) for name in ("alice", "bob")]
    sessions = [hub.opencode.sessions[provisioning.ensure_session(each)] for each in visits]
    tools = [f"{provisioning.mcp_server_of(each.binding)}_mnote_weknora_search" for each in visits]

    assert [[session.action_for(tool, "*") for tool in tools] for session in sessions] == [
        ["allow", "deny"],
        ["deny", "allow"],
    ]


def test_session_that_opencode_lost_is_said_to_be_gone(people: People, hub: OpenHubStub) -> None:
    provisioning.ensure_session(visit(people))
    hub.opencode.sessions.clear()

    with pytest.raises(ConversationGone):
        provisioning.ensure_session(visit(people))


@pytest.mark.parametrize(
    ("path", "reply"),
    [
        ("/api/admin/users", Reply(body=b"<html>502</html>", content_type="text/html")),
        ("/api/admin/users", Reply(body=b'{"success": false, "error": "x"}')),
        ("/api/admin/users", Reply(body=b'{"success": true, "data": [{"username": "mnote_x"}]}')),
        ("/api/admin/users", Reply(body=b'{"success": true, "data": "none"}')),
        ("/api/admin/users", Reply(status=500, body=b"Internal Server Error", content_type="text/plain")),
        ("/api/admin/models", Reply(body=b"not json")),
    ],
)
def test_nonsense_of_openhub_provisions_nobody(people: People, hub: OpenHubStub, path: str, reply: Reply) -> None:
    hub.answer_with(path, reply)

    with pytest.raises(PanelError):
        provisioning.ensure_identity(visit(people))
    assert not PanelIdentity.objects.exists()


def test_closing_an_account_closes_it_at_openhub(people: People, hub: OpenHubStub) -> None:
    identity = provisioning.ensure_identity(visit(people, "bob"))

    users.deactivate(people.bob)

    identity.refresh_from_db()
    assert identity.closed_at is not None
    assert Job.objects.filter(kind=provisioning.CLOSE_KIND, payload={"userId": people.bob.pk}).exists()
    assert provisioning.close_at_openhub(user=people.bob) == 1
    assert hub.world.users[identity.openhub_user_id].disabled


def test_an_account_that_is_opened_again_is_opened_at_openhub(people: People, hub: OpenHubStub) -> None:
    identity = provisioning.ensure_identity(visit(people, "bob"))
    users.deactivate(people.bob)
    provisioning.close_at_openhub(user=people.bob)
    users.activate(people.bob)

    provisioning.ensure_identity(visit(people, "bob"))

    assert not hub.world.users[identity.openhub_user_id].disabled


def test_connection_of_the_admin_keeps_its_secrets_sealed(people: People) -> None:
    secrets = {"jwt_secret": "jwt-secret", "redis_url": "redis://:pw@host/3", "opencode_password": "oc-secret"}
    facts = {"openhub_url": "http://hub:8000/", "opencode_url": "http://hub:4096", "opencode_username": "opencode"}

    row = panel.save_connection(by=people.principal("alice"), facts=facts, secrets=secrets)

    stored = "".join(str(value) for value in vars(row).values())
    assert not [secret for secret in secrets.values() if secret in stored]
    assert panel.connection().jwt_secret == "jwt-secret"
    assert panel.connection().openhub_url == "http://hub:8000"


def test_connection_with_an_empty_secret_keeps_the_former_one(people: People) -> None:
    secrets = {"jwt_secret": "one", "redis_url": "redis://host/3", "opencode_password": "three"}
    facts = {"openhub_url": "http://hub:8000", "opencode_url": "http://hub:4096"}
    panel.save_connection(by=people.principal("alice"), facts=facts, secrets=secrets)

    panel.save_connection(by=people.principal("alice"), facts=facts, secrets={"jwt_secret": "two"})

    found = panel.connection()
    assert (found.jwt_secret, found.opencode_password) == ("two", "three")


def test_membership_of_a_second_person_changes_nothing_of_the_first(people: People, hub: OpenHubStub) -> None:
    MembershipFactory(workspace=people.workspace, user=people.mallory)
    first = provisioning.ensure_identity(visit(people, "alice"))
    provisioning.ensure_identity(visit(people, "mallory"))

    assert provisioning.ensure_identity(visit(people, "alice")).openhub_user_id == first.openhub_user_id
