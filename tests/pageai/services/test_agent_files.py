from __future__ import annotations

import json
import stat
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.utils import timezone

from mnote.exceptions import NotAuthenticated
from mnote.models import Access
from mnote.services import users
from pageai.models import OpenHubBinding
from pageai.services import agent_files, binding_tokens, bindings, callers, pages
from pageai.tasks import refresh_agent_files
from tests.factories.knowledge import KnowledgeBaseFactory
from tests.factories.mnote import GrantFactory
from tests.library import Library


@pytest.fixture(autouse=True)
def own_data(settings: Any, tmp_path: Path) -> None:
    settings.MNOTE_DATA_DIR = tmp_path / "data"


@pytest.fixture
def binding(library: Library) -> OpenHubBinding:
    principal = library.people.principal("carol")
    page = pages.locate(principal=principal, root=library.root, path="notes.txt")
    return bindings.open_binding(principal=principal, page=page).binding


def token_in(folder: Path) -> str:
    return (folder / "token").read_text()


def config_in(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "opencode.json").read_text())
    return found


def test_the_folder_opens_the_tools_of_its_binding(library: Library, binding: OpenHubBinding) -> None:
    folder = agent_files.write(binding)

    [server] = config_in(folder)["mcp"].values()
    assert callers.authenticate(token_in(folder)).binding == binding
    assert server["headers"]["Authorization"] == f"Bearer {{file:{folder / 'token'}}}"
    assert (server["oauth"], server["url"]) == (False, "http://127.0.0.1:8000/mcp")
    assert '"Handbook"' in (folder / agent_files.SKILL_FILE).read_text()
    assert token_in(folder) not in json.dumps(config_in(folder))


def test_nobody_else_on_the_machine_reads_the_folder(binding: OpenHubBinding) -> None:
    folder = agent_files.write(binding)

    modes = {stat.S_IMODE(each.stat().st_mode) for each in [folder, *folder.rglob("*")]}
    assert modes == {0o700, 0o600}


def test_writing_again_changes_nothing(binding: OpenHubBinding) -> None:
    folder = agent_files.write(binding)
    before = {each: each.stat().st_mtime_ns for each in folder.rglob("*")}

    agent_files.write(binding)

    assert {each: each.stat().st_mtime_ns for each in folder.rglob("*")} == before


def test_a_new_knowledge_base_is_told_and_reached(library: Library, binding: OpenHubBinding) -> None:
    folder = agent_files.write(binding)
    later = KnowledgeBaseFactory(owner=library.people.alice, root=library.root, name="Later")

    refresh_agent_files()

    assert '"Later"' in (folder / agent_files.SKILL_FILE).read_text()
    assert later.pk in callers.authenticate(token_in(folder)).scope().kb_ids


def test_knowledge_switched_off_takes_the_skill_and_the_server(library: Library, binding: OpenHubBinding) -> None:
    folder = agent_files.write(binding)
    users.set_preferences(user=library.people.carol, values={"ai.common.knowledge": False})

    refresh_agent_files()

    assert config_in(folder)["mcp"] == {}
    assert not (folder / agent_files.SKILL_FILE).exists()


def test_a_grant_taken_back_closes_the_files(library: Library, binding: OpenHubBinding) -> None:
    folder = agent_files.write(binding)
    assert config_in(folder)["permission"]["read"]["*"] == "allow"
    GrantFactory(root=library.root, user=library.people.carol, prefix="private", access=Access.NONE)

    refresh_agent_files()

    assert "read" not in config_in(folder)["permission"]
    assert config_in(folder)["permission"]["*"] == "deny"


def test_only_who_may_write_everywhere_may_edit(library: Library, binding: OpenHubBinding) -> None:
    assert agent_files.files_of(binding).config["permission"]["edit"] == "deny"

    GrantFactory(root=library.root, user=library.people.carol, prefix="", access=Access.WRITE)
    assert agent_files.files_of(binding).config["permission"]["edit"] == "ask"

    GrantFactory(root=library.root, user=library.people.carol, prefix="guide", access=Access.READ)
    assert agent_files.files_of(binding).config["permission"]["edit"] == "deny"


def test_rules_begin_with_the_most_general(binding: OpenHubBinding) -> None:
    permission = agent_files.files_of(binding).config["permission"]

    assert next(iter(permission)) == "*"
    assert next(iter(permission["read"])) == "*"
    assert next(iter(permission["skill"])) == "*"
    assert "bash" not in permission


def test_a_token_near_its_end_is_replaced(binding: OpenHubBinding) -> None:
    folder = agent_files.write(binding)
    old = token_in(folder)

    with time_machine.travel(timezone.now() + binding_tokens.LASTS - timedelta(minutes=10)):
        refresh_agent_files()
        assert token_in(folder) != old
        assert callers.authenticate(token_in(folder)).binding == binding


def test_an_archived_binding_loses_its_folder(binding: OpenHubBinding) -> None:
    folder = agent_files.write(binding)
    bindings.archive(binding=binding)

    refresh_agent_files()

    assert not folder.exists()
    with pytest.raises(NotAuthenticated):
        agent_files.write(binding)


def test_the_command_prints_the_folder(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("agent_files", "notes.txt", user="carol", workspace=library.people.workspace.pk)

    folder = Path(capsys.readouterr().out.strip())
    assert callers.authenticate(token_in(folder)).user == library.people.carol


@pytest.mark.parametrize("name", ["mallory", "nobody"])
def test_the_command_refuses_who_may_not_see_the_page(library: Library, name: str) -> None:
    with pytest.raises(CommandError):
        call_command("agent_files", "notes.txt", user=name, workspace=library.people.workspace.pk)
