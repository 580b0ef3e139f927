from __future__ import annotations

from tests.knowledge.api.conftest import post
from tests.library import Library
from tests.published import assert_published

URL = "/api/knowledge-rag/section-context"
LONG = "# Book\n\nPreface of the book.\n\n" + "".join(
    f"## Chapter {number}\n\nThe story of chapter {number} is about {word}.\n\n"
    for number, word in enumerate(["anvils", "bellows", "candles", "drums", "eels"], start=1)
)


def test_section_context_gives_the_passage_with_what_stands_around_it(library: Library) -> None:
    library.add({"book.md": LONG})
    quote = "The story of chapter 3 is about candles."

    body = post(
        library.people.client("carol"), URL, {**library.scope, "sourcePath": "book.md", "quote": quote, "window": 1}
    ).json()

    assert_published("section-context", body)
    assert body["passage"] == quote
    assert body["sectionPath"] == ["Book", "Chapter 3"]
    assert "bellows" in body["before"][-1]["quote"]
    assert "drums" in body["after"][0]["quote"]
    assert (len(body["before"]), len(body["after"])) == (1, 1)
    assert body["section"]["title"] == "Chapter 3"
    assert body["section"]["summary"] == quote


def test_section_context_finds_what_else_in_the_section_fits_the_query(library: Library) -> None:
    paragraphs = "\n\n".join(f"Paragraph {number} " + "word " * 120 for number in range(6))
    library.add({"essay.md": f"# Essay\n\n{paragraphs}\n\nThe anvil is made of iron and rings.\n"})
    wanted = {"sourcePath": "essay.md", "lines": [1, 3], "query": "iron anvil", "window": 0}

    body = post(library.people.client("alice"), URL, {**library.scope, **wanted}).json()

    assert "anvil is made of iron" in body["relevant"][0]["quote"]


def test_section_context_of_a_whole_document_has_no_neighbours(library: Library) -> None:
    body = post(library.people.client("alice"), URL, {**library.scope, "sourcePath": "notes.txt"}).json()

    assert body["reference"]["locatorDegraded"]
    assert (body["before"], body["after"], "section" in body) == ([], [], False)


def test_section_context_quotes_the_file_as_it_is_now(library: Library) -> None:
    library.add({"book.md": LONG})
    (library.people.folder / "book.md").write_text(LONG.replace("drums", "harps"))
    wanted = {"sourcePath": "book.md", "quote": "The story of chapter 3 is about candles."}

    body = post(library.people.client("alice"), URL, {**library.scope, **wanted}).json()

    assert "harps" in body["after"][0]["quote"]


def test_section_context_is_closed_with_its_file(library: Library) -> None:
    answer = post(library.people.client("mallory"), URL, {**library.scope, "sourcePath": "notes.txt"})

    assert answer.status_code == 404
