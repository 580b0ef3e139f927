"""The document pane and the file tree as a person meets them: the cited place in sight, by mouse, keyboard, phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from knowledge.models import IndexStatus
from tests.browser.conftest import focused
from tests.browser.looks import LOOKS, Look
from tests.factories.knowledge import DocumentFactory, KnowledgeBaseFactory
from tests.knowledge.parsing.builders import make_docx, make_pdf, make_pptx, make_xlsx
from tests.knowledge.views.pane import Pane

WORDS = "Either party may terminate with a notice period of three months to the end of a calendar quarter."
NOTE = f"""---
title: Framework agreement
status: signed
---
# Framework agreement

{"".join(f"Paragraph {number} comes before.{chr(10)}{chr(10)}" for number in range(40))}
## 6 Term and termination

{WORDS} The notice must be in writing.

| Item | Price |
|------|------:|
| Basic | 100 |

```py
def notice(months: int) -> str:
    return f"{{months}} months"
```

- [ ] open task, see [[pricing]] and [the list](pricing.md#terms)

> A quotation, with `code`.

![far away](https://example.org/tracker.png)

{"".join(f"Paragraph {number} comes after.{chr(10)}{chr(10)}" for number in range(40))}
"""


@pytest.fixture
def pane(people) -> Pane:
    pane = Pane(people=people)
    pane.write("contracts/agreement.md", NOTE)
    pane.write("contracts/pricing.md", "# Pricing\n\n## Terms\n\nPrices are net.\n")
    pane.write("contracts/2024/old.md", "# Old\n")
    pane.write("contracts/script.py", "def one() -> int:\n    return 1\n")
    kb = KnowledgeBaseFactory(root=people.root, owner=people.alice, name="Contracts")
    DocumentFactory(kb=kb, source_path="contracts/agreement.md")
    DocumentFactory(kb=kb, source_path="contracts/pricing.md", index_status=IndexStatus.FAILED, reason_code="encrypted")
    return pane


@pytest.fixture
def cited(pane) -> str:
    return pane.url("open", "contracts/agreement.md", cite=pane.cite("contracts/agreement.md", WORDS))


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_document_pane_is_accessible(look, visit, snap, accessible, pane, cited):
    page = visit(cited, as_user=pane.people.alice, look=look)

    snap(page, f"reading-{look}")
    accessible(page)


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_nothing_lies_over_the_head_of_the_document(look, visit, pane, cited):
    page = visit(cited, as_user=pane.people.alice, look=look)

    page.locator(".opened-head [download]").click(trial=True)


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_file_tree_is_accessible(look, visit, snap, accessible, pane):
    page = visit(pane.url("files", "contracts"), as_user=pane.people.alice, look=look)

    snap(page, f"files-{look}")
    accessible(page)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pages.pdf", make_pdf([["First page.", "More words."], ["Second page."]])),
        ("text.docx", make_docx(lambda document: document.add_paragraph("A paragraph."))),
        ("book.xlsx", make_xlsx({"Prices": [["name", "price"], ["basic", 100]]})),
        ("slides.pptx", make_pptx([("Title", ["A line."], "A note.")])),
        ("rows.csv", b"a,b\n1,2\n"),
        ("page.html", b"<h1>Title</h1><p>Words</p>"),
        ("code.py", b"x = 1\n"),
        ("other.zip", b"PK"),
        (
            "picture.svg",
            b"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'><circle r='9'/></svg>",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("look", [Look(), Look(theme="dark", device="phone", language="zh-hans")], ids=str)
def test_document_pane_of_every_type_is_accessible(look, name, content, visit, snap, accessible, pane):
    pane.write(name, content)
    page = visit(pane.url("open", name, lines="1-1"), as_user=pane.people.alice, look=look)

    snap(page, f"reading-{name}-{look}")
    accessible(page)


@pytest.mark.parametrize("device", ["desktop", "phone"])
def test_cited_place_is_in_sight_and_focused(device, visit, pane, cited):
    page = visit(cited, as_user=pane.people.alice, look=Look(device=device))

    expect(page.locator("#cited")).to_be_in_viewport()
    expect(page.locator("#cited")).to_be_focused()
    expect(page.locator("#cited")).to_have_text(WORDS)


def test_cited_place_is_reached_without_scripts(visit, pane, cited):
    page = visit(cited, as_user=pane.people.alice, scripts=False)

    expect(page.locator("#cited")).not_to_be_in_viewport()
    page.get_by_role("link", name="Go to the place").click()
    expect(page.locator("#cited")).to_be_in_viewport()


def test_truth_stays_in_sight_at_the_cited_place(visit, pane, cited):
    page = visit(cited, as_user=pane.people.alice)

    assert page.evaluate("scrollY") > 300
    expect(page.locator("[data-truth=exact]")).to_be_in_viewport()


def test_cited_place_on_a_page_of_a_pdf_is_in_sight(visit, pane):
    pane.write("a.pdf", make_pdf([[f"Words of page {number}."] for number in range(1, 31)]))
    page = visit(pane.url("open", "a.pdf", cite=pane.cite("a.pdf", "Words of page 17.")), as_user=pane.people.alice)

    expect(page.locator("rect#cited")).to_be_in_viewport()
    picture = page.locator("#page-17 img")
    page.wait_for_function("el => el.complete && el.naturalWidth > 0", arg=picture.element_handle())
    box, sheet = page.locator("rect#cited").bounding_box(), page.locator("#page-17 .paper").bounding_box()
    assert sheet["x"] < box["x"] < sheet["x"] + sheet["width"] / 2
    assert abs(sheet["width"] / sheet["height"] - 595 / 842) < 0.02


def test_pdf_text_can_be_selected(visit, pane):
    pane.write("a.pdf", make_pdf([["Words to select."]]))
    page = visit(pane.url("open", "a.pdf"), as_user=pane.people.alice)
    words = page.locator("svg text").first

    words.dblclick()
    assert page.evaluate("String(getSelection())").strip() in "Words to select."


def test_equal_passages_are_stepped_through(visit, pane):
    pane.write("a.md", "\n\n".join(f"## Part {number}\n\nthe same words" for number in range(60)))
    page = visit(pane.url("open", "a.md", cite=pane.cite("a.md", "the same words", nth=30)), as_user=pane.people.alice)

    page.get_by_role("link", name="Next place").click()
    expect(page.get_by_text("31 of 60")).to_be_visible()
    expect(page.locator("#cited")).to_be_in_viewport()


def test_citation_is_copied(visit, pane, cited):
    page = visit(cited, as_user=pane.people.alice)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    page.get_by_role("button", name="Copy citation").click()
    expect(page.locator("#toasts")).to_contain_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("[agreement.md / line ")


def test_more_lines_come_without_leaving_the_page(visit, pane):
    pane.write("big.log", "".join(f"line {number}\n" for number in range(1, 2_001)))
    page = visit(pane.url("open", "big.log", lines="1000-1000"), as_user=pane.people.alice)

    page.get_by_role("link", name="More lines").click()
    expect(page.locator("#L1600")).to_be_attached()
    page.get_by_role("link", name="Earlier lines").click()
    expect(page.locator("#L400")).to_be_attached()
    numbers = page.locator(".ln").all_inner_texts()
    assert numbers == [str(number) for number in range(int(numbers[0]), int(numbers[-1]) + 1)]
    expect(page.locator("#cited")).to_have_count(1)


def test_tree_is_walked_by_keyboard(visit, pane):
    page = visit(pane.url("files"), as_user=pane.people.alice)
    page.locator("[role=treeitem]").first.focus()
    assert focused(page).startswith("contracts")

    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("treeitem", name="2024")).to_be_visible()
    expect(page.get_by_role("treeitem", name="contracts")).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowDown")
    assert focused(page).startswith("2024")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert focused(page).startswith("contracts")
    expect(page.get_by_role("treeitem", name="contracts")).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="contracts")).to_be_visible()


def test_tree_beside_a_document_stays_open(visit, accessible, pane, cited):
    page = visit(cited, as_user=pane.people.alice)
    page.locator(".beside > summary").click()
    expect(page.get_by_role("treeitem", name="agreement.md")).to_have_attribute("aria-current", "page")
    expect(page.get_by_role("treeitem", name="pricing.md failed")).to_be_visible()
    accessible(page)

    page.get_by_role("treeitem", name="pricing.md").click()
    expect(page.get_by_role("heading", name="Terms")).to_be_visible()
    expect(page.get_by_role("treeitem", name="pricing.md")).to_have_attribute("aria-current", "page")


def test_folder_is_filtered_while_typing(visit, pane):
    page = visit(pane.url("files", "contracts"), as_user=pane.people.alice)

    page.get_by_label("Filter this folder").type("pri")
    expect(page.locator("tr[data-row]")).to_have_count(1)
    assert "q=pri" in page.url
    page.get_by_label("Filter this folder").fill("nothing at all")
    expect(page.get_by_text("Nothing in this folder fits")).to_be_visible()


def test_list_is_walked_by_keyboard(visit, pane):
    page = visit(pane.url("files", "contracts"), as_user=pane.people.alice)

    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Framework agreement")).to_be_visible()


def test_list_can_be_used_without_scripts(visit, pane):
    page = visit(pane.url("files"), as_user=pane.people.alice, scripts=False)

    page.locator("tr[data-row] a").first.click()
    page.get_by_label("Filter this folder").fill("pri")
    page.get_by_role("button", name="Filter").click()
    page.locator("tr[data-row] a").first.click()
    expect(page.get_by_role("heading", name="Terms")).to_be_visible()


@pytest.mark.parametrize(
    "resource",
    ["{path: 'contracts/script.py', lines: [2, 2]}", "{url: location.pathname.replace('agreement.md', 'script.py')}"],
)
def test_runtime_opens_a_resource_here(resource, visit, pane, cited):
    page = visit(cited, as_user=pane.people.alice)

    page.evaluate(f"window.__mnoteDocumentPaneRuntime.openResourceInActiveTab({resource})")
    expect(page.get_by_text("return 1")).to_be_visible()


@pytest.mark.parametrize("address", ["https://example.org/", "//example.org/x", "javascript:alert(1)"])
def test_runtime_opens_nothing_elsewhere(address, visit, pane, cited):
    page = visit(cited, as_user=pane.people.alice)

    assert page.evaluate(f"window.__mnoteDocumentPaneRuntime.openResourceInActiveTab({{url: {address!r}}})") is False
    assert "/open/contracts/agreement.md" in page.url


def test_runtime_shows_a_changed_document_anew(visit, pane, cited):
    page = visit(cited, as_user=pane.people.alice)
    pane.write("contracts/agreement.md", "# New\n\n" + NOTE)

    with page.expect_navigation():
        page.evaluate("window.__mnoteDocumentPaneRuntime.refreshPrimaryDocument()")
    expect(page.locator("[data-truth=moved]")).to_be_visible()


def test_runtime_hands_over_to_the_host_that_embeds_the_pane(visit, pane, cited):
    page = visit("/account/", as_user=pane.people.alice)
    page.evaluate(
        """address => new Promise((done) => {
          window.asked = [];
          window.__mnoteDocumentPaneRuntime = {
            openResourceInActiveTab: (resource) => { window.asked.push(resource); return 'host'; },
            refreshPrimaryDocument: () => { window.asked.push('refresh'); return 'host'; },
          };
          const frame = document.createElement('iframe');
          frame.src = address;
          frame.onload = done;
          document.body.append(frame);
        })""",
        cited,
    )
    inner = page.frames[-1]

    assert inner.evaluate("window.__mnoteDocumentPaneRuntime.openResourceInActiveTab({path: 'x.md'})") == "host"
    assert inner.evaluate("window.__mnoteDocumentPaneRuntime.refreshPrimaryDocument()") == "host"
    assert page.evaluate("window.asked") == [{"path": "x.md"}, "refresh"]
