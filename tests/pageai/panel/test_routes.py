from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pageai.panel import routes
from pageai.panel.routes import Action

_DATA = Path(__file__).parents[2] / "data" / "openhub"
_OPERATIONS = json.loads((_DATA / "operations.json").read_text())
_VALUES = {
    "session_id": "ses_dd66d2f7affeJ9yyT6fYDOs0wO",
    "question_id": "que_22993780e001x4VOWpVodDCvuM",
    "image_id": "12",
    "skill_name": "demo",
    "commit_hash": "9397b026e6b438fe923263073e2e4bb4f847d5c2",
}
_ALLOWED = {
    ("GET", "/api/auth/me"),
    ("GET", "/api/models"),
    ("GET", "/api/health"),
    ("POST", "/api/query/stream"),
    ("GET", "/api/query/stream/reconnect"),
    ("POST", "/api/query/abort"),
    ("POST", "/api/question/{question_id}/reply"),
    ("GET", "/api/sessions"),
    ("GET", "/api/sessions/{session_id}/messages"),
    ("GET", "/api/images/{image_id}"),
    ("POST", "/api/sessions/{session_id}/retry"),
    ("DELETE", "/api/sessions/{session_id}/messages/last-turn"),
    ("POST", "/api/session/archive"),
    ("GET", "/api/skills"),
    ("PUT", "/api/skills/{skill_name}"),
    ("POST", "/api/skills/sync"),
    ("GET", "/api/memory"),
}


def filled(path: str) -> str:
    """A path of OpenHub's OpenAPI with an id of the right form in each place."""
    return re.sub(r"\{(\w+)\}", lambda found: _VALUES.get(found[1], "7"), path)


@pytest.mark.parametrize("operation", _OPERATIONS, ids=lambda each: f"{each['method']} {each['path']}")
def test_match_finds_ai_operations_only(operation: dict[str, str]) -> None:
    is_allowed = (operation["method"], operation["path"]) in _ALLOWED

    found = routes.match(operation["method"], filled(operation["path"]))

    assert (found is not None) == is_allowed


def test_allowed_operations_are_all_of_openhub() -> None:
    known = {(each["method"], each["path"]) for each in _OPERATIONS}

    assert {(route.method, route.path) for route in routes.ROUTES} == _ALLOWED
    assert known >= _ALLOWED


def test_match_finds_no_operation_of_opencode() -> None:
    operations = (_DATA / "opencode-operations.txt").read_text().splitlines()
    methods = ("GET", "POST", "PUT", "PATCH", "DELETE")
    paths = {filled(each.split(" ")[1]) for each in operations} - {"/api/health"}  # OpenHub has one, too

    assert len(operations) == 188
    assert not [(method, path) for method in methods for path in paths if routes.match(method, path)]


@pytest.mark.parametrize(
    "path",
    [
        "/api/sessions/ses_a/../../admin/users/messages",
        "/api/sessions/../admin/messages",
        "/api/sessions/ses_a?x=1/messages",
        "/api/sessions/ses_a#/messages",
        "/api/sessions/ses_%61/messages",
        "/api/sessions/ses_a\n/messages",
        "/api/sessions/ses_a/messages\n",
        "/api/sessions/ses_会话/messages",
        "/api/sessions/msg_a/messages",
        "/api/sessions//messages",
        "/api/sessions/ses_a/messages/",
        "/API/sessions",
        "//api/sessions",
        "/api//sessions",
        "/api/images/1e3",
        "/api/images/-1",
        "/api/images/٣",
        "/api/skills/..",
        "/api/skills/a%2Fb",
        "/api/skills/a/b",
        "",
        "/",
    ],
)
def test_match_refuses_hostile_paths(path: str) -> None:
    assert not [method for method in ("GET", "POST", "PUT", "DELETE", "HEAD") if routes.match(method, path)]


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "CONNECT", "PATCH", "get"])
def test_match_refuses_other_methods(method: str) -> None:
    assert routes.match(method, "/api/sessions") is None


def test_match_makes_the_upstream_path_from_checked_ids() -> None:
    found = routes.match("DELETE", "/api/sessions/ses_abc123/messages/last-turn")

    assert found is not None
    assert (found.action, found.path) == (Action.UNDO, "/api/sessions/ses_abc123/messages/last-turn")
