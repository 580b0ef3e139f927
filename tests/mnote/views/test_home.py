from __future__ import annotations

import pytest
from django.test import Client

from tests.factories.mnote import RootFactory, UserFactory, WorkspaceFactory


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


def test_home_asks_the_database_equally_often_for_more_roots(people, django_assert_max_num_queries, tmp_path):
    browser = Client()
    browser.force_login(people.alice)
    with django_assert_max_num_queries(50) as before:
        browser.get("/")
    for number in range(5):
        folder = tmp_path / f"more-{number}"
        folder.mkdir()
        RootFactory(workspace=people.workspace, folder=folder, key=f"more-{number}", name=f"More {number}")

    with django_assert_max_num_queries(len(before)):
        browser.get("/")
