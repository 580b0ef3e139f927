from __future__ import annotations

import pytest

from knowledge.rendering.targets import TargetKind, read_target, resolve


@pytest.mark.parametrize(
    ("written", "path", "fragment"),
    [
        ("b.md", "notes/b.md", ""),
        ("./sub/../b.md", "notes/b.md", ""),
        ("../b.md", "b.md", ""),
        ("/b.md", "b.md", ""),
        ("a%20b.md#x%20y", "notes/a b.md", "x y"),
        ("b.md?plain=1#p", "notes/b.md", "p"),
        ("sub\\b.md", "notes/sub/b.md", ""),
        ("..", "", ""),
        ("%FF.md", "notes/\\xff.md", ""),
    ],
)
def test_target_below_the_root_is_a_file(written, path, fragment):
    target = read_target(written, "notes/a.md")

    assert (target.kind, target.path, target.fragment) == (TargetKind.FILE, path, fragment)


@pytest.mark.parametrize(
    "written",
    ["../../x.md", "javascript:alert(1)", "JaVaScRiPt:x", "vbscript:x", "file:///x", "data:text/html,x", "a%00b"],
)
def test_target_elsewhere_leads_nowhere(written):
    assert read_target(written, "notes/a.md").kind is TargetKind.NOWHERE


@pytest.mark.parametrize(
    "written", ["http://example.org", "https://example.org/x", "mailto:a@example.org", "//example.org"]
)
def test_target_outside_keeps_its_address(written):
    assert read_target(written, "a.md").kind is TargetKind.OUTSIDE


def test_resolve_keeps_to_the_root():
    assert resolve(b"../" * 50 + b"etc/passwd", "a/b/c.md") is None
