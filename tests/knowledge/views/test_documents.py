"""The documents tab: what is listed, in which order, what its links lead to, and what the poller brings."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from lxml import html

from knowledge.models import Document, DocumentTag, IndexStatus, KnowledgeBase, SyncOutcome, SyncRun
from mnote.models import Access, JobStatus
from mnote.services import grants
from tests.factories.knowledge import DocumentFactory, KnowledgeBaseFactory, SourceFactory
from tests.factories.mnote import JobFactory
from tests.people import People

HTMX = {"HX-Request": "true"}


@pytest.fixture
def kb(people: People) -> KnowledgeBase:
    kb = KnowledgeBaseFactory(root=people.root, name="Contracts")
    SourceFactory(kb=kb)
    for path, status in {
        "reports/2024/a.pdf": "failed", "reports/2024/b.md": "indexed", "reports/c.md": "stale", "top.md": "indexed",
        "film.mp4": "skipped",
    }.items():  # fmt: skip
        DocumentFactory(
            kb=kb, source_path=path, index_status=status, is_searchable=status in {"indexed", "stale"},
            reason_code={"failed": "encrypted", "skipped": "too_large", "stale": "file_changed"}.get(status, ""),
            reason_class="file" if status in {"failed", "skipped"} else "",
            source_type={"pdf": "pdf", "mp4": ""}.get(path.rpartition(".")[2], "markdown"),
        )  # fmt: skip
    return kb


def get(people: People, kb: KnowledgeBase, query: str = "", who: str = "alice") -> html.HtmlElement:
    response = people.client(who).get(f"/kb/{kb.pk}/{query}")
    assert response.status_code == 200, response.text
    return html.fromstring(response.text)


def names(page: html.HtmlElement) -> list[str]:
    return [each.text_content().strip() for each in page.xpath("//tr[@data-row]//a[contains(@class,'name')]")]


def counters(page: html.HtmlElement) -> dict[str, str]:
    found = page.xpath("//form[contains(@class,'counters')]/button")
    return {each.get("value"): each.text_content().strip() for each in found}


def test_folder_shows_its_sub_folders_first_then_its_own_files(people: People, kb: KnowledgeBase) -> None:
    assert names(get(people, kb)) == ["reports", "top.md", "film.mp4"]
    assert names(get(people, kb, "?path=reports")) == ["2024", "c.md"]
    assert names(get(people, kb, "?path=reports/2024&sort=name")) == ["a.pdf", "b.md"]


def test_folder_says_how_much_of_it_is_indexed(people: People, kb: KnowledgeBase) -> None:
    [row] = get(people, kb).xpath("//tr[contains(@class,'folder')]")

    assert "1 of 3 indexed" in row.text_content()
    assert row.xpath(".//*[contains(@class,'lamp')]")[0].text_content() == "failed"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?status=failed", ["a.pdf"]),
        ("?status=failed,stale", ["a.pdf", "c.md"]),
        ("?status=skipped", ["film.mp4"]),
        ("?type=pdf", ["a.pdf"]),
        ("?q=reports&sort=name", ["a.pdf", "b.md", "c.md"]),
        ("?q=*.pdf", ["a.pdf"]),
        ("?q=2024&path=reports", ["a.pdf", "b.md"]),
        ("?deep=1&sort=name", ["film.mp4", "a.pdf", "b.md", "c.md", "top.md"]),
        ("?deep=1&path=reports&sort=name&dir=desc", ["c.md", "b.md", "a.pdf"]),
        ("?status=nonsense&sort=name", ["reports", "film.mp4", "top.md"]),
        ("?q=nothing", []),
    ],
)
def test_filter_makes_the_list_flat_below_its_folder(
    people: People, kb: KnowledgeBase, query: str, expected: list[str]
) -> None:
    assert names(get(people, kb, query)) == expected


def test_filtered_rows_say_where_they_lie(people: People, kb: KnowledgeBase) -> None:
    page = get(people, kb, "?status=failed")

    assert page.xpath("//tr[@data-doc]//*[contains(@class,'path')]")[0].text_content() == "reports/2024/"
    assert "including sub-folders" in page.xpath("//*[@id='doc-range']")[0].text_content()


def test_failed_row_says_why_and_what_to_do(people: People, kb: KnowledgeBase) -> None:
    [why] = get(people, kb, "?status=failed").xpath("//tr[@data-doc]//*[contains(@class,'why')]")

    assert why.text_content() == "Needs a password. Save the file without a password."


@pytest.mark.parametrize("tag", ["contract", "a,b & c", "合同"])
def test_list_can_be_narrowed_to_a_tag(people: People, kb: KnowledgeBase, tag: str) -> None:
    DocumentTag.objects.create(document=Document.objects.get(kb=kb, source_path="top.md"), name=tag)
    client = people.client("alice")

    page = html.fromstring(client.get(f"/kb/{kb.pk}/", {"tag": tag}).text)

    assert names(page) == ["top.md"]
    assert f"#{tag}" in page.xpath("//a[@class='chip']")[0].text_content()


@pytest.mark.parametrize(("days", "expected"), [("1", []), ("7", ["top.md"]), ("30", ["c.md", "top.md"])])
def test_list_can_be_narrowed_to_files_changed_lately(
    people: People, kb: KnowledgeBase, days: str, expected: list[str]
) -> None:
    Document.objects.filter(kb=kb).update(mtime_ns=0)
    for path, age in (("top.md", 3), ("reports/c.md", 20)):
        at = timezone.now() - timedelta(days=age)
        Document.objects.filter(kb=kb, source_path=path).update(mtime_ns=int(at.timestamp() * 1e9))

    assert names(get(people, kb, f"?changed={days}")) == expected


def test_counters_count_the_whole_base_whatever_is_listed(people: People, kb: KnowledgeBase) -> None:
    expected = {"indexed": "2 indexed", "failed": "1 failed", "stale": "1 stale", "skipped": "1 skipped"}

    assert counters(get(people, kb)) == counters(get(people, kb, "?status=failed")) == expected


def test_counter_adds_and_takes_away_its_state(people: People, kb: KnowledgeBase) -> None:
    page = get(people, kb, "?status=failed&sort=size")
    pressed = {each.get("value"): each for each in page.xpath("//form[contains(@class,'counters')]/button")}

    assert pressed["failed"].get("aria-pressed") == "true"
    assert pressed["failed"].get("hx-get") == f"/kb/{kb.pk}/?sort=size"
    assert parse_qs(urlsplit(pressed["stale"].get("hx-get")).query)["status"] == ["failed,stale"]


def test_counter_works_as_a_plain_form(people: People, kb: KnowledgeBase) -> None:
    answer = people.client("alice").get(f"/kb/{kb.pk}/?status=failed&sort=size&toggle=stale")

    assert answer.status_code == 302
    assert answer.headers["Location"] == f"/kb/{kb.pk}/?status=failed%2Cstale&sort=size"


def test_chip_takes_its_filter_away(people: People, kb: KnowledgeBase) -> None:
    page = get(people, kb, "?q=c&status=stale")
    chips = {each.text_content().split(",")[0]: each.get("href") for each in page.xpath("//a[@class='chip']")}

    assert chips["“c”"] == f"/kb/{kb.pk}/?status=stale"
    assert chips["stale"] == f"/kb/{kb.pk}/?q=c"


@pytest.mark.parametrize(
    ("query", "key", "direction"),
    [("?sort=size", "size", "ascending"), ("?sort=size&dir=desc", "size", "descending"), ("", "status", "ascending")],
)
def test_heading_says_what_the_list_is_sorted_by(
    people: People, kb: KnowledgeBase, query: str, key: str, direction: str
) -> None:
    sorted_by = {each.get("class"): each.get("aria-sort") for each in get(people, kb, query).xpath("//th[@aria-sort]")}

    assert [direction] == list(sorted_by.values())
    assert f"col-{key}" in next(iter(sorted_by))


def test_worst_states_stand_first_while_anything_is_wrong(people: People, kb: KnowledgeBase) -> None:
    assert names(get(people, kb, "?deep=1")) == ["a.pdf", "c.md", "b.md", "top.md", "film.mp4"]


def test_pages_follow_without_gap_or_repeat(people: People, kb: KnowledgeBase) -> None:
    for number in range(60):
        DocumentFactory(kb=kb, source_path=f"many/n{number:03}.md", size_bytes=5)

    first = get(people, kb, "?path=many&sort=size&size=25")
    second = get(people, kb, "?path=many&sort=size&size=25&page=2")
    third = get(people, kb, "?path=many&sort=size&size=25&page=3")

    found = [*names(first), *names(second), *names(third)]
    assert found == [f"n{number:03}.md" for number in range(60)]
    assert "1–25 of 60" in first.xpath("//*[@id='doc-range']")[0].text_content()
    assert first.xpath("//*[@data-more]/@href") == [f"/kb/{kb.pk}/?path=many&sort=size&size=25&page=2"]
    assert third.xpath("//*[@data-more]") == []


def test_more_rows_come_as_rows_alone(people: People, kb: KnowledgeBase) -> None:
    for number in range(30):
        DocumentFactory(kb=kb, source_path=f"many/n{number:03}.md")

    answer = people.client("alice").get(f"/kb/{kb.pk}/?path=many&sort=name&size=25&page=2&part=rows", headers=HTMX)

    assert answer.text.lstrip().startswith("<tr data-row")
    assert answer.text.count("<tr data-row") == 5
    assert "1–30 of 30" in answer.text


def test_fragment_names_the_address_with_defaults_left_out(people: People, kb: KnowledgeBase) -> None:
    answer = people.client("alice").get(f"/kb/{kb.pk}/?page=1&size=50&status=&q=a&dir=asc", headers=HTMX)

    assert answer.headers["MNote-Address"] == f"/kb/{kb.pk}/?q=a"
    assert 'id="doc-list"' in answer.text
    assert "<html" not in answer.text


def test_reader_sees_rows_counts_and_folders_of_readable_files_only(people: People, kb: KnowledgeBase) -> None:
    grants.set_grant(root=people.root, holder=people.carol, prefix="reports", access=Access.NONE)

    page = get(people, kb, who="carol")

    assert names(page) == ["film.mp4", "top.md"]
    assert counters(page) == {"indexed": "1 indexed", "skipped": "1 skipped"}
    assert "reports" not in page.xpath("//*[@id='kb-tree']")[0].text_content()


@pytest.mark.parametrize(("who", "boxes", "sync"), [("alice", 2, True), ("bob", 2, True), ("carol", 0, False)])
def test_viewer_gets_no_boxes_and_no_sync(people: People, kb: KnowledgeBase, who: str, boxes: int, sync: bool) -> None:
    page = get(people, kb, who=who)

    assert len(page.xpath("//input[@name='doc']")) == boxes
    assert bool(page.xpath("//button[@name='what']")) == sync


def test_tree_starts_at_the_folder_that_holds_all_sources(people: People) -> None:
    kb = KnowledgeBaseFactory(root=people.root)
    SourceFactory(kb=kb, path="deep/down/here")
    DocumentFactory(kb=kb, source_path="deep/down/here/a.md")

    page = get(people, kb)

    assert names(page) == ["a.md"]
    assert page.xpath("//*[@role='treeitem']")[0].text_content() == "Notes / deep/down/here, 1"


def test_tree_brings_one_level(people: People, kb: KnowledgeBase) -> None:
    answer = people.client("alice").get(f"/kb/{kb.pk}/tree?at=notes&below=reports", headers=HTMX)

    assert [each.text_content() for each in html.fromstring(answer.text).xpath("//a")] == ["2024, 2"]


def test_tree_opens_down_to_the_folder_looked_at(people: People, kb: KnowledgeBase) -> None:
    page = get(people, kb, "?path=reports/2024")

    assert page.xpath("//*[@role='treeitem'][@aria-current]")[0].text_content() == "2024, 2"


def test_empty_base_says_the_next_step(people: People) -> None:
    kb = KnowledgeBaseFactory(root=people.root)

    assert "No files yet" in get(people, kb).text_content()
    assert get(people, kb, who="bob").xpath(f"//a[@href='/kb/{kb.pk}/sources/']")


def test_no_match_offers_to_clear_the_filters(people: People, kb: KnowledgeBase) -> None:
    page = get(people, kb, "?q=nothing&path=reports")

    assert "No document fits" in page.text_content()
    assert f"/kb/{kb.pk}/?path=reports" in page.xpath("//*[@id='doc-list']//a/@href")


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("over_limit", "would have removed 3 of 4 documents, so it removed none."),
        ("root_empty", "The folder “Notes” looks empty"),
        ("device_changed", "Another folder stands where “Notes” was"),
        ("root_gone", "The folder “Notes” cannot be reached since"),
        ("scan_partial", "could not be read to its end"),
    ],
)
def test_strip_says_why_a_sync_removed_nothing(people: People, kb: KnowledgeBase, reason: str, words: str) -> None:
    run = SyncRun.objects.create(
        kb=kb, source=kb.sources.get(), outcome=SyncOutcome.STOPPED, reason_code=reason, counts={"removed": 3}
    )

    [strip] = get(people, kb).xpath("//*[@id='kb-strips']/*")

    assert words in strip.text_content()
    assert strip.xpath(".//a/@href") == [f"/kb/{kb.pk}/runs/{run.pk}/"]


def test_strip_is_gone_when_a_later_look_went_well(people: People, kb: KnowledgeBase) -> None:
    source = kb.sources.get()
    SyncRun.objects.create(kb=kb, source=source, outcome=SyncOutcome.STOPPED, reason_code="over_limit")
    SyncRun.objects.create(kb=kb, source=source, outcome=SyncOutcome.SUCCEEDED)

    assert get(people, kb).xpath("//*[@id='kb-strips']/*") == []


def test_strip_says_that_the_indexing_service_fails(people: People, kb: KnowledgeBase) -> None:
    DocumentFactory(
        kb=kb, source_path="w.md", index_status="queued", reason_code="provider-unavailable", reason_class="service",
        next_try_at=timezone.now() + timedelta(minutes=4), rev=99,
    )  # fmt: skip

    page = get(people, kb, "?status=queued")

    assert "The indexing service fails since" in page.xpath("//*[@id='kb-strips']")[0].text_content()
    assert "Next try in 4 min." in page.xpath("//*[contains(@class,'why')]")[0].text_content()


def test_time_left_is_said_only_when_enough_was_finished(people: People, kb: KnowledgeBase) -> None:
    JobFactory(kind="resource_parse", kb_id=kb.pk, status=JobStatus.RUNNING)
    DocumentFactory.create_batch(5, kb=kb, index_status="queued", is_searchable=False)

    def said() -> str:
        return get(people, kb).xpath("//*[@id='kb-numbers']/p")[0].text_content()

    DocumentFactory.create_batch(19, kb=kb, indexed_at=timezone.now())
    assert "left" not in said()
    DocumentFactory(kb=kb, indexed_at=timezone.now() - timedelta(minutes=2))
    assert "about 1 min left" in said()


# --- The poller.


def poller(people: People, kb: KnowledgeBase, query: str = "") -> tuple[str, str]:
    [element] = get(people, kb, query).xpath("//*[@id='kb-live']")
    return element.get("hx-get"), element.get("hx-trigger")


@pytest.mark.parametrize(("ago", "trigger"), [(0, "every 2s"), (200, "every 5s"), (1200, "every 15s")])
def test_poller_slows_down_while_nothing_changes(people: People, kb: KnowledgeBase, ago: int, trigger: str) -> None:
    DocumentFactory(kb=kb, index_status="queued", is_searchable=False)
    Document.objects.filter(kb=kb).update(updated_at=timezone.now() - timedelta(seconds=ago))

    assert poller(people, kb)[1].startswith(trigger)


def test_poller_rests_when_nothing_goes_on(people: People, kb: KnowledgeBase) -> None:
    assert poller(people, kb)[1] == "kb:poke from:body"


def test_poller_rests_while_the_base_is_paused(people: People, kb: KnowledgeBase) -> None:
    DocumentFactory(kb=kb, index_status="queued", is_searchable=False)
    KnowledgeBase.objects.filter(pk=kb.pk).update(paused_at=timezone.now())

    assert poller(people, kb)[1] == "kb:poke from:body"


def test_poll_answers_nothing_while_nothing_changed(people: People, kb: KnowledgeBase) -> None:
    assert people.client("alice").get(poller(people, kb)[0], headers=HTMX).status_code == 204


def test_poll_brings_changed_rows_that_are_on_the_page_and_no_others(people: People, kb: KnowledgeBase) -> None:
    url, _ = poller(people, kb, "?deep=1")
    shown = Document.objects.get(kb=kb, source_path="top.md")
    other = Document.objects.get(kb=kb, source_path="reports/c.md")
    for row, rev in ((shown, 7), (other, 8)):
        Document.objects.filter(pk=row.pk).update(rev=rev, index_status="failed", reason_code="encrypted")

    text = people.client("alice").get(f"{url}&docs={shown.pk}", headers=HTMX).text

    assert f'id="s-{shown.pk}" data-status="failed" hx-swap-oob="true"' in text
    assert "Needs a password." in text
    assert other.pk not in text
    assert 'id="kb-numbers" hx-swap-oob="true"' in text
    assert "rev=8&" in text.replace("&amp;", "&")


def test_poll_brings_no_row_that_one_may_not_read(people: People, kb: KnowledgeBase) -> None:
    url, _ = poller(people, kb)
    hidden = Document.objects.get(kb=kb, source_path="reports/c.md")
    Document.objects.filter(pk=hidden.pk).update(rev=9, index_status="failed")
    grants.set_grant(root=people.root, holder=people.carol, prefix="reports", access=Access.NONE)

    answer = people.client("carol").get(f"{url}&docs={hidden.pk}", headers=HTMX)

    assert hidden.pk not in answer.text


def test_poll_says_that_the_list_is_another_now(people: People, kb: KnowledgeBase) -> None:
    url, _ = poller(people, kb, "?deep=1")
    DocumentFactory(kb=kb, source_path="new.md", rev=9)
    client = people.client("alice")

    answer = client.get(url, headers=HTMX)
    calm = client.get(f"{url}&calm=1", headers=HTMX)

    assert "This list has changed since it was made." in answer.text
    assert "kb:refresh" not in answer.headers.get("HX-Trigger", "")
    assert "kb:refresh" in calm.headers["HX-Trigger"]


def test_poll_brings_folders_their_new_numbers(people: People, kb: KnowledgeBase) -> None:
    url, _ = poller(people, kb)
    Document.objects.filter(kb=kb, source_path="reports/c.md").update(rev=9, index_status="indexed")

    assert "2 of 3 indexed" in people.client("alice").get(f"{url}&folders=1", headers=HTMX).text


def test_poll_tells_readers_only_every_ten_seconds(people: People, kb: KnowledgeBase) -> None:
    DocumentFactory.create_batch(3, kb=kb)
    client, now = people.client("alice"), int(timezone.now().timestamp())
    url = f"/kb/{kb.pk}/live?tab=kb-detail&rev=0&print=x"

    early = client.get(f"{url}&told=3&at={now}", headers=HTMX)
    late = client.get(f"{url}&told=3&at={now - 11}", headers=HTMX)

    assert "kb:announce" not in early.headers.get("HX-Trigger", "")
    assert "3 more documents are searchable, 0 left." in late.headers["HX-Trigger"]


@pytest.mark.parametrize("query", ["", "?deep=1", "?status=indexed", "?q=n"])
def test_page_asks_the_database_the_same_for_any_number_of_rows(people: People, query: str) -> None:
    kb = KnowledgeBaseFactory(root=people.root)
    SourceFactory(kb=kb)
    client = people.client("alice")

    def queries() -> int:
        with CaptureQueriesContext(connection) as caught:
            client.get(f"/kb/{kb.pk}/{query}")
        return len(caught)

    for status in IndexStatus:
        DocumentFactory(kb=kb, source_path=f"a/{status}.md", index_status=status)
    DocumentFactory.create_batch(3, kb=kb)
    queries()
    few = queries()
    DocumentFactory.create_batch(30, kb=kb)
    for number in range(10):
        DocumentFactory(kb=kb, source_path=f"f{number}/n.md")

    assert queries() == few


def test_page_never_names_a_server_path(people: People, kb: KnowledgeBase) -> None:
    assert str(people.folder) not in html.tostring(get(people, kb)).decode()


def test_filters_offer_types_tags_and_times(people: People, kb: KnowledgeBase) -> None:
    DocumentTag.objects.create(document=Document.objects.get(kb=kb, source_path="top.md"), name="signed")

    answer = people.client("alice").get(f"/kb/{kb.pk}/filters?type=pdf&status=failed", headers=HTMX)

    form = html.fromstring(answer.text)
    assert form.xpath("//input[@name='type'][@checked]/@value") == ["pdf"]
    assert form.xpath("//input[@name='tag']/@value") == ["signed"]
    assert form.xpath("//input[@type='hidden'][@name='status']/@value") == ["failed"]
