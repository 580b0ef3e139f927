import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.scanner.globs import GlobError, fold, parse_globs


def matches(pattern, path):
    names = tuple(fold(name) for name in path.removesuffix("/").split("/"))
    return parse_globs([pattern])[0].matches(names, is_folder=path.endswith("/"))


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.pdf", "a.pdf", True),
        ("*.pdf", "deep/er/a.PDF", True),
        ("*.pdf", "a.pdf.md", False),
        ("*.pdf", ".pdf", True),
        ("a*b*c", "aXXbXXbc", True),
        ("a*b*c", "aXXbXXb", False),
        ("a?.md", "ab.md", True),
        ("a?.md", "a.md", False),
        ("?.md", "语.md", True),
        ("reports/**", "reports/", True),
        ("reports/**", "reports/a/b.md", True),
        ("reports/**", "reports", False),
        ("reports/**", "reports_x/a.md", False),
        ("reports/**", "old/reports/a.md", False),
        ("**/reports/*.md", "reports/a.md", True),
        ("**/reports/*.md", "x/y/reports/a.md", True),
        ("**/reports/*.md", "reports/x/a.md", False),
        ("a/**/b.md", "a/b.md", True),
        ("a/**/b.md", "a/x/y/b.md", True),
        ("a/*/b.md", "a/x/y/b.md", False),
        ("/a.md", "a.md", True),
        ("/a.md", "x/a.md", False),
        ("drafts", "x/drafts/", True),
        ("drafts", "x/drafts", True),
        ("drafts/", "x/drafts", False),
        ("drafts/", "x/drafts/", True),
        ("**", "any/thing", True),
        ("*", "any/thing", True),
        ("[2024] plan.md", "[2024] plan.md", True),
        ("[2024] plan.md", "2 plan.md", False),
        ("caf\\xe9.md", "caf\\xe9.md", True),
        ("für.md", "fu\u0308r.md", True),
        ("STRASSE.md", "straße.md", True),
    ],
)
def test_pattern_matches_as_documented(pattern, path, expected):
    assert matches(pattern, path) is expected


@pytest.mark.parametrize(
    ("patterns", "code"),
    [
        (["/"], "empty"),
        (["a//b"], "not_a_path"),
        (["../a"], "not_a_path"),
        (["a/./b"], "not_a_path"),
        (["a\0"], "not_a_path"),
        (["a" * 501], "too_long"),
        (["a"] * 201, "too_many"),
    ],
)
def test_pattern_that_makes_no_sense_is_refused(patterns, code):
    with pytest.raises(GlobError) as caught:
        parse_globs(patterns)
    assert caught.value.code == code


def test_blank_lines_are_no_patterns():
    assert parse_globs(["", "  ", "\t"]) == ()


@given(st.text("ab*?", min_size=1, max_size=8), st.text("ab", min_size=1, max_size=10))
def test_name_pattern_equals_the_textbook_meaning(pattern, name):
    if pattern == "**":
        return
    textbook = "".join({"*": ".*", "?": "."}.get(character, character) for character in pattern)

    assert matches(pattern, name) == bool(re.fullmatch(textbook, name))


@given(
    st.lists(st.sampled_from(["a", "b", "*", "**"]), min_size=2, max_size=6),
    st.lists(st.sampled_from("ab"), min_size=1, max_size=7),
)
def test_path_pattern_equals_the_textbook_meaning(parts, names):
    textbook = "".join({"*": "/[ab]", "**": "(/[ab])*"}.get(part, f"/{part}") for part in parts)

    assert matches("/".join(parts), "/".join(names) + "/") == bool(re.fullmatch(textbook, "/" + "/".join(names)))


@given(st.text(max_size=40))
def test_no_pattern_breaks_the_matcher(pattern):
    try:
        globs = parse_globs([pattern])
    except GlobError:
        return
    for glob in globs:
        glob.matches(("a", unicodedata.normalize("NFC", pattern) or "b"), is_folder=False)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 240 + "*b", "a" * 255),
        ("**/a/" * 99 + "b", "/".join("a" * 120)),
        ("a/" * 240 + "b", "a"),
    ],
)
def test_hostile_pattern_costs_little(pattern, path):
    started = time.process_time()
    assert not matches(pattern, path)

    assert time.process_time() - started < 1
