"""Search, sources, sync runs, upload and activity in a browser: how they look, the keyboard, files on their way in."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from knowledge.services import sources
from mnote.models import Access
from mnote.services import grants
from tests.browser.conftest import focused
from tests.browser.looks import LOOKS, Look
from tests.knowledge.vault import make_vault

GARDEN = "# Garden\n\n## Watering\n\nTomatoes want sun and a lot of water in July.\n\n## Soil\n\nLoose soil is best.\n"


@pytest.fixture
def vault(transactional_db, people):
    """A knowledge base with a little of everything; alice may write."""
    vault = make_vault(people)
    vault.write("public/garden.md", GARDEN)
    vault.write("public/番茄.md", "# 番茄\n\n番茄喜欢阳光，七月要多浇水。\n")
    vault.write("public/more.md", "# More\n\nTomatoes are red. Water is wet.\n")
    vault.write("films/a.mp4", b"\x00")
    vault.level()
    grants.set_grant(root=people.root, holder=people.alice, prefix="", access=Access.WRITE)
    return vault


@pytest.fixture
def stopped(vault):
    """Its last look would have removed too much."""
    for number in range(8):
        vault.write(f"public/n{number}.md", f"# Note {number}\n")
    vault.level()
    for path in (vault.folder / "public").iterdir():
        path.unlink()
    return vault.sync()


def addresses(vault):
    kb = f"/kb/{vault.kb.pk}"
    return {
        "search": "/kb/search?q=tomatoes+water+july&narrow=1",
        "nothing": f"{kb}/search/?q=xylophone",
        "sources": f"{kb}/sources/",
        "add": f"{kb}/sources/new",
        "rules": f"{kb}/sources/{vault.source.pk}/edit",
        "runs": f"{kb}/runs/",
        "upload": f"{kb}/upload/",
        "text": f"{kb}/upload/?as=text",
        "activity": f"{kb}/activity/",
    }


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_pages_are_accessible_in_every_look(look, visit, snap, accessible, vault):
    sources.exclude(principal=vault.alice, kb=vault.kb, targets=[vault.row("public/more.md")])
    page = visit("/activity/", as_user=vault.people.alice, look=look)
    accessible(page)
    for name, address in addresses(vault).items():
        page.goto(address)
        page.wait_for_load_state("networkidle")
        snap(page, f"{name}-{look}")
        accessible(page)


def test_stopped_run_is_decided_about(visit, snap, accessible, vault, stopped):
    page = visit(f"/kb/{vault.kb.pk}/runs/{stopped.pk}/", as_user=vault.people.alice)
    accessible(page)
    snap(page, "run-stopped")

    page.get_by_role("link", name="Agree to the removals…").click()
    dialog = page.locator("#modal")
    expect(dialog).to_contain_text("No file is touched.")
    assert focused(page) == "Cancel"
    accessible(page)
    page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()

    page.get_by_role("button", name="Keep everything").click()
    expect(page.locator("#toasts")).to_contain_text("Nothing is removed.")


def test_asking_by_keyboard_and_opening_a_hit(visit, vault):
    page = visit(f"/kb/{vault.kb.pk}/search/", as_user=vault.people.alice)
    assert focused(page) == "Question"

    page.keyboard.type("tomatoes water july")
    page.keyboard.press("Enter")
    expect(page.locator("ol.hits article")).to_have_count(2)
    expect(page.locator("#announcer")).to_have_text("2 results")
    expect(page).to_have_url(re.compile(r"/search/\?q=tomatoes\+water\+july$"))

    page.locator("h1").click()
    page.keyboard.press("j")
    assert focused(page) == "garden.md"
    page.keyboard.press("j")
    assert focused(page) == "more.md"
    page.keyboard.press("k")
    page.keyboard.press("o")
    expect(page.locator("[data-truth=exact]")).to_be_visible()


def test_question_of_several_lines_is_one_question(visit, vault):
    page = visit(f"/kb/{vault.kb.pk}/search/", as_user=vault.people.alice)

    page.keyboard.type("tomatoes")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("water")

    expect(page.get_by_label("Question")).to_have_value("tomatoes\nwater")
    expect(page.locator("ol.hits")).to_have_count(0)


def test_narrowing_asks_again_by_itself(visit, vault):
    page = visit(f"/kb/{vault.kb.pk}/search/?q=tomatoes", as_user=vault.people.alice)
    expect(page.locator("ol.hits article")).to_have_count(2)

    page.get_by_text("Narrow down").click()
    page.get_by_label("Results").select_option("5")
    expect(page).to_have_url(re.compile("count=5"))
    page.get_by_label("Only in the folder").fill("films")
    page.get_by_label("Only in the folder").press("Tab")

    expect(page.locator("#found")).to_contain_text("Nothing was found")
    page.get_by_role("link", name="Search without limits").click()
    expect(page.locator("ol.hits article")).to_have_count(2)


def test_surrounding_text_is_fetched_when_unfolded(visit, vault):
    page = visit(f"/kb/{vault.kb.pk}/search/?q=water+july", as_user=vault.people.alice)

    page.locator("article").first.get_by_text("Surrounding text").click()

    expect(page.locator("article").first.locator(".around")).to_contain_text("Loose soil is best.")


def test_place_of_a_hit_is_copied(visit, vault):
    page = visit(f"/kb/{vault.kb.pk}/search/?q=water+july", as_user=vault.people.alice)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    page.get_by_role("button", name="Copy public/garden.md:3-5").click()

    assert page.evaluate("navigator.clipboard.readText()") == "public/garden.md:3-5"


def test_searching_works_without_scripts(visit, vault):
    page = visit("/kb/search", as_user=vault.people.alice, scripts=False)

    page.get_by_label("Question").fill("tomatoes water")
    page.get_by_role("button", name="Search", exact=True).click()

    expect(page.locator("ol.hits article").first).to_contain_text("garden.md")


def test_source_is_added_by_picking_in_the_tree(visit, vault):
    sources.remove_source(principal=vault.alice, source=vault.source)
    page = visit(f"/kb/{vault.kb.pk}/sources/", as_user=vault.people.alice)
    page.get_by_role("link", name="Add source").click()

    page.get_by_role("checkbox", name="public").click()
    expect(page.locator("#source-forecast")).to_contain_text("3 files")
    page.get_by_role("button", name="Add and read").click()

    expect(page.locator("#toasts")).to_contain_text("1 source was added.")
    expect(page.locator(".sources")).to_contain_text("public")


def test_removing_a_source_asks_and_escape_keeps_it(visit, vault):
    page = visit(f"/kb/{vault.kb.pk}/sources/", as_user=vault.people.alice)

    page.get_by_role("link", name="Remove or freeze Notes").click()
    expect(page.locator("#modal")).to_contain_text("Your files stay where they are.")
    page.keyboard.press("Escape")

    expect(page.locator("#modal")).not_to_be_visible()
    assert focused(page) == "Remove or freeze Notes"


@pytest.fixture
def mine(tmp_path):
    """Files on the person's own machine."""
    folder = tmp_path / "mine"
    (folder / "inner").mkdir(parents=True)
    (folder / "new.md").write_text("# New\n\nA zebra.\n")
    (folder / "inner" / "deep.txt").write_text("deep down")
    (folder / "film.mp4").write_bytes(b"\x00" * 100)
    return folder


def rows(page):
    return {
        row.locator("[data-name]").inner_text(): row.locator("[data-verdict]").inner_text()
        for row in page.locator("[data-file]").all()
    }


def test_folder_is_uploaded_with_what_is_in_it(visit, snap, accessible, vault, mine):
    page = visit(f"/kb/{vault.kb.pk}/upload/?to=notes:public", as_user=vault.people.alice)

    page.set_input_files("input[webkitdirectory]", mine)
    expect(page.locator("[data-summary]")).to_contain_text("2 of 3 chosen")
    assert rows(page)["mine/film.mp4"] == "files of this type are not read"
    accessible(page)
    page.get_by_role("button", name="Upload", exact=True).click()

    expect(page.locator("[data-summary]")).to_have_text("2 added")
    snap(page, "upload-done")
    assert (vault.folder / "public/mine/inner/deep.txt").read_text() == "deep down"
    assert not (vault.folder / "public/mine/film.mp4").exists()
    page.locator("[data-link]:visible").first.click()
    expect(page).to_have_url(re.compile(r"/docs/src_"))


def test_taken_name_gets_the_free_one(visit, vault, mine):
    (mine / "garden.md").write_text("# Another garden\n")
    page = visit(f"/kb/{vault.kb.pk}/upload/?to=notes:public", as_user=vault.people.alice)

    page.set_input_files("input[name=files]", mine / "garden.md")
    expect(page.get_by_label("New name")).to_have_value("garden (2).md")
    page.get_by_role("button", name="Upload", exact=True).click()

    expect(page.locator("[data-summary]")).to_have_text("1 added")
    assert (vault.folder / "public/garden (2).md").read_text() == "# Another garden\n"
    assert (vault.folder / "public/garden.md").read_text() == GARDEN


def test_same_content_is_said_and_left_out_unless_wanted(visit, vault, mine):
    (mine / "copy.md").write_text(GARDEN)
    page = visit(f"/kb/{vault.kb.pk}/upload/?to=notes:public", as_user=vault.people.alice)

    page.set_input_files("input[name=files]", mine / "copy.md")

    expect(page.locator("[data-verdict]")).to_have_text("same content as public/garden.md")
    expect(page.locator("[data-wanted]")).not_to_be_checked()
    expect(page.locator("[data-wanted]")).to_be_enabled()


def test_upload_that_fails_stays_listed_and_is_tried_again(visit, vault, mine, complaints):
    page = visit(f"/kb/{vault.kb.pk}/upload/?to=notes:public", as_user=vault.people.alice)
    page.route("**/sources?*", lambda route: route.abort())
    page.set_input_files("input[name=files]", mine / "new.md")
    expect(page.locator("[data-summary]")).to_contain_text("1 of 1 chosen")
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(page.locator("[data-verdict]")).to_have_text("no answer from the server")

    page.unroute("**/sources?*")
    page.get_by_role("button", name="Try the failed ones again").click()

    expect(page.locator("[data-summary]")).to_have_text("1 added")
    assert (vault.folder / "public/new.md").exists()
    complaints.clear()  # the browser writes every failed request into its console


def test_server_says_why_it_refuses_a_file(visit, vault, mine, complaints):
    (mine / "lie.pdf").write_text("this is no PDF at all")
    page = visit(f"/kb/{vault.kb.pk}/upload/?to=notes:public", as_user=vault.people.alice)
    page.set_input_files("input[name=files]", mine / "lie.pdf")
    expect(page.locator("[data-summary]")).to_contain_text("1 of 1 chosen")

    page.get_by_role("button", name="Upload", exact=True).click()

    expect(page.locator("[data-verdict]")).to_have_text("The content is not what the file name says")
    assert not (vault.folder / "public/lie.pdf").exists()
    complaints.clear()  # the browser writes every refused request into its console


def test_destination_is_chosen_in_the_tree(visit, vault, mine):
    page = visit(f"/kb/{vault.kb.pk}/upload/", as_user=vault.people.alice)

    page.locator(".destination > details > summary").click()
    page.locator(".folder-tree summary").first.click()
    page.get_by_role("radio", name="films").check()
    expect(page.locator("[data-chosen-folder]")).to_have_text("Notes / films")
    page.set_input_files("input[name=files]", mine / "new.md")
    expect(page.locator("[data-summary]")).to_contain_text("1 of 1 chosen")
    page.get_by_role("button", name="Upload", exact=True).click()

    expect(page.locator("[data-summary]")).to_have_text("1 added")
    assert (vault.folder / "films/new.md").exists()


def test_dropped_file_joins_the_list(visit, vault):
    page = visit(f"/kb/{vault.kb.pk}/upload/?to=notes:public", as_user=vault.people.alice)
    transfer = page.evaluate_handle(
        "() => { const t = new DataTransfer(); t.items.add(new File(['dropped'], 'dropped.txt')); return t }"
    )

    page.dispatch_event("main", "dragenter", {"dataTransfer": transfer})
    expect(page.locator("[data-veil]")).to_be_visible()
    page.dispatch_event("main", "drop", {"dataTransfer": transfer})

    expect(page.locator("[data-veil]")).to_be_hidden()
    expect(page.locator("[data-name]")).to_have_text("dropped.txt")


def test_text_is_written_on_a_phone(visit, vault):
    page = visit(f"/kb/{vault.kb.pk}/upload/?as=text", as_user=vault.people.alice, look=Look(device="phone"))

    page.get_by_label("Name of the file").fill("Minutes")
    page.get_by_label("Text", exact=True).fill("# Minutes\n\nWe met.\n")
    page.get_by_role("button", name="Write the file").click()

    expect(page).to_have_url(re.compile(r"/docs/src_"))
    assert (vault.folder / "Minutes.md").exists()
