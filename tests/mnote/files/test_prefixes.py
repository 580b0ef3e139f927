import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnote.files.errors import InvalidPath
from mnote.files.prefixes import PrefixMap, ancestors, depth, is_below

NAME = st.sampled_from(["a", "b", "a_x", "ab", "语", "语言", "a.b"])
PATH = st.lists(NAME, max_size=4).map("/".join)


@pytest.mark.parametrize(
    ("prefix", "path", "covered"),
    [
        ("/ws", "/ws", True),
        ("/ws", "/ws/a", True),
        ("/ws/", "/ws/a", True),
        ("/ws", "/ws_x", False),
        ("/ws", "/ws_x/a", False),
        ("/ws/a", "/ws", False),
        ("", "anything/at/all", True),
        ("", "", True),
        ("a", "", False),
        ("语", "语言/a", False),
        ("A", "a/b", False),
    ],
)
def test_prefix_covers_whole_components_only(prefix, path, covered):
    assert is_below(prefix, path) is covered


@given(PATH, PATH)
def test_prefix_covers_exactly_its_own_ancestors(prefix, path):
    assert is_below(prefix, path) == (prefix in set(ancestors(path)))


@given(PATH, PATH, NAME)
def test_sibling_with_the_same_start_is_never_covered(prefix, rest, name):
    path = f"{prefix}/{name}" if prefix else name

    assert not is_below(path + "_x", path)
    assert not is_below(path, path + "_x" + ("/" + rest if rest else ""))


@given(st.lists(st.tuples(PATH, st.integers()), max_size=8), PATH)
def test_most_specific_equals_the_deepest_of_all_covering(pairs, path):
    covering = [(depth(prefix), value) for prefix, value in pairs if is_below(prefix, path)]
    deepest = max((level for level, _ in covering), default=0)

    assert PrefixMap(pairs).most_specific(path) == tuple(value for level, value in covering if level == deepest)


@pytest.mark.parametrize("path", ["..", "a/../b", "a//b", "./a", "a\0"])
def test_rule_cannot_be_asked_about_a_crooked_path(path):
    with pytest.raises(InvalidPath):
        is_below("", path)
