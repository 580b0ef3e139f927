"""Where a change stands, and what of it can be shown."""

from __future__ import annotations

from typing import Any

import pytest

from pageai.panel.opencode import lines_of, told_changes_of

_HEAD = "Index: a.md\n===\n--- a.md\n+++ a.md\n"


@pytest.mark.parametrize(
    ("hunks", "lines"),
    [
        ("@@ -1,4 +1,5 @@\n one\n two\n-three\n+drei\n+vier\n five\n", "3-4"),
        ("@@ -0,0 +1,2 @@\n+one\n+two\n", "1-2"),
        ("@@ -10,2 +10,3 @@\n ten\n+new\n eleven\n@@ -40 +41 @@\n-x\n+y\n", "11-11"),
        ("@@ -1,2 +1,1 @@\n one\n-two\n", ""),
        ("@@ -1,2 +1,1 @@\n one\n-two\n@@ -9,2 +8,3 @@\n eight\n+nine\n", "9-9"),
        ("", ""),
    ],
)
def test_the_first_change_has_its_lines(hunks: str, lines: str) -> None:
    assert lines_of(_HEAD + hunks) == lines


@pytest.mark.parametrize("diff", ["nonsense", "+++", "@@ nothing @@\n+x", "@@ -1 +x @@\n+x"])
def test_what_is_no_diff_has_no_lines(diff: str) -> None:
    assert lines_of(diff) == ""


def part(tool: str, given: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any]:
    state = {"status": "completed", "input": given, "metadata": metadata}
    return {"type": "tool", "tool": tool, "callID": "c1", "state": state}


def test_a_file_that_was_written_whole_is_shown_as_it_was_written() -> None:
    [change] = told_changes_of(part("write", {"filePath": "/n/a.md", "content": "one\ntwo"}, {"filepath": "/n/a.md"}))

    assert (change.path, change.diff) == ("/n/a.md", "+one\n+two\n")


def test_a_diff_that_is_told_is_shown_as_it_is() -> None:
    [change] = told_changes_of(part("edit", {"filePath": "/n/a.md"}, {"filepath": "/n/a.md", "diff": "@@ x"}))

    assert change.diff == "@@ x"
