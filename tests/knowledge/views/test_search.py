"""The search pages show what the reader may read, marked, opening at its place; every state says what it is."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.test import Client
from lxml import html

from knowledge.models import Document, IndexStatus, KnowledgeBase, Pin, ProviderKind
from mnote.models import Access
from mnote.services import grants
from tests.factories.knowledge import KnowledgeBaseFactory
from tests.factories.mnote import MembershipFactory, RootFactory
from tests.knowledge.vault import Vault
from tests.people import People

GARDEN = "# Garden\n\n## Watering\n\nTomatoes want sun and a lot of water in July.\n\n## Soil\n\nLoose soil is best.\n"


@pytest.fixture
def filled(vault: Vault) -> Vault:
    vault.write("public/garden.md", GARDEN)
    vault.write("private/diary.md", "# Diary\n\nTomatoes were stolen last night, I know by whom.\n")
    vault.write("public/番茄.md", "# 番茄\n\n番茄喜欢阳光，七月要多浇水。\n")
    vault.level()
    return vault


class Page:
    """An answer of the search page, read as a browser does."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = html.fromstring(text)

    def all(self, path: str) -> list[str]:
        return [each.text_content().strip() for each in self.tree.xpath(path)]

    @property
    def names(self) -> list[str]:
        return self.all("//article//h3")

    @property
    def marks(self) -> list[str]:
        return self.all("//article//blockquote//mark")

    @property
    def links(self) -> list[str]:
        return [str(each) for each in self.tree.xpath("//article//h3/a/@href")]


def look(vault: Vault, who: str = "alice", *, kb: KnowledgeBase | None = None, **query: object) -> Page:
    address = f"/kb/{kb.id}/search/" if kb else "/kb/search"
    response = vault.people.client(who).get(address, query)
    assert response.status_code == 200
    return Page(response.text)


def test_hit_has_name_place_marks_and_section(filled: Vault) -> None:
    page = look(filled, kb=filled.kb, q="watering in july")

    assert page.names[0] == "garden.md"
    assert page.all("//article[1]//*[@class='place quiet']")[0] == "public/garden.md:3-5"
    assert page.marks == ["water", "July"]
    assert page.all("//article[1]//*[contains(@class, 'section-path')]")[0] == "Garden › Watering"


def test_hit_opens_at_its_passage(filled: Vault) -> None:
    page = look(filled, kb=filled.kb, q="water july")

    opened = filled.people.client("alice").get(page.links[0])

    assert opened.status_code == 200
    assert 'data-truth="exact"' in opened.text
    assert "Tomatoes want sun" in opened.text


def test_chinese_words_are_marked_by_their_pairs(filled: Vault) -> None:
    assert "七月" in look(filled, kb=filled.kb, q="七月浇水").marks


def test_answer_cites_and_its_citation_opens(filled: Vault) -> None:
    page = look(filled, q="What do tomatoes want in July?")

    [answer] = page.tree.xpath("//section[@class='answer']")
    assert "Tomatoes want sun and a lot of water in July." in answer.text_content()
    [chip] = answer.xpath(".//a[@class='cite-chip']/@href")
    assert 'data-truth="exact"' in filled.people.client("alice").get(str(chip)).text


def test_sentence_with_less_than_half_of_the_question_is_no_answer(filled: Vault) -> None:
    page = look(filled, q="tomatoes quantum chromodynamics lattice")

    assert page.names
    assert page.tree.xpath("//section[@class='answer']") == []


def test_reader_sees_no_trace_of_what_is_closed(filled: Vault) -> None:
    grants.set_grant(root=filled.people.root, holder=filled.people.carol, prefix="private", access=Access.NONE)

    page = look(filled, "carol", q="tomatoes stolen")

    assert page.names == ["garden.md"]
    assert "diary" not in page.text
    assert "private" not in page.text
    assert "candidate" not in page.text


def test_candidates_are_told_to_those_who_read_everything(filled: Vault) -> None:
    assert "2 candidates" in look(filled, "carol", q="tomatoes").text


def test_stranger_gets_nothing_of_a_knowledge_base(filled: Vault) -> None:
    client = filled.people.client("mallory")

    assert client.get(f"/kb/{filled.kb.id}/search/?q=tomatoes").status_code == 404
    assert client.get(f"/kb/search?q=tomatoes&kb={filled.kb.id}").status_code == 404
    assert "Nothing to search yet" in client.get("/kb/search?q=tomatoes").text


def test_nobody_is_sent_to_the_sign_in_page(filled: Vault) -> None:
    response = filled.people.client(None).get("/kb/search?q=tomatoes")

    assert response.status_code == 302
    assert response.headers["Location"].startswith("/sign-in/")


@pytest.mark.parametrize(
    ("narrow", "expected"),
    [
        ({"path": "public"}, {"garden.md"}),
        ({"path": "publ"}, set()),
        ({"type": "pdf"}, set()),
        ({"type": "markdown"}, {"garden.md", "diary.md"}),
        ({"tag": "later"}, {"diary.md"}),
        ({"count": "1"}, {"garden.md"}),
    ],
)
def test_search_is_narrowed(filled: Vault, narrow: dict[str, str], expected: set[str]) -> None:
    filled.row("private/diary.md").tag_rows.create(name="later")

    assert set(look(filled, kb=filled.kb, q="tomatoes water", **narrow).names) == expected


def test_values_of_the_form_come_back_in_the_page(filled: Vault) -> None:
    page = look(filled, kb=filled.kb, q="tomatoes", path="public", type="markdown", count="20")

    assert page.tree.xpath("//input[@name='path']/@value") == ["public"]
    assert page.tree.xpath("//select[@name='count']/option[@selected]/@value") == ["20"]
    assert page.tree.xpath("//input[@name='type'][@checked]/@value") == ["markdown"]
    assert page.all("//textarea[@name='q']") == ["tomatoes"]


def test_choices_are_what_the_reader_may_read(filled: Vault) -> None:
    filled.row("private/diary.md").tag_rows.create(name="secret plans")
    grants.set_grant(root=filled.people.root, holder=filled.people.carol, prefix="private", access=Access.NONE)

    folders = look(filled, "carol", kb=filled.kb, narrow=1).tree.xpath("//datalist/option/@value")

    assert folders == ["public"]
    assert "secret plans" in look(filled, "alice", kb=filled.kb, narrow=1).text
    assert "secret plans" not in look(filled, "carol", kb=filled.kb, narrow=1).text


@pytest.mark.parametrize(
    "given", ["?q=a&count=zero&mode=magic&type=exe&path=%00", "?q=%00&kb=&tag=", "?q=a&count=9999"]
)
def test_nonsense_in_the_address_is_as_if_it_were_not_there(filled: Vault, given: str) -> None:
    assert filled.people.client("alice").get(f"/kb/{filled.kb.id}/search/{given}").status_code == 200


def test_hits_are_grouped_by_document(filled: Vault) -> None:
    filled.write("public/long.md", "\n\n".join(f"## Part {n}\n\nCucumbers need shade, part {n}.\n" for n in range(4)))
    filled.level()

    page = look(filled, kb=filled.kb, q="cucumbers shade", group="document")

    assert page.names == ["long.md"]
    assert len(page.tree.xpath("//article//blockquote")) > 1
    assert "rank 1" in page.text


def test_hit_of_a_changed_file_says_so(filled: Vault) -> None:
    Document.objects.filter(source_path="public/garden.md").update(index_status=IndexStatus.STALE)

    assert "file changed since" in look(filled, kb=filled.kb, q="water july").text


def test_what_is_still_read_is_told(filled: Vault) -> None:
    filled.write("public/new.md", "More tomatoes.")
    filled.sync()

    assert "1 file is still being read; results may be incomplete" in look(filled, kb=filled.kb, q="tomatoes").text


def test_nothing_found_offers_a_way_on(filled: Vault) -> None:
    page = look(filled, kb=filled.kb, q="xylophone", path="public")

    assert "Nothing was found" in page.text
    assert page.tree.xpath(f"//a[@href='/kb/{filled.kb.id}/search/?q=xylophone']")
    assert page.tree.xpath(f"//a[@href='/kb/search?q=xylophone&kb={filled.kb.id}&path=public']")


def test_empty_knowledge_base_says_that_nothing_is_searchable(vault: Vault) -> None:
    assert "Nothing is searchable yet" in look(vault, kb=vault.kb).text


def test_too_long_question_is_said(filled: Vault) -> None:
    page = look(filled, kb=filled.kb, q="tomato " * 400)

    assert "The question is longer than 2,000 characters" in page.text
    assert page.names == []


def test_question_of_signs_only_is_said(filled: Vault) -> None:
    assert "holds no word that can be looked for" in look(filled, kb=filled.kb, q="?!").text


def test_service_that_is_not_there_keeps_the_question(filled: Vault) -> None:
    KnowledgeBase.objects.filter(id=filled.kb.id).update(provider=ProviderKind.LIGHTRAG_LEGACY)

    page = look(filled, kb=filled.kb, q="tomatoes")

    assert "The indexing service is not set up correctly" in page.text
    assert page.all("//textarea[@name='q']") == ["tomatoes"]
    assert "lightrag" not in page.text


def test_one_service_that_is_not_there_leaves_the_others(filled: Vault) -> None:
    KnowledgeBaseFactory(root=filled.people.root, provider=ProviderKind.LIGHTRAG_LEGACY)

    page = look(filled, q="tomatoes water")

    assert "does not work since" in page.text
    assert "These are the results without" in page.text
    assert "garden.md" in page.names


def test_passages_are_escaped(filled: Vault) -> None:
    filled.write("public/evil.md", 'Rhubarb <img src=x onerror="alert(1)"> & <script>alert(2)</script> rhubarb.')
    filled.level()

    text = look(filled, kb=filled.kb, q="rhubarb <b>alert</b>").text

    assert "<img src=x" not in text
    assert "<script>alert(2)" not in text
    assert "<b>alert</b>" not in text


def test_surrounding_text_is_read_from_the_file(filled: Vault) -> None:
    [around, *_] = look(filled, kb=filled.kb, q="water july").tree.xpath("//article//details/@hx-get")

    text = filled.people.client("alice").get(str(around)).text

    assert "Loose soil is best." in text
    assert "<mark>water</mark>" in text


def test_surrounding_text_of_a_closed_file_is_not_found(filled: Vault) -> None:
    [around, *_] = look(filled, "carol", kb=filled.kb, q="stolen").tree.xpath("//article//details/@hx-get")
    grants.set_grant(root=filled.people.root, holder=filled.people.carol, prefix="private", access=Access.NONE)

    assert filled.people.client("carol").get(str(around)).status_code == 404


def test_surrounding_text_of_an_edited_passage_says_so(filled: Vault) -> None:
    [around, *_] = look(filled, kb=filled.kb, q="water july").tree.xpath("//article//details/@hx-get")
    filled.write("public/garden.md", "# Garden\n\nNothing of it is left.\n")

    assert "no longer in the file" in filled.people.client("alice").get(str(around)).text


def test_part_is_announced_and_puts_a_clean_address_into_the_history(filled: Vault) -> None:
    client: Client = filled.people.client("alice")

    response = client.get(
        f"/kb/{filled.kb.id}/search/", {"q": "tomatoes", "part": "found", "count": "10"}, headers={"HX-Request": "true"}
    )

    assert "<html" not in response.text
    assert "2 results" in response.headers["HX-Trigger"]
    assert response.headers["HX-Push-Url"] == f"/kb/{filled.kb.id}/search/?q=tomatoes"


def test_scores_are_no_percentages(filled: Vault) -> None:
    text = unescape(look(filled, kb=filled.kb, q="tomatoes").text)

    assert re.search(r"Score of the words</dt><dd><span class=\"num\">\d+\.\d+</span>", text)
    # What is read, not addresses: a signed reference there may hold a digit before an escape such as %3A.
    assert not re.search(r"\d\s*%", re.sub(r"<[^>]*>", " ", text))


def test_testing_a_knowledge_base_counts_as_using_it(filled: Vault) -> None:
    look(filled, kb=filled.kb, q="tomatoes")

    assert Pin.objects.get(user=filled.people.alice, kb=filled.kb).used_at is not None


def test_search_everywhere_puts_the_passages_that_say_most_first(filled: Vault, people: People) -> None:
    other = RootFactory(folder=people.folder.parent / "other")
    other.workspace.name = "Before all others"
    other.workspace.save()
    MembershipFactory(workspace=other.workspace, user=people.alice, role="owner")
    (people.folder.parent / "other").mkdir()
    second = Vault(people=people, kb=KnowledgeBaseFactory(root=other, owner=people.alice), source=filled.source)
    (people.folder.parent / "other" / "note.md").write_text("Tomatoes are red.")
    _index(second)

    page = look(filled, q="tomatoes water july")

    assert page.names[0] == "garden.md"
    assert "note.md" in page.names


def _index(vault: Vault) -> None:
    from knowledge.services import drain, sources, sync

    [source] = sources.add_sources(
        principal=vault.people.principal("alice"), kb=vault.kb, root=vault.kb.root, paths=[""]
    ).sources
    sync.sync_source(source=source, order=sync.Order())
    drain.drain(kb=vault.kb, worker="test")
