"""What people and administrators see of the programs that MNote starts, and what makes one end."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from mnote.models import Access
from mnote.services import grants, users
from pageai.exceptions import AgentNotStarted, FolderNotForAgents
from pageai.models import OpencodeRuntime, RuntimeState
from pageai.panel.tool_rules import Reach
from pageai.services import bindings, gatekeeping, opencodes, pages, runtime_files, runtime_host, runtimes
from pageai.services.gatekeeping import Visit
from tests.library import Library


@pytest.fixture
def visit(library: Library, settings: Any, tmp_path: Path) -> Visit:
    settings.MNOTE_OPENCODE_PROGRAM = "sh"
    settings.MNOTE_DATA_DIR = tmp_path
    principal = library.people.principal("carol")
    page = pages.locate(principal=principal, root=library.root, path="notes.txt")
    binding = bindings.open_binding(principal=principal, page=page, metadata={"agentId": "opencode"}).binding
    return gatekeeping.enter(principal=principal, binding_id=binding.pk)


@pytest.fixture
def host(visit: Visit, tmp_path: Path) -> Iterator[None]:
    """As if an agent host were there."""
    descriptor = os.open(tmp_path / "agents.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    yield
    os.close(descriptor)


def ready(visit: Visit) -> OpencodeRuntime:
    with pytest.raises(AgentNotStarted):
        runtimes.endpoint(visit)
    OpencodeRuntime.objects.update(state=RuntimeState.READY)
    return OpencodeRuntime.objects.get()


def test_without_a_host_nobody_waits(visit: Visit) -> None:
    with pytest.raises(AgentNotStarted) as refused:
        opencodes.endpoint_of(visit)

    assert refused.value.extra["reason"] == "host_missing"
    assert runtimes.standing(visit.principal.user).trouble == str(runtimes.SENTENCES["host_missing"])


def test_what_a_killed_host_left_is_not_taken_for_ready(visit: Visit) -> None:
    ready(visit)

    with pytest.raises(AgentNotStarted) as refused:
        runtimes.endpoint(visit)
    assert refused.value.extra["reason"] == "host_missing"


def test_a_failure_is_said_once_and_tried_again_when_asked(visit: Visit, host: None, settings: Any) -> None:
    settings.MNOTE_OPENCODE_START_SECONDS = 0
    ready(visit)
    OpencodeRuntime.objects.update(state=RuntimeState.FAILED, reason="crashed")

    assert runtimes.standing(visit.principal.user).trouble == str(runtimes.SENTENCES["crashed"])
    with pytest.raises(AgentNotStarted):
        runtimes.endpoint(visit)
    assert OpencodeRuntime.objects.get().state == RuntimeState.WANTED


def test_looking_starts_nothing(visit: Visit) -> None:
    assert opencodes.running(visit) is None
    assert not OpencodeRuntime.objects.exists()


def test_a_conversation_of_openhub_is_not_asked_of_ours(visit: Visit) -> None:
    visit.binding.metadata_json = {"agentId": "openhub"}

    assert not opencodes.is_direct(visit)


@pytest.mark.parametrize("reason", ["account_closed", "signed_out"])
def test_closing_an_account_and_signing_out_end_it(visit: Visit, library: Library, reason: str) -> None:
    ready(visit)

    if reason == "account_closed":
        users.deactivate(visit.principal.user)
    else:
        library.people.client("carol").post(reverse("mnote:logout"))

    row = OpencodeRuntime.objects.get()
    assert (row.state, row.reason) == (RuntimeState.ENDING, reason)


def test_rights_are_read_as_they_are_now(visit: Visit, library: Library) -> None:
    row = ready(visit)
    before = runtime_files.mark_of(*runtime_host.rights_of(row))

    grants.set_grant(root=library.root, holder=visit.principal.user, prefix="private", access=Access.NONE)

    reach, root = runtime_host.rights_of(row)
    assert not reach.covers_the_root
    assert runtime_files.mark_of(reach, root) != before


def test_an_administrator_sees_why_and_stops_it(visit: Visit, library: Library) -> None:
    row, alice = ready(visit), library.people.alice
    alice.is_staff = alice.is_superuser = True
    alice.save()
    OpencodeRuntime.objects.update(sealed_password="sealed-text", port=4711)
    client, address = library.people.client("alice"), reverse("admin:pageai_opencoderuntime_changelist")

    page = client.get(address).content.decode()
    client.post(address, {"action": "stop", "_selected_action": [row.pk]})

    assert "carol" in page
    assert "sealed-text" not in page
    assert OpencodeRuntime.objects.get().reason == "stopped_by_admin"


@pytest.mark.parametrize(
    ("reach", "reading", "editing"),
    [
        (Reach(default="write"), True, "ask"),
        (Reach(default="read"), True, "deny"),
        (Reach(default="read", prefixes={"private": "none"}), False, None),
        (Reach(default="none", prefixes={"guide": "write"}), False, None),
    ],
)
def test_the_configuration_follows_the_rights(
    settings: Any, tmp_path: Path, reach: Reach, reading: bool, editing: str | None
) -> None:
    models = tmp_path / "models.json"
    models.write_text(json.dumps({"model": "a/b", "permission": "allow", "mcp": {"x": {}}, "plugin": ["y"]}))
    settings.MNOTE_OPENCODE_CONFIG = models

    made = runtime_files.config_of(reach)

    assert made["model"] == "a/b"
    assert not made.keys() & {"mcp", "plugin"}
    assert next(iter(made["permission"].items())) == ("*", "deny")
    assert ("read" in made["permission"], made["permission"].get("edit")) == (reading, editing)
    assert made["snapshot"] is False


def test_what_a_host_left_behind_is_told(visit: Visit) -> None:
    ready(visit)
    OpencodeRuntime.objects.update(pid=1, pid_began="of another boot", sealed_password="x", since=timezone.now())

    assert runtime_host.end_leftovers() == 0
    row = OpencodeRuntime.objects.get()
    assert (row.state, row.reason, row.pid, row.sealed_password) == (RuntimeState.ENDED, "server_stopped", 0, "")


@pytest.mark.parametrize(("name", "is_refused"), [("100% sure", False), ("a%41b", True), ("a&b#c 文档", False)])
def test_folders_that_opencode_would_mistake_are_refused(visit: Visit, name: str, is_refused: bool) -> None:
    visit.root.path = f"/srv/{name}"

    if is_refused:
        with pytest.raises(FolderNotForAgents):
            _ = visit.directory
    else:
        assert visit.directory == f"/srv/{name}"
