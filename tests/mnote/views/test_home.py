from __future__ import annotations

import pytest
from django.test import Client

from mnote.models import Access
from mnote.services import audit, grants
from tests.factories.knowledge import DocumentFactory, KnowledgeBaseFactory
from tests.factories.mnote import UserFactory, WorkspaceFactory


def page_of(user, path="/"):
    browser = Client(raise_request_exception=False)
    browser.force_login(user)
    return browser.get(path)


def test_home_shows_the_workspaces_one_sees(people):
    WorkspaceFactory(name="Somebody else's")

    page = page_of(people.carol).text

    assert f'href="/w/{people.workspace.pk}/"' in page
    assert "Somebody else" not in page


def test_home_tells_a_stranger_whom_to_ask(people):
    assert "Ask an administrator to add you to one." in page_of(people.mallory).text


def test_home_gives_an_administrator_the_next_step(db):
    admin = UserFactory(is_staff=True, is_superuser=True)

    assert 'href="/admin/mnote/workspace/add/"' in page_of(admin).text


@pytest.mark.parametrize(("name", "status"), [("alice", 200), ("carol", 200), ("mallory", 404)])
def test_workspace_page_is_there_for_those_who_see_it(name, status, people):
    assert page_of(people.user(name), f"/w/{people.workspace.pk}/").status_code == status


def test_workspace_page_marks_its_place_in_the_rail(people):
    page = page_of(people.alice, f"/w/{people.workspace.pk}/").text

    assert f'<a class="go-to" href="/w/{people.workspace.pk}/" aria-current="true">' in page


def test_home_never_shows_where_a_folder_lies_on_the_server(people):
    assert str(people.folder) not in page_of(people.alice).text


def test_home_asks_what_one_wants_to_know(people):
    before = page_of(people.alice).text
    KnowledgeBaseFactory(workspace=people.workspace, root=people.root, owner=people.alice)

    assert 'action="/kb/search"' not in before
    assert 'action="/kb/search"' in page_of(people.alice).text


def test_home_asks_the_database_equally_often_for_more_folders_and_knowledge_bases(
    people, django_assert_max_num_queries, tmp_path
):
    browser = Client()
    browser.force_login(people.alice)
    KnowledgeBaseFactory(workspace=people.workspace, root=people.root, owner=people.alice)
    with django_assert_max_num_queries(50) as before:
        browser.get("/")
    for _ in range(5):
        KnowledgeBaseFactory(workspace=people.workspace, root=people.root, owner=people.alice)

    with django_assert_max_num_queries(len(before)):
        browser.get("/")


def test_home_says_what_was_done_lately(people):
    kb = KnowledgeBaseFactory(workspace=people.workspace, root=people.root, owner=people.alice, name="Contracts 2024")
    audit.record(
        principal=people.principal("bob"), action="kb.sync", workspace=people.workspace, kb_id=kb.id, target=kb.name
    )

    assert "bob asked for a sync of Contracts 2024" in page_of(people.carol).text
    assert "Contracts 2024" not in page_of(people.mallory).text


def test_home_counts_only_what_its_reader_may_read(people):
    kb = KnowledgeBaseFactory(workspace=people.workspace, root=people.root, owner=people.alice)
    for path in ("open/a.md", "closed/b.md"):
        DocumentFactory(kb=kb, source_path=path, index_status="failed")
    grants.set_grant(root=people.root, prefix="closed", access=Access.NONE, holder=people.carol)

    assert "2 failed" in page_of(people.alice).text
    assert "1 failed" in page_of(people.carol).text
