"""Every route as each of the four people, as nobody, and by tokens that lack something.

A new route needs a row in one of the tables beside this file; so does a new method of an API view.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver, get_resolver

from tests.library import Library, make_library
from tests.matrix import kernel, knowledge_api, knowledge_pages, panel
from tests.matrix.rows import MAY, PEOPLE, TOKENS, Row
from tests.matrix.world import World
from tests.people import People

pytestmark = [pytest.mark.matrix, pytest.mark.timeout(300)]

ROWS: list[Row] = [*kernel.ROWS, *knowledge_pages.ROWS, *knowledge_api.ROWS, *panel.ROWS]
FILES = {
    "guide/contracts.md": "# Contracts\n\nThirty days notice. See [notes](../notes.txt).\n",
    "notes.txt": "Remember the notice.\n",
}
_REFUSALS = {401, 403, 404}


def routes() -> Iterator[tuple[str, URLPattern]]:
    """Yield every address pattern of the project with its view."""
    yield from _walk(get_resolver().url_patterns, "")


def _walk(patterns: list[Any], prefix: str) -> Iterator[tuple[str, URLPattern]]:
    for each in patterns:
        whole = prefix + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from _walk(each.url_patterns, whole)
        else:
            yield whole, each


def methods_of(route: URLPattern) -> set[str]:
    """Return the methods of a class-based view, nothing for a function."""
    view = getattr(route.callback, "view_class", None) or getattr(route.callback, "cls", None)
    names = ("get", "post", "put", "patch", "delete")
    return {name.upper() for name in names if view is not None and hasattr(view, name)}


def test_every_route_has_a_row() -> None:
    known = {row.pattern for row in ROWS}
    missing = [pattern for pattern, _ in routes() if pattern not in known and not pattern.startswith("admin/")]

    assert missing == []


def test_every_method_of_an_api_view_has_a_row() -> None:
    known = {(row.pattern, row.method) for row in ROWS}
    wanted = [(pattern, method) for pattern, route in routes() for method in methods_of(route)]

    assert [each for each in wanted if each[0].startswith("api/") and each not in known] == []


def test_every_row_has_a_route() -> None:
    patterns = {pattern for pattern, _ in routes()}

    assert [row.pattern for row in ROWS if row.pattern not in patterns] == []


@pytest.fixture
def library(people: People) -> Library:
    return make_library(people, FILES)


@pytest.fixture
def world(library: Library) -> World:
    world = World(library)
    world.make()
    return world


def _named(rows: list[Row]) -> dict[str, Any]:
    return {"argvalues": rows, "ids": [f"{row.method} {row.pattern}" for row in rows]}


@pytest.mark.parametrize("row", **_named([row for row in ROWS if not row.needs_commit]))
def test_route_answers_each_caller_as_the_table_says(world: World, row: Row) -> None:
    answers = {caller: ask(world, row, caller) for caller in (*PEOPLE, *TOKENS)}

    assert differences(row, answers) == {}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("row", **_named([row for row in ROWS if row.needs_commit]))
def test_route_of_its_own_connection_answers_each_caller_as_the_table_says(world: World, row: Row) -> None:
    answers = {caller: _send(world, row, caller).status_code for caller in (*PEOPLE, *TOKENS)}

    assert differences(row, answers) == {}


@pytest.mark.parametrize("caller", PEOPLE)
def test_admin_is_closed_to_all_who_are_no_administrators(world: World, caller: str) -> None:
    client = world.client(caller)
    addresses = [filled(pattern) for pattern, _ in routes() if pattern.startswith("admin/")]

    ends = {address: client.get(address, follow=True) for address in addresses}

    if caller == "nobody":
        assert {end.redirect_chain[-1][0].partition("?")[0] for end in ends.values()} == {"/sign-in/"}
    else:
        assert {end.status_code for end in ends.values()} == {404}


def filled(pattern: str) -> str:
    """Fill the parameters of an admin address."""
    return "/" + re.sub(r"<[^>]*>", "1", re.sub(r"\^\(.*\)", "mnote", pattern).removesuffix("$"))


def differences(row: Row, answers: dict[str, int]) -> dict[str, tuple[int, int | str]]:
    """Return, by caller, what was got and what the table says, where the two differ."""
    pairs = {caller: (answers[caller], wanted) for caller, wanted in row.answers.items()}
    return {caller: pair for caller, pair in pairs.items() if not fits(*pair)}


def ask(world: World, row: Row, caller: str) -> int:
    """Call a route and undo what it did."""
    with transaction.atomic():
        answer = _send(world, row, caller)
        transaction.set_rollback(True)
    return answer.status_code


def fits(got: int, wanted: int | str) -> bool:
    return (got < 500 and got not in _REFUSALS) if wanted == MAY else got == wanted


def _send(world: World, row: Row, caller: str) -> HttpResponseBase:
    client, url, body = world.client(caller), row.url(world), row.body(world)
    headers = dict(row.headers)
    kind = headers.pop("Content-Type", "application/json")
    if row.form:
        return (
            client.post(url, body or {}, headers=headers) if row.method == "POST" else client.get(url, headers=headers)
        )
    content = body if isinstance(body, str) else "" if body is None else json.dumps(body)
    return client.generic(row.method, url, content, content_type=kind, headers=headers)
