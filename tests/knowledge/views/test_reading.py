from __future__ import annotations

import hashlib
import os
from urllib.parse import unquote

import pytest

from knowledge.services import artifacts
from mnote.models import Access
from tests.factories.mnote import GrantFactory, RootFactory
from tests.knowledge.parsing.builders import make_pdf, make_raw_pdf
from tests.knowledge.views.pane import cited, page, place, truth

AGREEMENT = (
    "# Agreement\n\n## 6 Term\n\nIt starts today.\n\nEither party may terminate it.\n\n## 7 Rest\n\nNothing else.\n"
)
WORDS = "Either party may terminate it."


@pytest.fixture
def agreement(pane):
    pane.write("contracts/agreement.md", AGREEMENT)
    return pane.cite("contracts/agreement.md", WORDS)


def test_pane_marks_the_cited_words_and_says_exact(pane, agreement):
    response = pane.open("contracts/agreement.md", cite=agreement)

    assert (truth(response), place(response), cited(response)) == ("exact", "line 7", [WORDS])
    assert page(response).xpath('//*[@id="cited"]')


def test_pane_offers_a_citation_that_opens_the_same_place(pane, agreement):
    response = pane.open("contracts/agreement.md", cite=agreement)
    copied = page(response).xpath("//button/@data-copy")[0]

    assert copied.startswith("[agreement.md / line 7 / 6 Term](http://testserver/w/")
    address = copied[copied.index("](") + 2 : -1].replace("http://testserver", "")
    assert truth(pane.get(address)) == "exact"


def test_pane_finds_the_words_in_an_edited_file(pane, agreement):
    pane.write("contracts/agreement.md", "# New first line\n\n" + AGREEMENT)

    response = pane.open("contracts/agreement.md", cite=agreement)
    assert (truth(response), place(response), cited(response)) == ("moved", "line 9", [WORDS])


def test_pane_says_changed_and_shows_the_section_when_the_words_are_gone(pane, agreement):
    pane.write("contracts/agreement.md", AGREEMENT.replace(WORDS, "Nobody may terminate."))

    response = pane.open("contracts/agreement.md", cite=agreement)
    assert (truth(response), cited(response)) == ("changed", [])
    assert page(response).xpath('//*[@id="cited"]')[0].text_content() == "6 Term"


def test_pane_opens_a_renamed_file_at_its_new_path_and_says_so(pane, vault):
    vault.write("old.md", AGREEMENT)
    vault.level()
    token = pane.cite("old.md", WORDS)
    (vault.folder / "old.md").rename(vault.folder / "new.md")
    vault.level()

    moved = pane.open("old.md", cite=token)
    assert moved.status_code == 302
    assert "/open/new.md?" in moved.headers["Location"]
    response = pane.get(moved.headers["Location"])
    assert (truth(response), cited(response)) == ("moved", [WORDS])
    assert "old.md" in page(response).xpath("//*[@data-truth]")[0].text_content()


def test_pane_answers_410_for_a_cited_file_that_is_gone(pane, agreement):
    (pane.folder / "contracts/agreement.md").unlink()

    response = pane.open("contracts/agreement.md", cite=agreement)
    assert (response.status_code, truth(response)) == (410, "gone")


def test_pane_says_degraded_when_the_citation_has_no_place(pane):
    pane.write("a.md", AGREEMENT)

    response = pane.open("a.md", cite=pane.cite("a.md", ""))
    assert (truth(response), cited(response)) == ("degraded", [])


def test_pane_says_degraded_in_chinese(pane):
    pane.write("a.md", AGREEMENT)
    client = pane.people.client("alice")
    client.cookies["mnote_language"] = "zh-hans"

    assert "来源定位降级" in client.get(pane.url("open", "a.md", cite=pane.cite("a.md", ""))).text


def test_pane_opens_lines_without_a_citation_as_not_compared(pane):
    pane.write("a.md", AGREEMENT)

    response = pane.open("a.md", lines="5-7")
    assert (truth(response), place(response)) == ("unverified", "lines 5–7")
    assert cited(response) == ["It starts today.", WORDS]


def test_pane_knows_lines_that_were_named_in_this_version(pane):
    pane.write("a.md", AGREEMENT)
    named = hashlib.sha256(AGREEMENT.encode()).hexdigest()[:16]

    response = pane.open("a.md", lines="5-7", hash=named)
    assert (truth(response), place(response)) == ("exact", "lines 5–7")
    assert cited(response) == ["It starts today.", WORDS]


def test_pane_opens_a_file_changed_since_its_lines_were_named_without_them(pane):
    """Other words may stand there now."""
    named = hashlib.sha256(AGREEMENT.encode()).hexdigest()[:16]
    pane.write("a.md", f"A line more.\n{AGREEMENT}")

    response = pane.open("a.md", lines="5-7", hash=named)
    assert (truth(response), place(response), cited(response)) == ("changed", "", [])
    assert "so it opens without it" in response.text


@pytest.mark.parametrize("named", ["short", "", "Z" * 16, "a" * 65])
def test_pane_takes_what_is_no_hash_for_none(named, pane):
    pane.write("a.md", AGREEMENT)

    assert truth(pane.open("a.md", lines="5-7", hash=named)) == "unverified"


def test_pane_opens_a_file_without_any_strip(pane):
    pane.write("a.md", AGREEMENT)

    response = pane.open("a.md")
    assert (response.status_code, truth(response), cited(response)) == (200, "", [])


@pytest.mark.parametrize("token", ["nonsense", "a:b:c", "." * 5_000])
def test_pane_opens_the_file_when_the_citation_cannot_be_read(token, pane):
    pane.write("a.md", AGREEMENT)

    response = pane.open("a.md", cite=token)
    assert (response.status_code, truth(response)) == (200, "unknown")


@pytest.mark.parametrize("lines", ["", "0-0", "9-3", "x", "1-99999999999999", "700-900"])
def test_pane_ignores_lines_that_are_none(lines, pane):
    pane.write("a.md", AGREEMENT)

    response = pane.open("a.md", lines=lines)
    assert (response.status_code, cited(response)) == (200, [])


def test_pane_steps_between_equal_passages(pane):
    pane.write("a.md", "# A\n\nsame words here\n\n## B\n\nsame words here\n\n## C\n\nsame words here\n")
    token = pane.cite("a.md", "same words here", nth=2)

    response = pane.open("a.md", cite=token)
    assert place(response) == "line 7"
    steps = page(response).xpath('//a[@rel="prev"]/@href | //a[@rel="next"]/@href')
    assert [place(pane.get(step.partition("#")[0])) for step in steps] == ["line 3", "line 11"]
    assert len(page(response).xpath('//mark[contains(@class, "also")]')) == 2


@pytest.mark.parametrize(("who", "status"), [("bob", 200), ("carol", 200), ("mallory", 404), (None, 302)])
def test_pane_opens_for_members_only(who, status, pane, agreement):
    assert pane.open("contracts/agreement.md", who, cite=agreement).status_code == status


def test_pane_shows_nothing_after_access_is_taken_back(pane, agreement):
    assert pane.open("contracts/agreement.md", "carol", cite=agreement).status_code == 200
    GrantFactory(root=pane.people.root, user=pane.people.carol, prefix="contracts", access=Access.NONE)

    response = pane.open("contracts/agreement.md", "carol", cite=agreement)
    assert response.status_code == 404
    assert WORDS not in response.text


def test_pane_is_kept_by_no_cache(pane, agreement):
    assert pane.open("contracts/agreement.md", cite=agreement).headers["Cache-Control"] == "private, no-store"


def test_pane_refuses_a_citation_of_another_root(pane, agreement, tmp_path):
    (tmp_path / "other").mkdir()
    RootFactory(workspace=pane.people.workspace, folder=tmp_path / "other", key="other")

    assert pane.open("contracts/agreement.md", cite=agreement, root="other").status_code == 404


@pytest.mark.parametrize(
    "path", ["../secret.md", "a/../../secret.md", "/etc/passwd", "a\0b.md", "missing.md", "link.md", "sub/./a.md"]
)
def test_pane_opens_nothing_outside_the_root(path, pane, tmp_path):
    (tmp_path / "secret.md").write_text("secret")
    (pane.folder / "link.md").symlink_to(tmp_path / "secret.md")

    assert pane.open(path).status_code == 404


@pytest.mark.parametrize(
    "name",
    [b"caf\xe9.md", b"\xff\xfe.txt", "语言 100%.md".encode(), b"a\"b'c.md", b"a\\b.md", b"new\nline.md", b"a?b#c.md"],
)
def test_pane_opens_files_of_any_name(name, pane):
    with open(os.fsencode(pane.folder) + b"/" + name, "wb") as file:  # noqa: PTH123 a name pathlib cannot hold
        file.write(b"# Title\n\nsome words\n")

    listing = page(pane.get(pane.url("files")))
    address = listing.xpath('//tr[@data-row]//a[@class="name"]/@href')[0]
    response = pane.get(address)
    assert response.status_code == 200
    assert "some words" in response.text


def test_pane_of_a_folder_is_its_page(pane):
    pane.write("sub/a.md", "x")

    assert "/files/sub?" in pane.open("sub").headers["Location"]


@pytest.mark.parametrize("written", ["guide/start", "guide/start.html"])
def test_pane_finds_the_note_that_a_link_means(written, pane):
    pane.write("guide/start.md", "x")

    assert "/open/guide/start.md?" in pane.open(written).headers["Location"]


def test_pane_follows_wiki_links_near_and_far(pane, vault):
    vault.write("a/b/note.md", "[[Near]] [[Far]] [[Nowhere]]")
    vault.write("a/Near.md", "x")
    vault.write("x/y/Far.md", "x")
    vault.level()

    links = page(pane.open("a/b/note.md")).xpath("//article//a/@href")
    assert "/open/a/Near.md?" in links[0]
    assert "/open/x/y/Far.md?" in pane.get(links[1]).headers["Location"]
    assert pane.get(links[2]).status_code == 404


def test_pane_never_leads_a_wiki_link_to_what_may_not_be_read(pane, vault):
    vault.write("note.md", "[[Secret]]")
    vault.write("closed/Secret.md", "x")
    vault.level()
    GrantFactory(root=pane.people.root, user=pane.people.carol, prefix="closed", access=Access.NONE)

    assert pane.get(pane.url("find", name="Secret", **{"from": "note.md"}), "carol").status_code == 404


@pytest.mark.parametrize("note", ["../x.md", "/", "a\0b", "x" * 5_000])
@pytest.mark.parametrize("name", ["../Near", "a\0b", "", "/", "%", "Near"])
def test_pane_answers_any_wiki_link(name, note, pane):
    pane.write("Near.md", "x")

    assert pane.get(pane.url("find", name=name, **{"from": note})).status_code in {302, 404}


def test_pane_shows_pictures_of_the_note_through_the_raw_route(pane):
    pane.write("a.md", "![x](img/p.png) ![y](https://example.org/t.png)")
    pane.write("img/p.png", b"\x89PNG")

    response = pane.open("a.md")
    assert page(response).xpath("//article//img/@src") == [pane.url("raw", "img/p.png")]


def test_pane_shows_a_pdf_with_boxes_on_both_pages(pane):
    pane.write("a.pdf", make_pdf([["First page words."], ["Second page words."]]))
    token = pane.cite("a.pdf", "First page words.\n\nSecond page words.")

    response = pane.open("a.pdf", cite=token)
    assert (truth(response), place(response)) == ("exact", "pages 1–2")
    assert len(page(response).xpath('//figure//svg//rect[@class="cite"]')) == 2
    pictures = page(response).xpath("//figure//img/@src")
    assert [pane.get(unquote(each)).headers["Content-Type"] for each in pictures] == ["image/png", "image/png"]


def test_pane_never_names_a_page_of_a_text_file(pane):
    pane.write("a.txt", "one\ntwo\nthree\n")

    response = pane.open("a.txt", cite=pane.cite("a.txt", "two"))
    assert (place(response), cited(response)) == ("line 2", ["two"])


def test_pane_opens_a_page_of_a_pdf(pane):
    pane.write("a.pdf", make_pdf([[f"Words of page {number}."] for number in range(1, 41)]))

    numbers = page(pane.open("a.pdf", page=30)).xpath("//figure/@id")
    assert "page-30" in numbers
    assert len(numbers) <= 20


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.zip", b"PK\x03\x04", "This type of file is not read."),
        ("empty.md", b"", "The file is empty."),
        ("a.pdf", b"%PDF-1.7 broken", "The file is damaged or not what its name says."),
        ("bin.txt", bytes(range(256)) * 20, "The file is damaged or not what its name says."),
    ],
)
def test_pane_says_why_a_file_cannot_be_shown(name, content, sentence, pane):
    pane.write(name, content)

    response = pane.open(name)
    assert response.status_code == 200
    assert sentence in response.text
    assert page(response).xpath("//a[@download]/@href")


def test_pane_shows_a_picture_as_such(pane):
    pane.write("p.svg", "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")

    response = pane.open("p.svg")
    assert page(response).xpath('//figure[@class="picture"]/img/@src') == [pane.url("raw", "p.svg")]
    assert "alert(1)" not in response.text


def test_pane_sends_a_window_of_a_long_file(pane):
    pane.write("big.log", "".join(f"line {number}\n" for number in range(1, 60_001)))

    response = pane.open("big.log", lines="30000-30000")
    assert cited(response) == ["line 30000"]
    assert len(response.content) < 200_000


def test_pane_sends_the_next_window_alone_when_asked(pane):
    pane.write("big.log", "".join(f"line {number}\n" for number in range(1, 3_001)))
    more = page(pane.open("big.log")).xpath('//*[@id="more-after"]/a/@hx-get')[0]

    response = pane.get(more, **{"HX-Request": "true"})
    assert "<html" not in response.text
    assert 'id="L601"' in response.text
    assert 'id="more-before"' not in response.text


def test_pane_reads_a_changed_file_anew(pane):
    pane.write("a.md", "old words")
    pane.open("a.md")
    pane.write("a.md", "new words")

    assert "new words" in pane.open("a.md").text


def test_pane_works_when_derived_data_is_lost(pane, agreement, settings):
    pane.open("contracts/agreement.md", cite=agreement)
    artifacts.forget(workspace_id=pane.people.workspace.pk, source_hashes=[])
    for blob in settings.MNOTE_ARTIFACT_DIR.rglob("*.gz"):
        blob.unlink()

    assert truth(pane.open("contracts/agreement.md", cite=agreement)) == "exact"


def test_pane_names_no_path_of_the_server(pane, agreement):
    response = pane.open("contracts/agreement.md", cite=agreement)

    assert str(pane.folder) not in response.text
    assert "file://" not in response.text


def test_pane_asks_the_database_no_more_for_a_longer_note(pane, django_assert_max_num_queries):
    pane.write("a.md", "\n\n".join(f"[[Note {number}]] ![x](p{number}.png)" for number in range(80)))
    client = pane.people.client("alice")
    client.get(pane.url("open", "a.md"))

    with django_assert_max_num_queries(30):
        client.get(pane.url("open", "a.md"))


def test_pane_shows_the_pages_of_a_scan_and_says_that_it_has_no_text(pane):
    pane.write("scan.pdf", make_raw_pdf(b"0 0 100 100 re f"))

    response = pane.open("scan.pdf")
    assert len(page(response).xpath("//figure//img")) == 1
    assert "No text was found in it, perhaps a scan." in response.text


def test_pane_asks_for_a_password_of_a_locked_pdf(pane):
    pane.write("locked.pdf", make_pdf([["Words."]], owner_password="o", user_password="u"))

    response = pane.open("locked.pdf")
    assert "Needs a password." in response.text
    assert page(response).xpath("//figure") == []
