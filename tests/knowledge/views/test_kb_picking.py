"""The tree of the form in which folders and files are picked: its state lies in fields, not in the browser."""

from __future__ import annotations

import pytest
from django.http import QueryDict

from knowledge.views.picking import Pick, Picking
from tests.factories.mnote import RootFactory


def picking(*toggled: str) -> Picking:
    state = Picking()
    for path in toggled:
        state.toggle(Pick("notes", path))
    return state


@pytest.mark.parametrize(
    ("toggled", "path", "state"),
    [
        ([], "a", "false"),
        (["a"], "a", "true"),
        (["a"], "a/b/c.md", "true"),
        (["a"], "ab", "false"),
        (["a"], "", "mixed"),
        (["a", "a/b"], "a", "mixed"),
        (["a", "a/b"], "a/b", "false"),
        (["a", "a/b"], "a/c", "true"),
        (["a", "a/b", "a/b"], "a", "true"),
        (["a", "a/b", "a"], "a/b", "true"),
        (["a", "a"], "a", "false"),
        (["a/b", ""], "a/c", "true"),
        (["", "a", "a/b"], "a", "mixed"),
        (["", "a", "a/b"], "a/b", "true"),
    ],
)
def test_pick_is_whole_partial_or_none(toggled: list[str], path: str, state: str) -> None:
    assert picking(*toggled).state(Pick("notes", path)) == state


def test_state_survives_its_own_fields() -> None:
    before = picking("a", "a/b", "c.md")
    before.fold(Pick("notes", "a"))
    form = QueryDict(mutable=True)
    for name, value in before.fields:
        form.appendlist(name, value)

    after = Picking.from_form(form)

    assert after == before


@pytest.mark.parametrize("text", ["", "notes", "notes:../x", "notes:a/../b", "notes:a\0", ":a", "notes:a//b"])
def test_field_that_is_no_path_is_left_out(text: str) -> None:
    assert Picking.from_form(_form(text)).chosen == set()


def test_choices_hold_what_is_left_out_of_each(db: None) -> None:
    root = RootFactory(key="notes")

    found = picking("", "a", "a/b", "x.md").choices([root])

    assert [(each.path, each.left_out) for each in found] == [("", ("a", "x.md")), ("a/b", ())]


def test_left_out_path_becomes_a_pattern_below_its_folder(db: None) -> None:
    root = RootFactory(key="notes")

    [choice] = picking("a/b", "a/b/c").choices([root])

    assert choice.exclude == ["/c"]


def _form(text: str) -> QueryDict:
    form = QueryDict(mutable=True)
    form.appendlist("chosen", text)
    return form
