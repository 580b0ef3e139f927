import json
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mnote.files.errors import InvalidPath
from mnote.files.names import name_to_text, path_to_bytes, path_to_text, text_to_name

NAMES = st.binary(min_size=1, max_size=255).filter(
    lambda name: not set(name) & {0, 0x2F} and name not in {b".", b".."},
)


@given(NAMES)
@example(b"caf\xe9.md")
@example(b"\xff\xfe.txt")
@example(b"a\\b")
@example(b"\\x41")
@example(b"\xed\xa0\x80")
def test_name_survives_the_way_to_text_and_back(name):
    assert text_to_name(name_to_text(name)) == name


@given(st.lists(NAMES, max_size=6))
def test_path_survives_the_way_to_text_and_back(names):
    path = b"/".join(names)

    assert path_to_bytes(path_to_text(path)) == path


@given(NAMES)
def test_text_form_fits_a_database_and_json(name):
    text = name_to_text(name)

    assert "\0" not in text
    assert json.loads(json.dumps(text)).encode() == text.encode()


@given(NAMES, NAMES)
def test_two_names_never_share_a_text_form(one, other):
    assert (name_to_text(one) == name_to_text(other)) == (one == other)


@given(st.text(max_size=30))
def test_text_is_refused_or_is_the_only_form_of_its_name(text):
    try:
        name = text_to_name(text)
    except InvalidPath:
        return
    assert name_to_text(name) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (b"plain.md", "plain.md"),
        ("语言 说明.pdf".encode(), "语言 说明.pdf"),
        (b"caf\xe9.md", "caf\\xe9.md"),
        (b"a\\b.md", "a\\\\b.md"),
        (b"line\nbreak", "line\nbreak"),
    ],
)
def test_name_has_the_documented_text_form(name, text):
    assert name_to_text(name) == text


def test_normalisation_twins_stay_two_names():
    composed, decomposed = (unicodedata.normalize(form, "für.pdf").encode() for form in ("NFC", "NFD"))

    assert name_to_text(composed) != name_to_text(decomposed)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "..",
        "a/b",
        "a\0b",
        "a\\b",
        "\\",
        "\\x4",
        "\\X41",
        "\\xE9",
        "\\x41",
        "\\x2e\\x2e",
        "\\x2f",
        "\\x00",
        "\\xc3\\xa9",
        "\ud800",
    ],
)
def test_text_that_is_no_name_is_refused(text):
    with pytest.raises(InvalidPath):
        text_to_name(text)


@pytest.mark.parametrize(
    "text",
    ["/etc/passwd", "../x", "a/../../x", "a/./b", "a//b", "a/", "C:\\x", "..\\x", "a/\\x2e\\x2e/b", "a/\0", "\\x2fetc"],
)
def test_path_that_leaves_the_root_is_refused(text):
    with pytest.raises(InvalidPath):
        path_to_bytes(text)


@pytest.mark.parametrize("name", [b"", b".", b"..", b"a/b", b"a\0"])
def test_bytes_that_are_no_name_are_refused(name):
    with pytest.raises(InvalidPath):
        name_to_text(name)


def test_empty_path_is_the_root():
    assert (path_to_bytes(""), path_to_text(b"")) == (b"", "")
