from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client, RequestFactory
from django.utils import timezone

from mnote.models import WorkerBeat
from mnote.views.shell import Shell

STANDS_STILL = "Work in the background stands still since"


def test_frame_says_when_no_worker_has_shown_up_for_a_while(people):
    seen = timezone.now() - timedelta(hours=3)
    WorkerBeat.objects.create(worker="one", seen_at=seen)

    page = people.client("carol").get("/").text

    assert STANDS_STILL in page
    assert "3 h ago" in page


def test_frame_keeps_quiet_while_a_worker_lives(people):
    WorkerBeat.objects.create(worker="one", seen_at=timezone.now())

    assert STANDS_STILL not in people.client("carol").get("/").text


def test_frame_asks_the_database_nothing_before_a_template_does():
    request = RequestFactory().get("/")
    request.principal = object()

    Shell(request)  # no `db` fixture: a query would fail


def test_frame_of_a_stranger_has_no_places(db):
    assert 'class="go-to"' not in Client().get("/sign-in/").text


@pytest.mark.parametrize("path", ["/", "/account/"])
def test_frame_marks_at_most_one_place(path, people):
    page = people.client("alice").get(path).text

    assert page.count('aria-current="page"') == (1 if path == "/" else 0)


def test_pages_say_that_no_cache_may_mix_or_keep_them(people):
    headers = people.client("alice").get("/").headers

    assert {"HX-Request", "HX-History-Restore-Request", "Cookie"} <= {
        each.strip() for each in headers["Vary"].split(",")
    }
    assert "no-store" in headers["Cache-Control"]
    assert "script-src 'self'" in headers["Content-Security-Policy"]


def test_a_part_of_a_page_sets_no_cookie(people):
    """A poll that renews the cookie of the cross-site check breaks the form that is open beside it."""
    alice = people.client("alice")
    alice.get("/")

    response = alice.get("/nothing-here/", headers={"HX-Request": "true"})

    assert not response.cookies
