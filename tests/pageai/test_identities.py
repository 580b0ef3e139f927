"""The golden values must never change: users and sessions of outside systems are found by them."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pageai.identities import derive, stable_hash

KEY = bytes(range(32))
PAGE = {
    "user_id": 7,
    "workspace_id": "ws_1",
    "root_uri": "file:///srv/notes",
    "page_resource_id": "local-md:a.md",
    "directory": "/srv/notes",
}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((), "5ad757d258e15200d3a92a2eb8902fc7"),
        (("",), "43864169da1504dfe02667bb39602025"),
        (("1",), "d8e29e055c92741052cc4cc38e4facbe"),
        (("ws_1", "file:///srv/notes"), "1f215b6b3a1f5f4121e7a946d077fad5"),
        (("笔记", "a\udcffb"), "3360ff921d599b301baf980a0c49f599"),
    ],
)
def test_stable_hash_never_changes(parts: tuple[str, ...], expected: str) -> None:
    assert stable_hash(KEY, *parts) == expected


def test_stable_hash_is_as_documented() -> None:
    message = b"mnote.stable_hash.v1" + b"\0" * 7 + b"\x02" + b"\0" * 7 + b"\x01" + b"a" + b"\0" * 7 + b"\x02" + b"bc"

    assert stable_hash(KEY, "a", "bc") == hmac.new(KEY, message, hashlib.sha256).hexdigest()[:32]


@given(st.lists(st.text(alphabet="ab\0,", max_size=4), max_size=4), st.lists(st.text(alphabet="ab\0,", max_size=4)))
def test_stable_hash_tells_lists_of_parts_apart(one: list[str], other: list[str]) -> None:
    assert (stable_hash(KEY, *one) == stable_hash(KEY, *other)) == (one == other)


def test_stable_hash_needs_its_key() -> None:
    assert stable_hash(KEY, "1") != stable_hash(bytes(32), "1")


def test_derive_never_changes() -> None:
    derived = derive(KEY, **PAGE)  # type: ignore[arg-type]

    assert derived.openhub_user_key == stable_hash(KEY, "7")
    assert derived.openhub_workspace_key == stable_hash(KEY, "ws_1", "file:///srv/notes")
    assert derived.openhub_session_scope == stable_hash(KEY, "7", "ws_1", "file:///srv/notes", "local-md:a.md")
    assert derived.opencode_session_scope == stable_hash(KEY, derived.openhub_session_scope, "/srv/notes")
    assert derived.skill_scope == derived.tool_permission_scope == stable_hash(KEY, "7", "ws_1", "file:///srv/notes")
    assert derived.runtime_identity == f"mnote:7:ws_1:{stable_hash(KEY, 'file:///srv/notes')}"


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({"user_id": 8}, {"openhub_workspace_key", "workspace_id", "root_uri"}),
        ({"workspace_id": "ws_2"}, {"openhub_user_key", "mnote_user_id", "root_uri"}),
        ({"root_uri": "file:///srv/other"}, {"openhub_user_key", "mnote_user_id", "workspace_id"}),
        (
            {"page_resource_id": "local-md:b.md"},
            {
                "openhub_user_key", "mnote_user_id", "workspace_id", "root_uri", "openhub_workspace_key",
                "skill_scope", "tool_permission_scope", "runtime_identity",
            },
        ),
    ],
)  # fmt: skip
def test_derive_shares_only_what_does_not_depend_on_the_change(change: dict[str, object], kept: set[str]) -> None:
    one, other = derive(KEY, **PAGE), derive(KEY, **(PAGE | change))  # type: ignore[arg-type]

    assert {name for name in one.__slots__ if getattr(one, name) == getattr(other, name)} == kept
