"""What attaching folders would mean, said before anything is read."""

from __future__ import annotations

import pytest

from knowledge.services.forecasts import Choice, Forecast, forecast, normalised
from mnote.models import Access
from mnote.services import grants
from tests.people import People


@pytest.fixture
def folder(people: People) -> People:
    for path, content in {
        "a/one.md": "one", "a/two.md": "two two", "a/film.mp4": "x", "a/empty.md": "", "b/three.pdf": "pdf",
        "b/deep/four.md": "four", ".hidden.md": "h", "b/id_rsa": "k",
    }.items():  # fmt: skip
        target = people.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
    return people


def foresee(people: People, *choices: Choice, who: str = "alice", seconds: float = 10, **rules: object) -> Forecast:
    return forecast(principal=people.principal(who), choices=choices, rules=rules, seconds=seconds)


def test_forecast_counts_files_sizes_and_types(folder: People) -> None:
    found = foresee(folder, Choice(root=folder.root, path=""))

    assert (found.count, found.size) == (4, 3 + 7 + 3 + 4)
    assert {key: total.count for key, total in found.by_type.items()} == {"markdown": 3, "pdf": 1}
    assert not found.is_capped


def test_forecast_says_what_is_left_out_and_why(folder: People) -> None:
    found = foresee(folder, Choice(root=folder.root, path="a"))

    assert found.skipped == {"unsupported_type": 1, "empty": 1}
    assert found.examples["unsupported_type"] == ("a/film.mp4",)


def test_forecast_names_no_hidden_or_secret_file(folder: People) -> None:
    found = foresee(folder, Choice(root=folder.root, path=""))

    assert found.skipped["secret"] == 1
    assert "secret" not in found.examples
    assert "hidden" not in found.examples


def test_forecast_leaves_out_what_was_taken_out(folder: People) -> None:
    found = foresee(folder, Choice(root=folder.root, path="b", left_out=("b/deep",)))

    assert found.count == 1


def test_forecast_counts_nothing_the_person_may_not_read(folder: People) -> None:
    grants.set_grant(root=folder.root, holder=folder.bob, prefix="b", access=Access.NONE)

    found = foresee(folder, Choice(root=folder.root, path=""), Choice(root=folder.root, path="b"), who="bob")

    assert found.count == 2
    assert "b/id_rsa" not in str(found)
    assert found.unreachable == ("b",)


def test_forecast_that_runs_out_of_time_says_at_least(folder: People) -> None:
    found = foresee(folder, Choice(root=folder.root, path=""), seconds=0)

    assert found.is_capped


def test_forecast_of_a_folder_that_is_gone_says_so(people: People) -> None:
    people.folder.rmdir()

    assert foresee(people, Choice(root=people.root, path="")).unreachable == ("",)


def test_overlapping_choices_become_one(people: People) -> None:
    root = people.root
    given = [Choice(root=root, path="a/b"), Choice(root=root, path="a", left_out=("c",)), Choice(root=root, path="ab")]

    assert [(each.path, each.left_out) for each in normalised(given)] == [("a", ()), ("ab", ())]
