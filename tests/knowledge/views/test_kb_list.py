"""The list of knowledge bases: health lines, tabs, search, order, pins, and what each person sees and may do."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from lxml import html

from knowledge.models import KnowledgeBase, Pin, Source, SyncOutcome, SyncRun
from mnote.models import Access, JobStatus
from mnote.services import grants, users
from tests.factories.knowledge import DocumentFactory, KnowledgeBaseFactory, SourceFactory
from tests.factories.mnote import JobFactory, MembershipFactory, RootFactory, WorkspaceFactory
from tests.people import People


@pytest.fixture
def kb(people: People) -> KnowledgeBase:
    kb = KnowledgeBaseFactory(root=people.root, owner=people.alice, name="Contracts 2024")
    SourceFactory(kb=kb, path="reports")
    return kb


def get(people: People, who: str = "alice", **query: str) -> html.HtmlElement:
    response = people.client(who).get(reverse("knowledge:kb-list"), query)
    assert response.status_code == 200
    return html.fromstring(response.text)


def text(people: People, who: str = "alice", **query: str) -> str:
    return " ".join(get(people, who, **query).text_content().split())


def names(page: html.HtmlElement) -> list[str]:
    return [each.text_content() for each in page.xpath("//li[contains(@class,'kb')]//h3/a")]


def health(page: html.HtmlElement) -> str:
    [line] = page.xpath("//*[contains(@class,'health')]")
    return " ".join(line.text_content().split())


@pytest.mark.parametrize(
    ("states", "words"),
    [
        ({}, "No files yet"),
        ({"indexed": 3}, "3 indexed"),
        ({"indexed": 2, "failed": 1, "stale": 4}, "1 failed 4 stale · 6 searchable"),
        ({"queued": 2}, "2 queued Waiting for a free reader"),
        ({"indexed": 3, "parsing": 1}, "3 of 4 searchable"),
        ({"indexed": 2, "queued": 1, "failed": 1}, "2 of 4 searchable · 1 failed"),
        ({"indexed": 1, "skipped": 5, "deleted": 2}, "1 indexed"),
    ],
)
def test_card_says_whether_one_can_rely_on_it(
    people: People, kb: KnowledgeBase, states: dict[str, int], words: str
) -> None:
    for status, count in states.items():
        searchable = status in {"indexed", "stale"}
        DocumentFactory.create_batch(count, kb=kb, index_status=status, is_searchable=searchable)

    assert health(get(people)) == words


def test_trouble_links_to_the_documents_it_is_about(people: People, kb: KnowledgeBase) -> None:
    DocumentFactory(kb=kb, index_status="failed", is_searchable=False)

    assert get(people).xpath("//*[contains(@class,'health')]//a/@href") == [f"/kb/{kb.pk}/?status=failed"]


def test_card_tells_of_removals_that_were_held_back(people: People, kb: KnowledgeBase) -> None:
    DocumentFactory.create_batch(3, kb=kb)
    SyncRun.objects.create(
        kb=kb, source=Source.objects.get(kb=kb), outcome=SyncOutcome.STOPPED, reason_code="over_limit",
        counts={"removed": 2},
    )  # fmt: skip

    page = get(people)

    assert "would have removed 2 of 3 documents, so it removed none" in health(page)
    assert names(get(people, tab="attention")) == [kb.name]


def test_dismissed_run_asks_for_nobody(people: People, kb: KnowledgeBase) -> None:
    SyncRun.objects.create(
        kb=kb, source=Source.objects.get(kb=kb), outcome=SyncOutcome.STOPPED, reason_code="over_limit",
        counts={"removed": 2, "dismissed": True},
    )  # fmt: skip

    assert names(get(people, tab="attention")) == []


def test_paused_base_says_so(people: People, kb: KnowledgeBase) -> None:
    KnowledgeBase.objects.filter(pk=kb.pk).update(paused_at=timezone.now())

    assert "sync paused" in text(people)


def test_list_shows_only_bases_of_ones_workspaces(people: People, kb: KnowledgeBase) -> None:
    KnowledgeBaseFactory(name="Foreign")

    assert names(get(people, "carol")) == [kb.name]
    assert "Contracts" not in text(people, "mallory")


def test_numbers_are_those_of_what_the_person_may_read(people: People, kb: KnowledgeBase) -> None:
    DocumentFactory(kb=kb, source_path="open/a.md")
    DocumentFactory(kb=kb, source_path="closed/b.md")
    grants.set_grant(root=people.root, holder=people.carol, prefix="closed", access=Access.NONE)

    assert health(get(people, "carol")) == "1 indexed"


def test_paths_of_sources_one_may_not_see_are_neither_shown_nor_searched(people: People, kb: KnowledgeBase) -> None:
    grants.set_grant(root=people.root, holder=people.carol, prefix="reports", access=Access.NONE)

    assert "reports" not in html.tostring(get(people, "carol")).decode()
    assert names(get(people, "carol", q="reports")) == []
    assert names(get(people, "bob", q="reports")) == [kb.name]


@pytest.mark.parametrize("query", ["contracts", "CONTRACTS", "cöntracts", "2024", "reports"])
def test_search_looks_at_names_and_paths_without_case_or_accents(people: People, kb: KnowledgeBase, query: str) -> None:
    KnowledgeBaseFactory(root=people.root, name="Other")

    assert names(get(people, q=query)) == [kb.name]


def test_search_that_finds_nothing_names_what_was_looked_for(people: People, kb: KnowledgeBase) -> None:
    found = text(people, q="<b>nothing")

    assert "Nothing is called “<b>nothing”" in found
    assert "Clear search" in found


@pytest.mark.parametrize(
    ("tab", "expected"),
    [("all", ["A", "B", "C"]), ("mine", ["A"]), ("pinned", ["B"]), ("attention", ["C"]), ("nonsense", ["A", "B", "C"])],
)
def test_tabs_hold_what_they_say(people: People, tab: str, expected: list[str]) -> None:
    a = KnowledgeBaseFactory(root=people.root, name="A", owner=people.alice)
    b = KnowledgeBaseFactory(root=people.root, name="B", owner=people.bob)
    c = KnowledgeBaseFactory(root=people.root, name="C", owner=people.bob)
    DocumentFactory(kb=a)
    DocumentFactory(kb=c, index_status="failed")
    Pin.objects.create(user=people.alice, kb=b, pinned_at=timezone.now())

    page = get(people, tab=tab, sort="name")

    assert sorted(names(page)) == expected
    counts = [each.text_content() for each in page.xpath("//nav[contains(@class,'tabs')]//span[@class='n']")]
    assert counts == ["3", "1", "1", "1"]


def test_order_is_by_name_size_or_use_and_pinned_ones_stand_first(people: People) -> None:
    small = KnowledgeBaseFactory(root=people.root, name="Small")
    large = KnowledgeBaseFactory(root=people.root, name="Large")
    used = KnowledgeBaseFactory(root=people.root, name="Used")
    DocumentFactory.create_batch(3, kb=large)
    DocumentFactory(kb=small)
    Pin.objects.create(user=people.alice, kb=used, used_at=timezone.now() + timedelta(hours=1))

    assert names(get(people, sort="name")) == ["Large", "Small", "Used"]
    assert names(get(people, sort="size")) == ["Large", "Small", "Used"]
    assert names(get(people, sort="used"))[0] == "Used"
    people.client("alice").post(reverse("knowledge:kb-pin", args=[small.pk]), {"pinned": "1"})
    assert names(get(people, sort="name"))[0] == "Small"


def test_order_and_form_are_kept_for_the_person(people: People, kb: KnowledgeBase) -> None:
    get(people, sort="name", view="rows")

    assert users.preferences_of(people.alice) == {"kb.list.sort": "name", "kb.list.view": "rows"}
    assert get(people).xpath("//table[contains(@class,'kb-rows')]")
    assert not get(people, "bob").xpath("//table[contains(@class,'kb-rows')]")


def test_pin_is_ones_own(people: People, kb: KnowledgeBase) -> None:
    people.client("alice").post(reverse("knowledge:kb-pin", args=[kb.pk]), {"pinned": "1"})

    assert get(people).xpath("//button[contains(@class,'pin')]/@aria-pressed") == ["true"]
    assert get(people, "bob").xpath("//button[contains(@class,'pin')]/@aria-pressed") == ["false"]


@pytest.mark.parametrize(
    ("who", "words"),
    [
        ("alice", {"Open", "Settings", "Sync now", "Pause", "Duplicate settings…", "Copy id", "Remove…"}),
        ("bob", {"Open", "Sync now", "Pause", "Copy id"}),
        ("carol", {"Open", "Copy id"}),
    ],
)
def test_menu_holds_only_what_one_may_do(people: People, kb: KnowledgeBase, who: str, words: set[str]) -> None:
    items = get(people, who).xpath(f"//*[@id='menu-{kb.pk}']//*[self::a or self::button]")

    assert {each.text_content().strip() for each in items} - {"Add files…"} == words


def test_poller_runs_only_while_something_goes_on(people: People, kb: KnowledgeBase) -> None:
    def trigger() -> str:
        [found] = get(people).xpath("//*[@id='kb-list-live']/@hx-trigger")
        return str(found)

    assert "every" not in trigger()
    JobFactory(kind="knowledge.sync_source", kb_id=kb.pk, status=JobStatus.RUNNING)
    assert trigger().startswith("every 3s")


def test_poll_is_silent_until_a_health_line_changes(people: People, kb: KnowledgeBase) -> None:
    client = people.client("alice")
    [url] = get(people).xpath("//*[@id='kb-list-live']/@hx-get")

    assert client.get(url).status_code == 204
    DocumentFactory(kb=kb)
    answer = client.get(url)

    assert answer.status_code == 200
    assert f'id="h-{kb.pk}" hx-swap-oob="true"' in answer.text
    assert "1 indexed" in answer.text


@pytest.mark.parametrize(
    ("who", "words"),
    [
        ("alice", "No knowledge base yet"),
        ("carol", "A manager of the workspace can make one."),
        ("mallory", "No folder is open to you yet"),
    ],
)
def test_empty_list_says_the_next_step(people: People, who: str, words: str) -> None:
    page = get(people, who)

    assert words in page.text_content()
    assert bool(page.xpath("//a[@href='/kb/new']")) == (who == "alice")


@pytest.mark.parametrize(
    ("tab", "words"), [("attention", "Nothing needs attention"), ("pinned", "Nothing is pinned"), ("mine", "yours")]
)
def test_empty_tab_says_what_would_be_in_it(people: People, kb: KnowledgeBase, tab: str, words: str) -> None:
    assert words in text(people, "bob", tab=tab)


def test_list_asks_the_database_the_same_for_any_number_of_bases(people: People) -> None:
    client = people.client("alice")

    def queries() -> int:
        with CaptureQueriesContext(connection) as caught:
            client.get(reverse("knowledge:kb-list"))
        return len(caught)

    _fill(people, 2)
    queries()
    few = queries()
    _fill(people, 10)

    assert queries() == few


def _fill(people: People, count: int) -> None:
    for _ in range(count):
        kb = KnowledgeBaseFactory(root=people.root)
        source = SourceFactory(kb=kb)
        DocumentFactory(kb=kb, index_status="failed")
        SyncRun.objects.create(kb=kb, source=source, outcome=SyncOutcome.STOPPED, reason_code="over_limit")


def test_names_of_workspaces_stand_on_cards_where_there_are_several(people: People, kb: KnowledgeBase) -> None:
    workspace = WorkspaceFactory(name="Elsewhere")
    MembershipFactory(workspace=workspace, user=people.alice)
    KnowledgeBaseFactory(root=RootFactory(workspace=workspace))

    assert "Elsewhere" in text(people)
    assert "Elsewhere" not in text(people, "bob")


def test_no_server_path_is_in_the_page(people: People, kb: KnowledgeBase) -> None:
    SourceFactory(kb=kb, path="")

    assert str(people.folder) not in html.tostring(get(people)).decode()


def test_fragment_is_the_grid_alone_and_names_its_address(people: People, kb: KnowledgeBase) -> None:
    answer = people.client("alice").get("/kb/?q=con&tab=mine", headers={"HX-Request": "true"})

    assert answer.text.lstrip().startswith('<div id="kb-grid"')
    assert answer.headers["MNote-Address"] == "/kb/?q=con&tab=mine"
    assert "1 knowledge base" in answer.headers["HX-Trigger"]
