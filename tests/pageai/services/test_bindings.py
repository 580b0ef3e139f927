from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
import time_machine
from django.db import IntegrityError, connection
from django.utils import timezone

from mnote.exceptions import Gone, NotAuthenticated, NotFound
from mnote.models import AuditEntry, Root
from mnote.services import users
from pageai.exceptions import SessionTaken, TrashFolder
from pageai.models import BindingStatus, BindingToken, OpenHubBinding
from pageai.selectors import bindings as owned
from pageai.services import binding_tokens, bindings, pages
from pageai.services.bindings import Opened
from pageai.services.pages import Page
from tests.factories.mnote import RootFactory
from tests.people import People


@pytest.fixture
def page(people: People) -> Page:
    (people.folder / "a").mkdir()
    (people.folder / "a" / "b.md").write_text("hello")
    return pages.locate(principal=people.principal("alice"), root=people.root, path="a/b.md")


def opened(people: People, page: Page, name: str = "alice") -> Opened:
    return bindings.open_binding(principal=people.principal(name), page=page)


def other_root(people: People, folder: Path) -> Root:
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "b.md").write_text("hello")
    return RootFactory(workspace=people.workspace, folder=folder, key="other")


def test_a_page_is_named_by_its_path_or_its_id(people: People, page: Page) -> None:
    by_id = pages.locate(principal=people.principal("alice"), root=people.root, resource_id="local-md:a~2Fb.md")

    assert by_id == page
    assert page.resource_id == "local-md:a~2Fb.md"
    assert page.absolute_path == f"{people.folder}/a/b.md"


@pytest.mark.parametrize("path", ["../a/b.md", "/etc/hostname", "a", "", "a\0b.md", "a/c.md"])
def test_what_is_no_file_of_the_root_is_no_page(people: People, page: Page, path: str) -> None:
    with pytest.raises((NotFound, Gone)):
        pages.locate(principal=people.principal("alice"), root=people.root, path=path)


def test_a_page_of_a_stranger_is_not_there(people: People, page: Page) -> None:
    with pytest.raises(NotFound):
        pages.locate(principal=people.principal("mallory"), root=people.root, path=page.path)


@pytest.mark.parametrize("path", [".Trash/a.md", "x/.trash-1000/files/a.md", "$RECYCLE.BIN/a.md"])
def test_a_page_in_a_trash_folder_is_refused(people: People, path: str) -> None:
    with pytest.raises(TrashFolder):
        pages.locate(principal=people.principal("alice"), root=people.root, path=path)


def test_the_same_page_resumes_its_binding(people: People, page: Page) -> None:
    first, second = opened(people, page), opened(people, page)

    assert (first.is_resumed, second.is_resumed) == (False, True)
    assert first.binding == second.binding


@pytest.mark.django_db(transaction=True)
def test_browsers_at_the_same_moment_share_one_binding(people: People, page: Page) -> None:
    def open_one(_: int) -> str:
        try:
            return opened(people, page).binding.pk
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as browsers:
        ids = set(browsers.map(open_one, range(6)))

    assert len(ids) == 1
    assert OpenHubBinding.objects.count() == 1


def test_two_people_never_share_a_binding(people: People, page: Page) -> None:
    alices, bobs = opened(people, page).binding, opened(people, page, "bob").binding

    assert alices.pk != bobs.pk
    assert alices.scope_key != bobs.scope_key
    assert alices.openhub_user_key != bobs.openhub_user_key
    with pytest.raises(NotFound):
        owned.get_binding(people.principal("bob"), alices.pk)


def test_another_root_opens_a_new_binding_and_leaves_the_old_one_stale(
    people: People, page: Page, tmp_path: Path
) -> None:
    root = other_root(people, tmp_path / "other")
    old = opened(people, page).binding
    elsewhere = pages.locate(principal=people.principal("alice"), root=root, path="a/b.md")

    new = opened(people, elsewhere).binding

    old.refresh_from_db()
    assert new.pk != old.pk
    assert (old.status, new.status) == (BindingStatus.STALE, BindingStatus.ACTIVE)


def test_an_old_binding_is_taken_up_again(people: People, page: Page) -> None:
    old = opened(people, page).binding
    new = bindings.start_anew(principal=people.principal("alice"), page=page)

    bindings.reopen(binding=owned.get_binding(people.principal("alice"), old.pk), by=people.principal("alice"))

    new.refresh_from_db()
    assert opened(people, page).binding == old
    assert new.status == BindingStatus.ARCHIVED


def test_a_new_conversation_archives_the_active_binding(people: People, page: Page) -> None:
    old = opened(people, page).binding

    new = bindings.start_anew(principal=people.principal("alice"), page=page)

    old.refresh_from_db()
    assert (old.status, new.status) == (BindingStatus.ARCHIVED, BindingStatus.ACTIVE)
    assert old.archived_at is not None


def test_the_database_holds_one_active_binding_a_page(people: People, page: Page) -> None:
    one = opened(people, page).binding
    one.pk = "bind_twin"
    one._state.adding = True

    with pytest.raises(IntegrityError):
        one.save(force_insert=True)


def test_a_session_belongs_to_one_binding(people: People, page: Page) -> None:
    alices, bobs = opened(people, page).binding, opened(people, page, "bob").binding
    bindings.attach_sessions(binding=alices, openhub_session_id="ses_1", opencode_session_id="ses_1")

    for session in ("ses_1", "ses_2"):
        with pytest.raises(SessionTaken):
            bindings.attach_sessions(binding=bobs if session == "ses_1" else alices, openhub_session_id=session)
    assert owned.binding_of_session(people.principal("alice"), "ses_1") == alices
    with pytest.raises(NotFound):
        owned.binding_of_session(people.principal("bob"), "ses_1")


def test_a_token_opens_until_it_ends(people: People, page: Page) -> None:
    binding = opened(people, page).binding
    token, secret = binding_tokens.issue(binding=binding)

    assert binding_tokens.authenticate(secret) == token
    assert secret not in repr(BindingToken.objects.values().get())
    with time_machine.travel(timezone.now() + timedelta(hours=1, seconds=1)), pytest.raises(NotAuthenticated):
        binding_tokens.authenticate(secret)


def test_a_token_ends_with_its_binding_and_not_before(people: People, page: Page) -> None:
    binding = opened(people, page).binding
    _, secret = binding_tokens.issue(binding=binding)
    bindings.mark_stale(binding=binding)
    assert binding_tokens.authenticate(secret)

    bindings.archive(binding=binding)

    with pytest.raises(NotAuthenticated):
        binding_tokens.authenticate(secret)


def test_revoking_ends_every_token_of_a_binding(people: People, page: Page) -> None:
    binding = opened(people, page).binding
    secrets = [binding_tokens.issue(binding=binding)[1] for _ in range(2)]

    assert binding_tokens.revoke(binding=binding, by=people.principal("alice")) == 2

    for secret in secrets:
        with pytest.raises(NotAuthenticated):
            binding_tokens.authenticate(secret)
    assert AuditEntry.objects.filter(action="binding.revoke_tokens").count() == 1


def test_a_closed_account_ends_its_tokens_for_good(people: People, page: Page) -> None:
    _, secret = binding_tokens.issue(binding=opened(people, page).binding)

    users.deactivate(people.alice)
    users.activate(people.alice)

    with pytest.raises(NotAuthenticated):
        binding_tokens.authenticate(secret)


def test_an_archived_binding_gets_no_token(people: People, page: Page) -> None:
    binding = opened(people, page).binding
    bindings.archive(binding=binding)

    with pytest.raises(NotAuthenticated):
        binding_tokens.issue(binding=OpenHubBinding.objects.get())
