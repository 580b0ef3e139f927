import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnote.files.errors import InvalidPath
from mnote.files.uris import path_to_uri, uri_to_path
from tests.mnote.files.test_names import NAMES


@given(st.lists(NAMES, max_size=5))
def test_path_survives_the_way_to_uri_and_back(names):
    path = b"/" + b"/".join(names)

    assert uri_to_path(path_to_uri(path)) == path


@given(st.lists(NAMES, min_size=1, max_size=5))
def test_uri_is_plain_ascii_without_query_or_fragment(names):
    uri = path_to_uri(b"/" + b"/".join(names))

    assert uri.isascii()
    assert not set(uri) & set("?# \\")


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///srv/notes", b"/srv/notes"),
        ("file:///srv/notes/", b"/srv/notes"),
        ("file://localhost/srv", b"/srv"),
        ("file:///srv/%E8%AF%AD%E8%A8%80", "/srv/语言".encode()),
        ("file:///srv/语言", "/srv/语言".encode()),
        ("file:///a%3Fb%23c%E9", b"/a?b#c\xe9"),
        ("file:///", b"/"),
    ],
)
def test_uri_gives_its_path(uri, path):
    assert uri_to_path(uri) == path


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "/srv/notes",
        "http://localhost/srv",
        "file://elsewhere/srv",
        "file:/srv",
        "file://srv",
        "file:///srv?x=1",
        "file:///srv#x",
        "file:///srv/../etc",
        "file:///srv/%2e%2e/etc",
        "file:///srv//x",
        "file:///srv/%00",
        "file:///\ud800",
    ],
)
def test_uri_of_another_kind_is_refused(uri):
    with pytest.raises(InvalidPath):
        uri_to_path(uri)


@pytest.mark.parametrize("path", [b"", b"srv", b"/srv/", b"/srv/../etc", b"/a//b", b"/a\0"])
def test_path_that_is_not_plain_and_absolute_is_refused(path):
    with pytest.raises(InvalidPath):
        path_to_uri(path)


def test_refusal_does_not_repeat_the_path():
    with pytest.raises(InvalidPath) as caught:
        uri_to_path("file:///srv/private/../x")

    assert "private" not in str(caught.value)
