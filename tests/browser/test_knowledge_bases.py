"""The knowledge base pages in a browser: how they look, the keyboard, selection, the drawer, what comes by itself."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from knowledge.models import Document, IndexStatus, KnowledgeBase, ReasonClass
from knowledge.services import drain, sync
from mnote.models import Job
from tests.browser.conftest import focused, tab_to
from tests.browser.looks import LOOKS, Look
from tests.factories.knowledge import DocumentFactory, KnowledgeBaseFactory, ProviderProfileFactory, SourceFactory
from tests.knowledge.vault import Vault, make_vault

TABS = ("overview", "preview", "text", "chunks", "processing")
IDLE_MINUTES = 10


@pytest.fixture
def vault(transactional_db, people) -> Vault:
    """A knowledge base with files of every state; alice owns it."""
    vault = make_vault(people)
    for number in range(4):
        vault.write(f"reports/2024/report {number}.md", f"# Report {number}\n\n## Result\n\nNumber {number} is best.\n")
    vault.write("reports/番茄.md", "# 番茄\n\n番茄喜欢阳光，七月要多浇水。\n")
    vault.write("top.md", "# Top\n\nAbove all.\n")
    vault.write("film.mp4", b"\x00")
    vault.level()
    Job.objects.all().delete()  # done by the above
    return vault


@pytest.fixture
def failed(vault) -> list[Document]:
    """Two of its documents failed, for a reason of the reader and one of the file."""
    rows = [vault.row("reports/2024/report 0.md"), vault.row("reports/2024/report 1.md")]
    for row, code, kind in zip(
        rows, ("parser_crashed", "encrypted"), (ReasonClass.TEMPORARY, ReasonClass.FILE), strict=True
    ):
        Document.objects.filter(pk=row.pk).update(
            index_status=IndexStatus.FAILED, reason_code=code, reason_class=kind, is_searchable=False
        )
    return rows


@pytest.fixture
def large(transactional_db, people) -> KnowledgeBase:
    """More documents than one page shows."""
    kb = KnowledgeBaseFactory(root=people.root, owner=people.alice, name="Large")
    SourceFactory(kb=kb)
    for number in range(130):
        DocumentFactory(kb=kb, source_path=f"n{number:03}.md", index_status=IndexStatus.INDEXED, is_searchable=True)
    return kb


def level(kb: KnowledgeBase) -> None:
    """Do what the worker does: look at the folders and index all that waits."""
    for source in kb.sources.select_related("kb__workspace", "root"):
        sync.sync_source(source=source, order=sync.Order())
    while drain.drain(kb=kb, worker="test").more:
        pass


def row(page: Page, name: str):
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def opened(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).click()
    expect(page.locator("#drawer #drawer-title")).to_have_text(name)


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_pages_are_accessible_in_every_look(look, visit, snap, accessible, vault, failed):
    kb, document = f"/kb/{vault.kb.pk}", f"/kb/{vault.kb.pk}/docs/{failed[0].pk}"
    addresses = {
        "kb-list": "/kb/",
        "kb-list-rows": "/kb/?view=rows",
        "kb-list-none": "/kb/?q=nothing",
        "kb-detail": f"{kb}/",
        "kb-filtered": f"{kb}/?status=failed,indexed",
        "kb-no-fit": f"{kb}/?q=nothing",
        "kb-settings": f"{kb}/settings/",
        "kb-new": "/kb/new",
        **{f"document-{tab}": f"{document}/?tab={tab}" for tab in TABS},
    }
    page = visit("/kb/", as_user=vault.people.alice, look=look)
    for name, address in addresses.items():
        page.goto(address)
        page.wait_for_load_state("networkidle")
        snap(page, f"{name}-{look}")
        accessible(page)


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_what_opens_over_the_list_is_accessible(look, visit, snap, accessible, vault, failed):
    page = visit(f"/kb/{vault.kb.pk}/?status=failed", as_user=vault.people.alice, look=look)
    page.set_viewport_size(page.viewport_size | {"height": 1400})  # what lies under the sticky bar counts as covered
    page.locator("[data-select-all]").check()
    expect(page.locator("[data-select-bar]")).to_be_visible()
    accessible(page)
    snap(page, f"kb-selection-{look}")

    page.locator("[data-select-bar] [value=exclude]").click()
    expect(page.locator("#modal")).to_be_visible()
    accessible(page)
    snap(page, f"kb-exclude-{look}")
    page.keyboard.press("Escape")

    page.locator("[data-select-none]").click()
    page.locator("#doc-filters").click()
    expect(page.locator("#modal")).to_be_visible()
    accessible(page)
    snap(page, f"kb-filters-{look}")
    page.keyboard.press("Escape")

    page.locator(f"tr[data-doc='{failed[0].pk}'] a.name").click()
    expect(page.locator("#drawer")).to_be_visible()
    accessible(page)
    snap(page, f"kb-drawer-{look}")


def test_making_one_by_keyboard_alone(visit, accessible, vault):
    page = visit("/kb/", as_user=vault.people.alice)
    page.keyboard.press("n")
    expect(page.get_by_role("heading", name="New knowledge base")).to_be_visible()
    assert focused(page) == "Name"

    page.keyboard.type("Reports")
    page.keyboard.press("Enter")
    expect(page.get_by_role("checkbox", name="reports")).to_be_visible()
    tab_to(page, "Folder reports")
    page.keyboard.press("Enter")
    expect(page.get_by_role("checkbox", name="2024")).to_be_visible()
    assert focused(page) == "Folder reports"
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.get_by_role("checkbox", name="reports")).to_have_attribute("aria-checked", "true")
    expect(page.get_by_role("checkbox", name="2024")).to_have_attribute("aria-checked", "true")
    expect(page.locator("#kb-forecast")).to_contain_text("5 files")
    assert focused(page) == "reports"
    accessible(page)

    tab_to(page, "Review")
    page.keyboard.press("Enter")
    expect(page.locator("#kb-new")).to_contain_text("5 files")
    accessible(page)
    tab_to(page, "Create and index")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="Reports", level=1)).to_be_visible()
    level(KnowledgeBase.objects.get(name="Reports"))
    expect(page.locator("#count-indexed")).to_contain_text("5")


def test_a_folder_chosen_in_part_says_so(visit, vault):
    page = visit("/kb/new", as_user=vault.people.alice)
    page.get_by_label("Name", exact=True).fill("Part")
    page.get_by_role("button", name="Choose files").click()
    page.get_by_role("button", name="Folder reports").click()

    page.get_by_role("checkbox", name="2024").click()

    expect(page.get_by_role("checkbox", name="reports")).to_have_attribute("aria-checked", "mixed")
    expect(page.locator("#kb-forecast")).to_contain_text("4 files")


def test_making_one_without_scripts(visit, vault):
    page = visit("/kb/new", as_user=vault.people.alice, scripts=False)
    page.get_by_label("Name", exact=True).fill("Plain")
    page.get_by_role("button", name="Choose files").click()
    page.get_by_role("button", name="Folder reports").click()
    page.get_by_role("checkbox", name="2024").click()
    page.get_by_role("button", name="Review").click()
    expect(page.locator("#kb-new")).to_contain_text("4 files")

    page.get_by_role("button", name="Create without indexing").click()

    expect(page.get_by_role("heading", name="Plain", level=1)).to_be_visible()
    assert "paused" in page.locator("#main").inner_text()


def test_failed_documents_are_found_and_tried_again_by_keyboard(visit, vault, failed):
    page = visit(f"/kb/{vault.kb.pk}/", as_user=vault.people.alice)
    page.locator("#count-failed").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"status=failed"))
    expect(page.locator("tr[data-doc]")).to_have_count(2)
    expect(page.locator("#count-failed")).to_have_attribute("aria-pressed", "true")

    page.locator(f"tr[data-doc='{failed[0].pk}'] a.name").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#drawer #drawer-title")).to_have_text("report 0.md")
    tab_to(page, "Retry")
    page.keyboard.press("Enter")
    expect(page.locator("#toasts")).to_contain_text("1")
    expect(page.locator("#drawer-state")).to_contain_text("queued")

    level(vault.kb)
    expect(page.locator("#drawer-state")).to_contain_text("indexed")
    expect(page.locator("#count-failed")).to_contain_text("1")


def test_the_drawer_steps_through_the_list_and_gives_the_focus_back(visit, vault):
    page = visit(f"/kb/{vault.kb.pk}/?path=reports/2024&sort=name", as_user=vault.people.alice)
    opened(page, "report 0.md")
    page.locator("#drawer-title").click()

    page.keyboard.press("j")
    expect(page.locator("#drawer-title")).to_have_text("report 1.md")
    page.keyboard.press("j")
    expect(page.locator("#drawer-title")).to_have_text("report 2.md")
    page.keyboard.press("k")
    expect(page.locator("#drawer-title")).to_have_text("report 1.md")
    expect(page).to_have_url(re.compile(f"/docs/{vault.row('reports/2024/report 1.md').pk}/"))
    page.keyboard.press("Escape")

    expect(page.locator("#drawer")).to_be_hidden()
    expect(row(page, "report 1.md").locator("a.name")).to_be_focused()
    expect(page).to_have_url(re.compile(r"path=reports"))


def test_back_closes_the_drawer_and_forward_opens_it(visit, vault):
    page = visit(f"/kb/{vault.kb.pk}/?path=reports/2024", as_user=vault.people.alice)
    opened(page, "report 2.md")

    page.go_back()
    expect(page.locator("#drawer")).to_be_hidden()
    expect(page).to_have_url(re.compile(r"path=reports"))

    page.go_forward()
    expect(page.locator("#drawer #drawer-title")).to_have_text("report 2.md")


def test_the_address_of_a_drawer_is_a_page(visit, vault, accessible):
    page = visit(f"/kb/{vault.kb.pk}/?path=reports/2024", as_user=vault.people.alice)
    opened(page, "report 2.md")

    page.reload()

    expect(page.get_by_role("heading", name="report 2.md", level=1)).to_be_visible()
    expect(page.locator("dialog[open]")).to_have_count(0)
    accessible(page)


def test_folders_are_walked_and_back_goes_up_again(visit, vault):
    page = visit(f"/kb/{vault.kb.pk}/", as_user=vault.people.alice)
    page.locator("#doc-list").get_by_role("link", name="reports").click()
    expect(row(page, "番茄.md")).to_be_visible()
    page.locator("#doc-list").get_by_role("link", name="2024").click()
    expect(page.locator("tr[data-doc]")).to_have_count(4)
    expect(page.locator("#kb-tree [aria-current]")).to_contain_text("2024")

    page.go_back()
    expect(page.locator("tr[data-doc]")).to_have_count(1)
    page.go_back()
    expect(row(page, "top.md")).to_be_visible()


def test_a_menu_of_a_row_is_worked_by_keyboard(visit, vault):
    page = visit(f"/kb/{vault.kb.pk}/", as_user=vault.people.alice)
    row(page, "top.md").locator("a.name").focus()
    page.keyboard.press(".")
    expect(page.locator("#doc-menu a, #doc-menu button").first).to_be_focused()

    page.keyboard.press("ArrowDown")
    expect(page.locator("#doc-menu a, #doc-menu button").nth(1)).to_be_focused()
    page.keyboard.press("Escape")

    expect(page.locator("#doc-menu")).to_be_hidden()


def test_a_question_before_documents_are_excluded_starts_at_cancel(visit, vault, failed):
    page = visit(f"/kb/{vault.kb.pk}/?status=failed", as_user=vault.people.alice)
    page.locator("[data-select-all]").check()
    page.locator("[data-select-bar] [value=exclude]").click()
    expect(page.locator("#modal")).to_contain_text("2")
    assert focused(page) == "Cancel"

    page.locator("#modal").get_by_role("button", name=re.compile("Exclude")).click()

    expect(page.locator("#toasts")).to_contain_text("2")
    expect(page.locator("#count-failed")).to_contain_text("0")


def test_selection_survives_what_the_poller_brings(visit, vault):
    Document.objects.filter(kb=vault.kb, source_path="top.md").update(index_status=IndexStatus.QUEUED)
    page = visit(f"/kb/{vault.kb.pk}/?deep=1", as_user=vault.people.alice)
    row(page, "report 3.md").get_by_role("checkbox").check()

    level(vault.kb)

    expect(row(page, "top.md")).to_contain_text("indexed")
    expect(row(page, "report 3.md").get_by_role("checkbox")).to_be_checked()
    expect(page.locator("[data-select-count]")).to_have_text("1 selected")


def test_everything_that_matches_stays_chosen_when_more_rows_come(visit, people, large):
    page = visit(f"/kb/{large.pk}/?sort=name&size=50", as_user=people.alice)
    shown = page.locator("tr[data-doc]")
    first = shown.count()
    assert first < 130
    page.locator("[data-select-all]").check()
    page.locator("[data-select-matching]").click()
    expect(page.locator("[data-select-count]")).to_have_text("All 130 selected")

    page.keyboard.press("End")
    expect(shown).not_to_have_count(first)

    assert page.locator("tr[data-doc] input:not(:checked)").count() == 0
    shown.last.get_by_role("checkbox").uncheck()
    expect(page.locator("[data-select-count]")).to_contain_text("129")
    page.locator("[data-select-bar] [value=exclude]").click()
    expect(page.locator("#modal")).to_contain_text("129")


def test_selection_goes_with_the_list_and_says_so(visit, vault, failed):
    page = visit(f"/kb/{vault.kb.pk}/?deep=1", as_user=vault.people.alice)
    page.locator("[data-select-all]").check()

    page.locator("#count-failed").click()

    expect(page.locator("tr[data-doc]")).to_have_count(2)
    expect(page.locator("[data-select-bar]")).to_be_hidden()
    expect(page.locator("#announcer")).to_contain_text("selection")


def test_keys_choose_rows(visit, vault, failed):
    page = visit(f"/kb/{vault.kb.pk}/?status=failed", as_user=vault.people.alice)
    page.locator("tr[data-doc] a.name").first.focus()

    page.keyboard.press("x")
    expect(page.locator("[data-select-count]")).to_have_text("1 selected")
    page.keyboard.press("Control+a")
    expect(page.locator("[data-select-count]")).to_have_text("2 selected")
    page.keyboard.press("Escape")
    expect(page.locator("[data-select-bar]")).to_be_hidden()


def test_searching_narrows_while_typing_and_keeps_the_focus(visit, vault):
    page = visit(f"/kb/{vault.kb.pk}/", as_user=vault.people.alice)
    page.keyboard.press("/")
    page.keyboard.type("report")

    expect(page.locator("tr[data-doc]")).to_have_count(5)
    expect(page).to_have_url(re.compile(r"q=report"))
    expect(page.locator("#doc-q")).to_be_focused()
    expect(page.locator("#doc-q")).to_have_value("report")


def asked_while_idle(page: Page, address: str) -> list[str]:
    """Let minutes pass on the page's clock and say what it asked the server meanwhile."""
    page.clock.install()
    page.goto(address)
    page.wait_for_load_state("networkidle")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.fast_forward(IDLE_MINUTES * 60_000)
    page.wait_for_load_state("networkidle")
    return [url for url in asked if "/kb/" in url]


def test_pages_are_silent_while_nothing_happens(visit, vault):
    page = visit("/kb/", as_user=vault.people.alice)

    assert asked_while_idle(page, "/kb/") == []
    assert asked_while_idle(page, f"/kb/{vault.kb.pk}/") == []


def test_pages_ask_while_something_happens(visit, vault):
    Document.objects.filter(kb=vault.kb, source_path="top.md").update(index_status=IndexStatus.QUEUED)
    page = visit("/kb/", as_user=vault.people.alice)

    assert asked_while_idle(page, "/kb/")
    assert asked_while_idle(page, f"/kb/{vault.kb.pk}/")


def test_a_base_is_pinned_and_found_under_pinned(visit, vault):
    page = visit("/kb/", as_user=vault.people.alice)
    page.get_by_role("button", name=re.compile("^Pin")).click()
    expect(page.get_by_role("link", name=re.compile("Pinned"))).to_contain_text("1")

    page.get_by_role("link", name=re.compile("Pinned")).click()

    expect(page.get_by_role("link", name="Notes", exact=True).last).to_be_visible()


def test_a_viewer_sees_no_way_to_change_anything(visit, vault, failed, accessible):
    page = visit(f"/kb/{vault.kb.pk}/?status=failed", as_user=vault.people.carol)

    expect(page.locator("tr[data-doc]")).to_have_count(2)
    expect(page.locator("[data-select-all]")).to_have_count(0)
    expect(page.locator("[data-select-bar]")).to_have_count(0)
    expect(page.get_by_role("button", name=re.compile("Sync now"))).to_have_count(0)
    accessible(page)


def test_a_phone_shows_the_folders_on_request_and_the_drawer_over_everything(visit, vault, snap, accessible):
    page = visit(f"/kb/{vault.kb.pk}/?path=reports", as_user=vault.people.alice, look=Look(device="phone"))
    expect(page.locator("#kb-tree")).to_be_hidden()
    page.get_by_role("button", name="Folders").click()
    expect(page.locator("#kb-tree")).to_be_visible()
    accessible(page)
    page.locator("#kb-tree").get_by_role("treeitem", name=re.compile("reports")).click()
    expect(row(page, "番茄.md")).to_be_visible()

    opened(page, "番茄.md")

    assert page.evaluate("document.querySelector('#drawer').matches(':modal')") is True
    page.locator("#drawer [data-close]").click()
    expect(page.locator("#drawer")).to_be_hidden()


@pytest.mark.parametrize("look", [LOOKS[0], LOOKS[-1]], ids=str)
def test_who_reads_the_files_is_chosen_where_a_service_can(look, visit, snap, accessible, vault):
    profile = ProviderProfileFactory(name="Library server", workspaces=[vault.people.workspace])
    KnowledgeBase.objects.update(provider="weknora", profile=profile)
    placed = {"documentMap": "1-x", "mapState": "partial", "mapCounts": {"exact": 3, "none": 1}}
    Document.objects.filter(source_path="top.md").update(citation_locator_json={"resourceKind": "markdown", **placed})

    page = visit(f"/kb/{vault.kb.pk}/settings/", as_user=vault.people.alice, look=look)
    accessible(page)
    snap(page, f"kb-reading-{look}")
    page.locator("[name=parsed_by][value=provider]").check()
    page.locator("section:has(#set-reading) button").click()
    expect(page.locator("[name=parsed_by][value=provider]")).to_be_checked()
    assert KnowledgeBase.objects.get().parsed_by == "provider"

    page.goto(page.url.replace("settings/", f"docs/{vault.row('top.md').pk}/"))
    expect(page.locator("#document-path")).to_be_visible()
    accessible(page)
    snap(page, f"document-places-{look}")
