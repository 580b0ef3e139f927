from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from knowledge.models import IndexStatus
from mnote.models import Access, Membership
from tests.factories.knowledge import DocumentFactory, KnowledgeBaseFactory
from tests.factories.mnote import GrantFactory, MembershipFactory, RootFactory, WorkspaceFactory
from tests.knowledge.views.pane import page


def _names(response) -> list[str]:
    return [each.text_content() for each in page(response).xpath('//tr[@data-row]//*[contains(@class, "name")]/span')]


def _lamps(response) -> dict[str, str]:
    rows = page(response).xpath("//tr[@data-row]")
    return {
        row.xpath('.//*[contains(@class, "name")]/span')[0].text_content(): row.xpath(
            './/span[contains(@class, "lamp")]/@class'
        )[0].split()[1]
        for row in rows
    }


def _titles(response) -> dict[str, str]:
    rows = page(response).xpath("//tr[@data-row]")
    return {row.xpath(".//a/span")[0].text_content(): row.xpath(".//span/@title")[0] for row in rows}


@pytest.fixture
def tree(pane):
    for path in ("b.md", "A.md", "sub/c.md", "sub/deep/d.md", "other/e.md"):
        pane.write(path, "x" * len(path))
    return pane


def test_files_lists_folders_first(tree):
    assert _names(tree.get(tree.url("files"))) == ["other", "sub", "A.md", "b.md"]


def test_files_opens_a_folder_and_its_way(tree):
    response = tree.get(tree.url("files", "sub/deep"))

    assert _names(response) == ["d.md"]
    assert [each.text_content() for each in page(response).xpath('//nav[@class="crumbs"]/*[not(@aria-hidden)]')] == [
        "Notes",
        "sub",
        "deep",
    ]


@pytest.mark.parametrize(
    ("words", "names"), [("b", ["sub", "b.md"]), ("MD", ["A.md", "b.md"]), ("zzz", []), ("a md", ["A.md"])]
)
def test_files_filters_the_names_of_the_folder(words, names, tree):
    assert _names(tree.get(tree.url("files", q=words))) == names


@pytest.mark.parametrize(
    ("sort", "direction", "names"),
    [("name", "desc", ["sub", "other", "b.md", "A.md"]), ("size", "desc", None), ("changed", "", None)],
)
def test_files_sorts(sort, direction, names, tree):
    tree.write("b.md", "long" * 100)

    found = _names(tree.get(tree.url("files", sort=sort, dir=direction)))
    assert found[:2] == names[:2] if names else set(found[:2]) == {"other", "sub"}
    if sort == "size":
        assert found[2:] == ["b.md", "A.md"]


def test_files_answers_a_filter_with_the_list_alone(tree):
    response = tree.get(tree.url("files", q="b", part="entries"), **{"HX-Request": "true"})

    assert response.text.lstrip().startswith('<div id="entries"')
    assert _names(response) == ["sub", "b.md"]


def test_files_says_when_a_folder_is_empty(pane):
    assert "This folder is empty" in pane.get(pane.url("files")).text


def test_files_of_a_file_is_the_document_pane(tree):
    assert "/open/b.md?" in tree.get(tree.url("files", "b.md")).headers["Location"]


@pytest.mark.parametrize("path", ["missing", "../", "sub/../..", "a\0b"])
def test_files_of_nothing_is_404(path, tree):
    assert tree.get(tree.url("files", path)).status_code in {404, 410}


@pytest.mark.parametrize(("who", "status"), [("bob", 200), ("carol", 200), ("mallory", 404), (None, 302)])
@pytest.mark.parametrize("part", ["files", "tree"])
def test_files_are_for_members_only(who, status, part, tree):
    assert tree.get(tree.url(part), who).status_code == status


def test_files_shows_only_the_way_to_what_is_granted(tree):
    Membership.objects.filter(user=tree.people.carol).delete()
    GrantFactory(root=tree.people.root, user=tree.people.carol, prefix="sub/deep", access=Access.READ)

    assert _names(tree.get(tree.url("files"), "carol")) == ["sub"]
    assert _names(tree.get(tree.url("files", "sub"), "carol")) == ["deep"]
    assert _names(tree.get(tree.url("files", "sub/deep"), "carol")) == ["d.md"]
    assert tree.get(tree.url("files", "other"), "carol").status_code == 404
    assert "other" not in tree.get(tree.url("tree", open=""), "carol").text


def test_files_lamps_say_the_worst_state(tree):
    one = KnowledgeBaseFactory(root=tree.people.root, owner=tree.people.alice, name="Contracts")
    two = KnowledgeBaseFactory(root=tree.people.root, owner=tree.people.alice, name="Archive")
    DocumentFactory(kb=one, source_path="b.md")
    DocumentFactory(kb=two, source_path="b.md", index_status=IndexStatus.FAILED, reason_code="encrypted")
    DocumentFactory(kb=one, source_path="sub/c.md")
    DocumentFactory(kb=one, source_path="sub/deep/d.md", index_status=IndexStatus.STALE)

    response = tree.get(tree.url("files"))
    assert _lamps(response) == {"other": "none", "sub": "stale", "A.md": "none", "b.md": "failed"}
    titles = _titles(response)
    assert titles["sub"] == "1 stale · 1 indexed"
    assert [line.split(" since ")[0] for line in titles["b.md"].split("\n")] == [
        "Archive: failed",
        "Contracts: indexed",
    ]
    assert "Needs a password." in titles["b.md"]


def test_files_lamps_count_only_what_may_be_read(tree):
    kb = KnowledgeBaseFactory(root=tree.people.root, owner=tree.people.alice)
    DocumentFactory(kb=kb, source_path="sub/c.md")
    DocumentFactory(kb=kb, source_path="sub/deep/d.md", index_status=IndexStatus.FAILED)
    GrantFactory(root=tree.people.root, user=tree.people.carol, prefix="sub/deep", access=Access.NONE)

    assert _lamps(tree.get(tree.url("files"), "carol"))["sub"] == "indexed"
    assert _lamps(tree.get(tree.url("files"), "alice"))["sub"] == "failed"


def test_files_shows_links_without_following_them(tree):
    (tree.folder / "link.md").symlink_to(tree.folder / "b.md")

    row = next(
        each for each in page(tree.get(tree.url("files"))).xpath("//tr[@data-row]") if "link.md" in each.text_content()
    )
    assert row.xpath(".//a") == []
    assert "Links are not followed." in row.text_content()


def test_files_shows_a_large_folder_in_parts(pane):
    for number in range(450):
        pane.write(f"many/{number:04}.md", "x")

    first = pane.get(pane.url("files", "many"))
    more = page(first).xpath('//*[@id="more-rows"]//a/@hx-get')[0]
    second = pane.get(more, **{"HX-Request": "true"})
    assert (len(_names(first)), len(_names(second))) == (200, 200)
    assert _names(second)[0] == "0200.md"
    assert "<html" not in second.text


def test_files_asks_the_database_no_more_for_more_files(pane):
    kb = KnowledgeBaseFactory(root=pane.people.root, owner=pane.people.alice)
    client = pane.people.client("alice")
    counts = []
    for number in range(30):
        pane.write(f"few/{number}.md", "x")
        DocumentFactory(kb=kb, source_path=f"few/{number}.md")
        if number in {9, 29}:
            client.get(pane.url("files", "few"))
            with CaptureQueriesContext(connection) as found:
                client.get(pane.url("files", "few"))
            counts.append(len(found))

    assert counts[0] == counts[1]


def test_files_says_when_the_root_cannot_be_reached(pane):
    gone = RootFactory(workspace=pane.people.workspace, key="gone", name="Gone")

    response = pane.get(pane.url("files", root="gone"))
    assert response.status_code == 503
    assert "This folder cannot be reached right now." in response.text
    assert gone.path not in response.text


def test_files_switches_between_roots(pane, tmp_path):
    (tmp_path / "second").mkdir()
    RootFactory(workspace=pane.people.workspace, folder=tmp_path / "second", key="second", name="Second")

    links = page(pane.get(pane.url("files"))).xpath('//nav[@class="tabs"]/a')
    assert [(link.text, link.get("aria-current")) for link in links] == [("Notes", "true"), ("Second", None)]


def test_files_without_a_workspace_leads_to_the_first_folder(pane):
    response = pane.people.client("alice").get("/files/")

    assert response.headers["Location"] == pane.url("files")


def test_files_says_when_nothing_may_be_seen(pane):
    response = pane.people.client("mallory").get("/files/")

    assert (response.status_code, "No workspace yet" in response.text) == (200, True)


def test_files_says_when_a_workspace_has_no_folder(pane):
    workspace = WorkspaceFactory()
    MembershipFactory(workspace=workspace, user=pane.people.alice)

    assert "No folder to show" in pane.people.client("alice").get(f"/w/{workspace.pk}/files/").text


def test_tree_shows_one_level(tree):
    items = page(tree.get(tree.url("tree", path="sub", files=1))).xpath('//*[@role="treeitem"]')

    assert [item.xpath('./span[@class="cut"]/text()')[0] for item in items] == ["deep", "c.md"]
    assert items[0].get("aria-expanded") == "false"


def test_tree_opens_down_to_the_file(tree):
    root = page(tree.get(tree.url("tree", open="sub/deep/d.md", files=1)))

    assert root.xpath('//*[@role="tree"]')
    assert root.xpath('//*[@aria-current="page"]/span[1]/text()') == ["d.md"]
    assert root.xpath('//*[@aria-expanded="true"]/span[2]/text()') == ["sub", "deep"]


@pytest.mark.parametrize("path", ["missing", "../", "a\0b", "b.md", "sub/../.."])
@pytest.mark.parametrize("lamps", ["", "tree"])
def test_tree_of_nothing_is_empty_or_404(lamps, path, tree):
    response = tree.get(tree.url("tree", path=path, lamps=lamps))

    assert (response.status_code, "treeitem" in response.text) in {(404, False), (410, False), (200, False)}


def test_tree_shows_a_large_level_in_parts(pane):
    for number in range(620):
        (pane.folder / f"folder{number:04}").mkdir()

    first = page(pane.get(pane.url("tree", open="")))
    items = first.xpath('//*[@role="treeitem"]')
    assert len(items) == 501
    rest = page(pane.get(items[-1].get("hx-get"))).xpath('//*[@role="treeitem"]')
    assert len(rest) == 120


def test_files_brings_lamps_later_where_counting_takes_long(tree, monkeypatch):
    monkeypatch.setattr("knowledge.selectors.lamps._MANY", 0)
    kb = KnowledgeBaseFactory(root=tree.people.root, owner=tree.people.alice)
    DocumentFactory(kb=kb, source_path="sub/c.md", index_status=IndexStatus.FAILED)

    first = tree.get(tree.url("files"))
    assert _lamps(first)["sub"] == "none"
    later = tree.get(page(first).xpath('//*[@id="entries"]/@hx-get')[0])
    place = page(first).xpath('//tr[@data-row][.//span="sub"]//span[contains(@class, "lamp")]/@id')[0]
    assert page(later).xpath(f'//*[@id="{place}"]/@class')[0].split() == ["lamp", "failed"]
