from __future__ import annotations

import pytest

from knowledge.parsing.source_map import Link
from tests.knowledge.parsing.builders import lines_of, parse

NOTE = """---
title: "My: note"
tags: [a]
---
# Head **bold** `code`

See [[Page#Part|alias]] and ![[img.png]], [a](b.md "t"), `[no](no.md)` and <https://example.org/a>
next line [ref][r] and [short] ![pic](a%20b.png) [angle](<a b.md>) [paren](f(1).md)

| A | B |
|---|---|
| [t](t.md) | y |

> quote [q](q.md)

```py
[no](code.md)
```

<div><a href="h.md">h</a></div>

Under
=====

[r]: ref.md
[short]: <short.md> "x"
"""


def test_front_matter_gives_the_title_and_a_block() -> None:
    source_map = parse("a.md", NOTE)

    assert source_map.title == "My: note"
    assert source_map.blocks[0].type == "front_matter"
    assert (source_map.blocks[0].line_start, source_map.blocks[0].line_end) == (1, 4)


def test_byte_order_mark_hides_no_front_matter_and_moves_no_line() -> None:
    source_map = parse("a.md", "\ufeff---\ntitle: Kept\n---\nbody")

    assert source_map.title == "Kept"
    assert lines_of(source_map)[0] == "---"


@pytest.mark.parametrize(
    ("front", "title"),
    [
        ("title: Plain # why", "Plain"),
        ("title: 'It''s'", "It"),
        ("title: >\n  Folded\n  twice\nother: 1", "Folded twice"),
        ("tags: a\nTitle: Upper", "Upper"),
        ("title:", None),
    ],
)
def test_front_matter_title_is_read_as_a_person_would(front: str, title: str | None) -> None:
    assert parse("a.md", f"---\n{front}\n---\nbody").title == title


@pytest.mark.parametrize("text", ["---\njust a rule\n", "---\n\n---\n", "text\n---\ntitle: no\n---\n"])
def test_rule_is_no_front_matter(text: str) -> None:
    assert all(block.type != "front_matter" for block in parse("a.md", text).blocks)


def test_toml_front_matter_gives_the_title() -> None:
    assert parse("a.md", '+++\ntitle = "Toml"\n+++\nbody').title == "Toml"


def test_headings_make_nested_sections_with_plain_titles() -> None:
    sections = parse("a.md", "# A *b*\n\n## C\ntext\n\n### D\n\n## E\n\nF\n---\n# G\n").sections

    assert [section.path for section in sections] == [
        ("A b",),
        ("A b", "C"),
        ("A b", "C", "D"),
        ("A b", "E"),
        ("A b", "F"),
        ("G",),
    ]
    assert [(section.line_start, section.line_end) for section in sections[:3]] == [(1, 11), (3, 7), (6, 7)]
    assert sections[2].parent_id == sections[1].id


def test_heading_marks_in_code_open_no_section() -> None:
    assert parse("a.md", "```\n# no\n```\n\n    # no\n").sections == ()


def test_links_are_found_with_kind_and_line() -> None:
    found = [(link.line, link.kind, link.target) for link in parse("a.md", NOTE).links]

    assert found == [
        (7, "wiki", "Page#Part"),
        (7, "embed", "img.png"),
        (7, "markdown", "b.md"),
        (7, "markdown", "https://example.org/a"),
        (8, "embed", "a%20b.png"),
        (8, "markdown", "a b.md"),
        (8, "markdown", "f(1).md"),
        (8, "markdown", "ref.md"),
        (8, "markdown", "short.md"),
        (12, "markdown", "t.md"),
        (14, "markdown", "q.md"),
        (20, "html", "h.md"),
    ]


def test_wiki_link_carries_its_alias() -> None:
    assert Link(target="Page#Part", text="alias", line=7, kind="wiki") in parse("a.md", NOTE).links


def test_block_types_follow_the_structure() -> None:
    types = [block.type for block in parse("a.md", NOTE).blocks]

    assert types == ["front_matter", "paragraph", "table", "quote", "code", "paragraph", "paragraph"]


def test_title_without_front_matter_is_the_first_outermost_heading() -> None:
    assert parse("a.md", "## Two\n\n# One\n").title == "One"


def test_hostile_brackets_cost_little_time() -> None:
    text = "[a\\" * 5000 + "\n\n" + "[a](b[" * 5000 + "\n\n" + ">" * 5000 + "\n\n" + "`a" * 5000

    assert parse("a.md", text).blocks
