"""One document in its drawer: facts, failure, text, chunks, processing; and who may see it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.http import HttpResponse
from django.utils import timezone
from lxml import html

from knowledge.models import Document, DocumentEvent
from mnote.models import Access, Job
from mnote.services import grants
from tests.factories.knowledge import DocumentFactory, KnowledgeBaseFactory
from tests.knowledge.vault import Vault

HTMX = {"HX-Request": "true"}
TEXT = "# Contracts\n\nThirty days notice.\n\n## Höhe\n\nThe fee is due in <b>May</b>.\n"


@pytest.fixture
def filled(vault: Vault) -> Vault:
    vault.write("docs/contract.md", TEXT)
    vault.write("docs/copy.md", TEXT)
    vault.write("docs/long.md", "\n\n".join(f"Paragraph {number} about needles." for number in range(900)))
    vault.level()
    return vault


def get(vault: Vault, row: Document, query: str = "", who: str = "alice", *, htmx: bool = True) -> HttpResponse:
    url = f"/kb/{row.kb_id}/docs/{row.pk}/{query}"
    return vault.people.client(who).get(url, headers=HTMX if htmx else {})


def page(vault: Vault, row: Document, query: str = "", **more: Any) -> html.HtmlElement:
    answer = get(vault, row, query, **more)
    assert answer.status_code == 200, answer.text
    return html.fromstring(answer.text)


def words(element: html.HtmlElement) -> str:
    return " ".join(" ".join(element.itertext()).split())


def fail(row: Document, code: str = "encrypted", **more: Any) -> None:
    Document.objects.filter(pk=row.pk).update(index_status="failed", reason_code=code, reason_class="file", **more)


def test_address_serves_a_drawer_and_a_page(filled: Vault) -> None:
    row = filled.row("docs/contract.md")

    drawer, whole = get(filled, row).text, get(filled, row, htmx=False).text

    assert drawer.lstrip().startswith('<div class="document" id="document"')
    assert "<html" in whole
    assert 'id="drawer-title">contract.md' in drawer
    assert 'id="drawer-title">contract.md' in whole


def test_overview_says_the_facts(filled: Vault) -> None:
    found = words(page(filled, filled.row("docs/contract.md")))

    assert "docs/contract.md" in found
    assert "Markdown" in found
    assert "8 lines" in found
    assert "Same content as docs/copy.md" in found


def test_equal_file_in_another_base_names_that_base(filled: Vault) -> None:
    row = filled.row("docs/contract.md")
    other = KnowledgeBaseFactory(root=filled.people.root, name="Second")
    DocumentFactory(kb=other, source_path="docs/contract.md", source_hash=row.source_hash)

    found = words(page(filled, row))

    assert "Also in Second" in found
    assert "docs/contract.md (Second)" in found


def test_equal_file_one_may_not_read_is_not_named(filled: Vault) -> None:
    grants.set_grant(root=filled.people.root, holder=filled.people.carol, prefix="docs/copy.md", access=Access.NONE)

    assert "copy.md" not in get(filled, filled.row("docs/contract.md"), who="carol").text


def test_failure_stands_on_top_with_its_next_step(filled: Vault) -> None:
    row = filled.row("docs/contract.md")
    fail(row)

    drawer = page(filled, row)

    [strip] = drawer.xpath("//*[contains(@class,'strip')]")
    assert "Needs a password. Save the file without a password." in words(strip)
    assert "The older version is still searchable." in words(strip)
    assert strip.xpath(".//button[@value='retry']")
    assert "encrypted" in words(drawer.xpath("//details")[0])


def test_viewer_sees_the_failure_without_a_retry(filled: Vault) -> None:
    row = filled.row("docs/contract.md")
    fail(row)

    drawer = page(filled, row, who="carol")

    assert "Needs a password." in words(drawer)
    assert not drawer.xpath("//button[@name='action']")


def test_stale_document_says_which_version_is_searched(filled: Vault) -> None:
    row = filled.row("docs/contract.md")
    Document.objects.filter(pk=row.pk).update(
        index_status="stale", reason_code="file_changed", source_hash="sha256:new"
    )

    assert "Search still uses the version of" in words(page(filled, row))


def test_raw_message_is_shown_to_administrators_only(filled: Vault) -> None:
    row = filled.row("docs/contract.md")
    fail(row, "provider-error", reason_detail="raw words of the service")

    assert "raw words" not in get(filled, row).text
    filled.people.alice.is_staff = True
    filled.people.alice.save()
    assert "raw words" in get(filled, row).text


def test_drawer_steps_through_the_list_it_was_opened_from(filled: Vault) -> None:
    drawer = page(filled, filled.row("docs/copy.md"), "?path=docs&sort=name&n=2")

    [before] = drawer.xpath("//*[@id='document-previous']/@href")
    [after] = drawer.xpath("//*[@id='document-next']/@href")
    assert before == f"/kb/{filled.kb.pk}/docs/{filled.row('docs/contract.md').pk}/?path=docs&sort=name&n=1"
    assert after == f"/kb/{filled.kb.pk}/docs/{filled.row('docs/long.md').pk}/?path=docs&sort=name&n=3"


def test_ends_of_the_list_have_no_step(filled: Vault) -> None:
    drawer = page(filled, filled.row("docs/contract.md"), "?path=docs&sort=name&n=1")

    assert drawer.xpath("//*[@id='document-previous']/@href") == []
    assert drawer.xpath("//*[@id='document-previous']/@aria-disabled") == ["true"]


def test_document_that_left_its_list_stays_open_and_says_so(filled: Vault) -> None:
    drawer = page(filled, filled.row("docs/contract.md"), "?status=failed&n=1")

    assert "no longer in the list it was opened from" in words(drawer)
    assert f"/kb/{filled.kb.pk}/?status=failed" in drawer.xpath("//a/@href")


def test_text_is_shown_as_it_was_indexed_even_when_the_file_is_gone(filled: Vault) -> None:
    (filled.folder / "docs/contract.md").unlink()

    drawer = page(filled, filled.row("docs/contract.md"), "?tab=text")

    assert "Thirty days notice." in words(drawer)
    assert "<b>May</b>" in words(drawer)
    assert drawer.xpath("//*[@id='L3']")


def test_long_text_comes_in_windows(filled: Vault) -> None:
    row = filled.row("docs/long.md")

    first = page(filled, row, "?tab=text")
    [more] = first.xpath("//*[@id='lines-after']/a/@hx-get")
    part = filled.people.client("alice").get(more, headers=HTMX).text

    assert first.xpath("count(//div[contains(@class,'l ') or @class='l'])") == 600
    assert 'id="L601"' in part
    assert 'id="L600"' not in part
    assert 'id="document"' not in part


@pytest.mark.parametrize("asked", ["notice", "NOTICE", "nótice"])
def test_words_are_found_without_case_or_accents(filled: Vault, asked: str) -> None:
    drawer = page(filled, filled.row("docs/contract.md"), f"?tab=text&find={asked}")

    assert [each.text_content() for each in drawer.xpath("//mark")] == ["notice"]
    assert words(drawer.xpath("//*[@role='status']")[0]) == "1 of 1"


def test_accents_in_the_text_do_not_hide_a_word(filled: Vault) -> None:
    drawer = page(filled, filled.row("docs/contract.md"), "?tab=text&find=hohe")

    assert [each.text_content() for each in drawer.xpath("//mark")] == ["Höhe"]


def test_places_are_stepped_through_in_a_circle(filled: Vault) -> None:
    row = filled.row("docs/long.md")

    drawer = page(filled, row, "?tab=text&find=needles&hit=450")

    assert words(drawer.xpath("//*[@role='status']")[0]) == "450 of 500"
    assert "hit=451" in drawer.xpath("//*[@id='find-next']/@href")[0]
    assert drawer.xpath("//*[@id='cited']")
    assert "hit=1" in page(filled, row, "?tab=text&find=needles&hit=500").xpath("//*[@id='find-next']/@href")[0]


def test_chunks_name_section_and_place_and_open_there(filled: Vault) -> None:
    row = filled.row("docs/contract.md")

    cards = page(filled, row, "?tab=chunks").xpath("//li[@class='chunk']")

    assert all(each.get("id").startswith("c-ev_") for each in cards)
    link = cards[0].xpath(".//a/@href")[0]
    assert "line" in words(cards[0])
    assert "cite=" in link
    assert filled.people.client("alice").get(link).status_code == 200


def test_chunks_come_in_pages_of_25(filled: Vault) -> None:
    row = filled.row("docs/long.md")

    first = page(filled, row, "?tab=chunks")
    second = page(filled, row, "?tab=chunks&p=2")

    assert len(first.xpath("//li[@class='chunk']")) == 25
    assert f"1–25 of {row.chunk_count}" in words(first)
    assert not {*first.xpath("//li/@id")} & {*second.xpath("//li/@id")}


def test_search_among_chunks_finds_and_marks(filled: Vault) -> None:
    drawer = page(filled, filled.row("docs/contract.md"), "?tab=chunks&find=FEE")

    [card] = drawer.xpath("//li[@class='chunk']")
    assert [each.text_content() for each in card.xpath(".//mark")] == ["fee"]
    assert "<b>May</b>" in card.text_content()
    assert words(drawer.xpath("//*[@role='status']")[0]) == "1 passage"


def test_search_that_finds_nothing_says_so(filled: Vault) -> None:
    row = filled.row("docs/contract.md")

    assert "not found" in words(page(filled, row, "?tab=text&find=zebra"))
    assert "These words are in no passage" in words(page(filled, row, "?tab=chunks&find=zebra"))


def test_processing_tells_the_steps_with_durations_in_words(filled: Vault) -> None:
    lines = page(filled, filled.row("docs/contract.md"), "?tab=processing").xpath("//section[@class='attempt'][1]//li")

    assert [each.xpath("./span[1]")[0].text_content() for each in lines] == ["Read", "Index"]
    assert all("ms" in words(each) or " s" in words(each) for each in lines)
    assert all(each.xpath(".//*[name()='svg']") for each in lines)


def test_processing_tells_why_an_attempt_failed(filled: Vault) -> None:
    filled.write("docs/scan.pdf", b"%PDF-1.4 broken")
    filled.level()

    drawer = page(filled, filled.row("docs/scan.pdf"), "?tab=processing")

    [line] = drawer.xpath("//li[contains(@class,'line bad')]")
    assert "Failed" in words(line)
    assert drawer.xpath("//button[@value='retry']")


def test_processing_counts_attempts_and_says_when_the_next_one_is(filled: Vault) -> None:
    row = filled.row("docs/contract.md")
    Document.objects.filter(pk=row.pk).update(
        index_status="queued", attempts=2, reason_code="worker_lost", reason_class="temporary",
        next_try_at=timezone.now() + timedelta(minutes=4),
    )  # fmt: skip

    drawer = page(filled, row, "?tab=processing")

    assert "Next try in 4 min." in words(drawer)
    assert drawer.xpath("//*[@id='processing']/@hx-trigger") == ["every 2s"]


def test_processing_polls_only_while_it_is_active(filled: Vault) -> None:
    assert not page(filled, filled.row("docs/contract.md"), "?tab=processing").xpath(
        "//*[@id='processing']/@hx-trigger"
    )


def test_running_step_is_shown_as_running(filled: Vault) -> None:
    row = filled.row("docs/contract.md")
    began = timezone.now() - timedelta(seconds=42)
    Document.objects.filter(pk=row.pk).update(index_status="parsing", status_since=began)
    DocumentEvent.objects.create(
        document=row, stage="reading", state="done", started_at=began + timedelta(seconds=1),
        finished_at=began + timedelta(seconds=18),
    )  # fmt: skip

    drawer = page(filled, row, "?tab=processing")

    [line] = drawer.xpath("//li[contains(@class,'line run')]")
    assert words(line).startswith("Index")
    assert "reading · 0:4" in words(drawer.xpath("//*[@id='drawer-state']")[0])


def test_preview_shows_the_beginning_and_opens_the_original(filled: Vault) -> None:
    drawer = page(filled, filled.row("docs/contract.md"), "?tab=preview")

    assert "Thirty days notice." in words(drawer)
    assert any("/open/docs/contract.md" in each for each in drawer.xpath("//a/@href"))


@pytest.mark.parametrize(
    ("status", "actions"),
    [
        ("indexed", ["reindex", "tags", "exclude"]),
        ("failed", ["retry", "tags", "exclude"]),
        ("parsing", ["stop", "tags", "exclude"]),
        ("skipped", ["exclude"]),
        ("deleted", []),
    ],
)
def test_menu_offers_what_fits_the_state(filled: Vault, status: str, actions: list[str]) -> None:
    row = filled.row("docs/contract.md")
    Document.objects.filter(pk=row.pk).update(index_status=status)

    answer = filled.people.client("bob").get(f"/kb/{row.kb_id}/docs/{row.pk}/menu", headers=HTMX)

    assert html.fromstring(answer.text).xpath("//button[@name='action']/@value") == actions


def test_viewer_gets_no_actions(filled: Vault) -> None:
    row = filled.row("docs/contract.md")

    answer = filled.people.client("carol").get(f"/kb/{row.kb_id}/docs/{row.pk}/menu", headers=HTMX)

    assert not html.fromstring(answer.text).xpath("//button[@name='action']")


@pytest.mark.parametrize("tail", ["", "?tab=text", "?tab=chunks", "menu"])
def test_document_one_may_not_read_is_not_there(filled: Vault, tail: str) -> None:
    row = filled.row("docs/contract.md")
    grants.set_grant(root=filled.people.root, holder=filled.people.carol, prefix="docs", access=Access.NONE)

    for who in ("carol", "mallory"):
        assert filled.people.client(who).get(f"/kb/{row.kb_id}/docs/{row.pk}/{tail}").status_code == 404


def test_document_of_another_base_is_not_there(filled: Vault) -> None:
    other = KnowledgeBaseFactory(root=filled.people.root)

    answer = filled.people.client("alice").get(f"/kb/{other.pk}/docs/{filled.row('docs/contract.md').pk}/")

    assert answer.status_code == 404


@pytest.mark.parametrize("tab", ["overview", "preview", "text", "chunks", "processing"])
def test_no_tab_names_a_server_path(filled: Vault, tab: str) -> None:
    text = get(filled, filled.row("docs/contract.md"), f"?tab={tab}", htmx=False).text

    assert str(filled.folder) not in text
    assert "file://" not in text


def test_looking_at_a_document_asks_for_no_work(filled: Vault) -> None:
    Job.objects.all().delete()

    for tab in ("overview", "text", "chunks", "processing"):
        get(filled, filled.row("docs/contract.md"), f"?tab={tab}")

    assert not Job.objects.exists()
