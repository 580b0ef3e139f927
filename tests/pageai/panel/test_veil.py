from __future__ import annotations

from collections.abc import Iterable

import pytest

from pageai.panel.frames import Frame, frame
from pageai.panel.veil import Veil

_FOLDER = "/srv/data/用户 A"


def shown(frames: Iterable[Frame]) -> list[Frame]:
    stream = Veil(_FOLDER).stream()
    return [*(each for given in frames for each in stream.pass_on(given)), *stream.rest()]


def words(frames: Iterable[Frame]) -> str:
    return "".join(each.text("content") for each in frames)


@pytest.mark.parametrize(
    ("text", "freed"),
    [
        (f"wrote {_FOLDER}/a/b.md", "wrote a/b.md"),
        (f"{_FOLDER}", "."),
        (f"cd {_FOLDER} && ls", "cd . && ls"),
        (f"{_FOLDER}_x/a.md", f"{_FOLDER}_x/a.md"),
        (f"{_FOLDER}2", f"{_FOLDER}2"),
        ("nothing", "nothing"),
        (f"{_FOLDER}/a and {_FOLDER}/b", "a and b"),
    ],
)
def test_veil_names_files_below_the_root(text: str, freed: str) -> None:
    assert Veil(_FOLDER).text(text) == freed


def test_veil_frees_values_all_the_way_down() -> None:
    given = {"input": {"filePath": f"{_FOLDER}/a.md", "n": 1}, f"{_FOLDER}/k": [f"{_FOLDER}/b", None, True]}

    assert Veil(_FOLDER).value(given) == {"input": {"filePath": "a.md", "n": 1}, "k": ["b", None, True]}


@pytest.mark.parametrize("size", range(1, 20))
def test_stream_frees_words_that_come_in_pieces(size: int) -> None:
    said = f"I read {_FOLDER}/a.md and /srv/data/other; then {_FOLDER}/b.md in /srv"
    frames = [frame("text", content=said[start : start + size], done=False) for start in range(0, len(said), size)]

    found = shown([*frames, frame("session_idle", done=False)])

    assert words(found) == "I read a.md and /srv/data/other; then b.md in /srv"
    assert found[-1].type == "session_idle"


def test_stream_says_what_it_held_back_before_anything_else() -> None:
    found = shown([frame("text", content="in /srv/da", done=False), frame("tool", tool="read", done=False)])

    assert [each.type for each in found] == ["text", "text", "tool"]
    assert words(found) == "in /srv/da"


def test_stream_keeps_reasoning_and_answer_apart() -> None:
    found = shown([frame("reasoning", content="/srv", done=False), frame("text", content="/data", done=False)])

    assert [(each.type, each.text("content")) for each in found] == [("reasoning", "/srv"), ("text", "/data")]


def test_stream_passes_on_what_names_no_path_byte_by_byte() -> None:
    frames = [
        frame("text", content="three months", done=False),
        Frame(raw=b": comment\n\n"),
        frame("tool", tool="glob", input={"pattern": "*.md"}, done=False),
    ]

    assert shown(frames) == frames
