from __future__ import annotations

import pytest

from mnote.names import camel_case


@pytest.mark.parametrize(
    ("given", "wire"),
    [
        ("root_uri", "rootUri"),
        ("kb_id", "kbId"),
        ("name", "name"),
        ("rootUri", "rootUri"),
        ("page_2_start", "page2Start"),
        ("__all__", "__all__"),
        ("values.chat_only", "values.chat_only"),
        ("Not_Snake", "Not_Snake"),
        ("", ""),
    ],
)
def test_camel_case_turns_snake_case_only(given: str, wire: str) -> None:
    assert camel_case(given) == wire
