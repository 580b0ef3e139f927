from __future__ import annotations

import pytest

from mnote.views.addresses import is_own_path


@pytest.mark.parametrize("address", ["/", "/kb/", "/kb/?q=%2F%2Fevil", "/w/ws_1/#top", "/知识库/"])
def test_own_paths_are_followed(address):
    assert is_own_path(address)


@pytest.mark.parametrize(
    "address", ["", "kb/", "//x", "///x", "/\\x", "\\\\x", "http:x", "http://x/", "/a\nb", "\x00/a"]
)
def test_other_addresses_are_not(address):
    assert not is_own_path(address)
