"""Making a knowledge base: three steps in one form, nothing stored before the end."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpResponse
from django.urls import reverse
from lxml import html

from knowledge.models import KnowledgeBase, ProviderProfile, Source
from mnote.models import Access, Job
from mnote.services import grants
from tests.factories.knowledge import DocumentFactory, KnowledgeBaseFactory, ProviderProfileFactory
from tests.people import People


@pytest.fixture
def folder(people: People) -> People:
    for path in ("reports/a.md", "reports/old/b.md", "notes/c.md", "notes/film.mp4", "notes/.git/d.md"):
        target = people.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("text")
    return people


BASICS = {"name": "Contracts", "description": "All of them.", "preset": "documents"}


def post(people: People, who: str = "alice", **data: Any) -> HttpResponse:
    return people.client(who).post("/kb/new", {**BASICS, "workspace": people.workspace.pk, **data})


def fields(answer: HttpResponse, name: str) -> list[str]:
    return list(html.fromstring(answer.text).xpath(f"//input[@type='hidden'][@name='{name}']/@value"))


def tree(answer: HttpResponse) -> dict[str, str]:
    boxes = html.fromstring(answer.text).xpath("//button[@role='checkbox']")
    return {each.text_content().strip(): each.get("aria-checked") for each in boxes}


def test_first_step_leads_to_the_tree_of_allowed_folders(folder: People) -> None:
    answer = post(folder, step="basics", go="next")

    assert fields(answer, "step") == ["sources"]
    assert fields(answer, "name") == ["Contracts"]
    assert tree(answer) == {"Notes": "false", "notes": "false", "reports": "false"}


@pytest.mark.parametrize("name", ["", "   ", "x" * 51])
def test_first_step_wants_a_name(folder: People, name: str) -> None:
    answer = post(folder, step="basics", go="next", name=name)

    assert answer.status_code == 422
    assert fields(answer, "step") == ["basics"]


def test_first_step_refuses_a_name_that_is_taken(folder: People) -> None:
    KnowledgeBaseFactory(root=folder.root, name="CONTRACTS")

    answer = post(folder, step="basics", go="next")

    assert answer.status_code == 422
    assert "Another knowledge base of this workspace has this name." in answer.text


def test_tree_opens_one_level(folder: People) -> None:
    answer = post(folder, step="sources", fold="notes:notes", opened="notes:")

    assert tree(answer) == {"Notes": "false", "notes": "false", "c.md": "false", "reports": "false"}
    assert "1 file of a type that is not read" in answer.text


def test_ticking_a_folder_ticks_what_is_in_it(folder: People) -> None:
    answer = post(folder, step="sources", toggle="notes:reports", opened=["notes:", "notes:reports"])

    states = tree(answer)
    assert (states["Notes"], states["reports"], states["a.md"], states["old"]) == ("mixed", "true", "true", "true")
    assert fields(answer, "chosen") == ["notes:reports"]


def test_path_outside_the_allowed_folders_is_never_picked(folder: People) -> None:
    answer = post(folder, step="sources", toggle="elsewhere:reports")

    assert fields(answer, "chosen") == []


def test_tree_hides_what_the_person_may_not_see(folder: People) -> None:
    grants.set_grant(root=folder.root, holder=folder.alice, prefix="reports", access=Access.NONE)

    answer = post(folder, step="sources", opened="notes:")

    assert "reports" not in tree(answer)


def test_pasted_paths_are_checked_one_by_one(folder: People) -> None:
    answer = post(folder, step="sources", go="paste", pasted="reports/a.md\n/notes/\nnot/there.md\n../etc")

    assert answer.status_code == 422
    assert sorted(fields(answer, "chosen")) == ["notes:notes", "notes:reports/a.md"]
    assert "“not/there.md” is not there, or not for you." in answer.text
    assert html.fromstring(answer.text).xpath("//textarea[@name='pasted']")[0].text_content().split() == [
        "not/there.md",
        "../etc",
    ]


def test_estimate_says_numbers_and_what_is_left_out(folder: People) -> None:
    answer = folder.client("alice").post(
        "/kb/new/estimate", {"chosen": "notes:notes", "workspace": folder.workspace.pk}
    )

    words = " ".join(html.fromstring(answer.text).text_content().split())
    assert "1 file, 4 bytes" in words
    assert "This type of file is not read: 1" in words


def test_second_step_wants_a_choice(folder: People) -> None:
    answer = post(folder, step="sources", go="next")

    assert answer.status_code == 422
    assert "Choose at least one folder or file." in answer.text


def test_review_lists_what_is_read_and_what_is_left_out(folder: People) -> None:
    answer = post(
        folder, step="sources", go="next", chosen=["notes:notes", "notes:reports"], left_out="notes:reports/old"
    )

    words = " ".join(html.fromstring(answer.text).text_content().split())
    assert fields(answer, "step") == ["review"]
    assert "2 files, 8 bytes" in words
    assert "reports without reports/old" in words
    assert "notes/film.mp4" in words


def test_back_keeps_what_was_entered(folder: People) -> None:
    answer = post(folder, step="review", go="back", chosen="notes:notes")

    assert fields(answer, "step") == ["sources"]
    assert fields(answer, "chosen") == ["notes:notes"]
    assert KnowledgeBase.objects.count() == 0


def test_creating_attaches_what_was_picked_and_asks_for_a_sync(folder: People) -> None:
    answer = post(
        folder, step="review", go="create", chosen=["notes:reports", "notes:notes/c.md"], left_out="notes:reports/old"
    )

    kb = KnowledgeBase.objects.get()
    assert answer.headers["Location"] == f"/kb/{kb.pk}/"
    assert (kb.name, kb.description, kb.owner, kb.paused_at) == ("Contracts", "All of them.", folder.alice, None)
    rules = {each.path: each.exclude for each in Source.objects.filter(kb=kb)}
    assert rules == {"reports": ["/old"], "notes/c.md": []}
    assert Job.objects.filter(kind="knowledge.sync_source", kb_id=kb.pk).count() == 2


def test_a_path_picked_inside_what_is_left_out_is_attached_too(folder: People) -> None:
    post(
        folder,
        step="review",
        go="create",
        chosen=["notes:reports", "notes:reports/old/b.md"],
        left_out="notes:reports/old",
    )

    assert set(Source.objects.values_list("path", flat=True)) == {"reports", "reports/old/b.md"}


def test_creating_without_indexing_pauses(folder: People) -> None:
    post(folder, step="review", go="create-paused", chosen="notes:reports")

    assert KnowledgeBase.objects.get().paused_at is not None


def test_source_code_leaves_out_build_output(folder: People) -> None:
    post(folder, step="review", go="create", preset="code", chosen="notes:notes")

    assert "build/" in Source.objects.get().exclude
    assert Source.objects.get().max_file_mb == 5


def test_creating_is_refused_without_a_choice(folder: People) -> None:
    answer = post(folder, step="review", go="create")

    assert answer.status_code == 422
    assert KnowledgeBase.objects.count() == 0


def test_name_taken_in_the_meantime_leads_back_to_it(folder: People) -> None:
    KnowledgeBaseFactory(root=folder.root, name="contracts")

    answer = post(folder, step="review", go="create", chosen="notes:reports")

    assert fields(answer, "step") == ["basics"]
    assert html.fromstring(answer.text).xpath("//input[@name='name']/@value") == ["Contracts"]


@pytest.mark.parametrize(
    ("who", "get", "post"), [("alice", 200, 422), ("bob", 403, 403), ("carol", 403, 403), ("mallory", 404, 404)]
)
def test_only_managers_make_one(people: People, who: str, get: int, post: int) -> None:
    client = people.client(who)

    assert (client.get("/kb/new").status_code, client.post("/kb/new").status_code) == (get, post)


@pytest.mark.parametrize(("who", "status"), [("alice", 200), ("bob", 403), ("mallory", 404)])
def test_only_managers_get_an_estimate(people: People, who: str, status: int) -> None:
    assert people.client(who).post("/kb/new/estimate").status_code == status


def test_fragment_goes_to_the_new_base_by_itself(folder: People) -> None:
    answer = folder.client("alice").post(
        "/kb/new",
        {**BASICS, "workspace": folder.workspace.pk, "step": "review", "go": "create", "chosen": "notes:reports"},
        headers={"HX-Request": "true"},
    )

    assert answer.headers["HX-Redirect"] == f"/kb/{KnowledgeBase.objects.get().pk}/"


def test_form_can_begin_with_a_folder(folder: People) -> None:
    answer = folder.client("alice").get("/kb/new?chosen=notes:reports")

    assert fields(answer, "chosen") == ["notes:reports"]


def places(answer: HttpResponse) -> dict[str, bool]:
    """Return the places of the index that are offered, and which one is chosen."""
    page = html.fromstring(answer.text)
    return {
        each.get("value"): each.get("checked") is not None
        for each in page.xpath("//input[@type='radio'][@name='place']")
    }


def review(people: People, **data: Any) -> HttpResponse:
    return post(people, step="sources", go="next", chosen="notes:notes", **data)


def test_without_profiles_no_place_is_asked_for(folder: People) -> None:
    ProviderProfileFactory(name="Somebody else's")

    answer = review(folder)

    assert places(answer) == {}
    assert 'name="place"' not in answer.text


def test_review_offers_the_profiles_of_the_workspace(folder: People) -> None:
    profile = ProviderProfileFactory(name="Library", workspaces=[folder.workspace])
    broken = ProviderProfileFactory(name="Zoo", workspaces=[folder.workspace], checked_at=None)

    answer = review(folder)

    assert places(answer) == {profile.pk: True, "local": False}
    assert "“Zoo” cannot be chosen now: It was not checked yet." in answer.text
    assert broken.pk not in answer.text


@pytest.mark.parametrize("is_here", [True, False])
def test_knowledge_base_is_made_in_the_chosen_place(folder: People, is_here: bool) -> None:
    profile = ProviderProfileFactory(name="Library", workspaces=[folder.workspace])

    post(folder, step="review", go="create", chosen="notes:notes", place="local" if is_here else profile.pk)

    made = KnowledgeBase.objects.get()
    assert (made.provider, made.profile) == (("local", None) if is_here else ("weknora", profile))
    names = ("kb-detail", "kb-settings", "kb-about")
    pages = [folder.client("alice").get(reverse(f"knowledge:{name}", args=[made.pk])).text for name in names]
    assert ["Library" in page for page in pages] == [not is_here] * 3


def test_place_of_another_workspace_gives_way(folder: People) -> None:
    """People go back and choose another workspace; the hidden field still holds the old place."""
    profile = ProviderProfileFactory(name="Library", workspaces=[folder.workspace])
    other = ProviderProfileFactory()

    post(folder, step="review", go="create", chosen="notes:notes", place=other.pk)

    assert KnowledgeBase.objects.get().profile == profile


def test_place_that_broke_meanwhile_makes_nothing_elsewhere(folder: People) -> None:
    profile = ProviderProfileFactory(name="Library", workspaces=[folder.workspace], checked_at=None)

    answer = post(folder, step="review", go="create", chosen="notes:notes", place=profile.pk)

    assert places(answer) == {"local": True}
    assert "cannot be chosen now" in answer.text
    assert not KnowledgeBase.objects.exists()


def test_review_asks_who_reads_the_files_where_a_service_can(folder: People) -> None:
    assert 'name="parsed_by"' not in review(folder).text
    ProviderProfileFactory(name="Library", workspaces=[folder.workspace])

    answer = html.fromstring(review(folder).text)

    assert answer.xpath("//input[@type='radio'][@name='parsed_by'][@checked]/@value") == ["mnote"]


def test_knowledge_base_is_read_by_whom_was_chosen(folder: People) -> None:
    profile = ProviderProfileFactory(name="Library", workspaces=[folder.workspace])
    wanted = {"step": "review", "go": "create", "chosen": "notes:notes", "parsed_by": "provider"}

    answer = post(folder, **wanted, place="local")
    assert "Only an indexing service outside can read files itself." in answer.text
    assert not KnowledgeBase.objects.exists()
    post(folder, **wanted, place=profile.pk)

    assert KnowledgeBase.objects.get().parsed_by == "provider"


def test_settings_offer_another_reader_only_on_a_service(folder: People) -> None:
    profile = ProviderProfileFactory(name="Library", workspaces=[folder.workspace])
    post(folder, step="review", go="create", chosen="notes:notes", place=profile.pk)
    kb, client = KnowledgeBase.objects.get(), folder.client("alice")
    address = reverse("knowledge:kb-settings", args=[kb.pk])

    assert 'name="parsed_by"' in client.get(address).text
    answer = client.post(address, {"section": "reading", "parsed_by": "provider"}, follow=True)
    kb.refresh_from_db()
    assert "every file is read anew" in answer.text
    assert kb.parsed_by == "provider"

    assert client.post(address, {"section": "reading", "parsed_by": "nobody"}).status_code == 422
    KnowledgeBase.objects.update(provider="local", profile=None)
    assert 'name="parsed_by"' not in client.get(address).text


@pytest.fixture
def scans(folder: People) -> People:
    """Three pictures and a note."""
    for name in ("scans/one.png", "scans/two.JPG", "scans/three.jpeg"):
        target = folder.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(b"\x89PNG of a page")
    (folder.folder / "scans/index.md").write_text("# Index\n\nOf the scans.\n")
    return folder


def seeing(people: People) -> ProviderProfile:
    """A profile whose server has a model for pictures, as its last check found."""
    checks = [{"name": "vision", "result": "passed", "code": "", "facts": {"model": "stub-vision"}}]
    profile: ProviderProfile = ProviderProfileFactory(
        name="Library", workspaces=[people.workspace], vision_model_id="model-2", check_json={"checks": checks}
    )
    return profile


def value(answer: HttpResponse, name: str) -> list[str]:
    page = html.fromstring(answer.text)
    return list(page.xpath(f"//input[@name='{name}'][@checked or @type='hidden']/@value"))


def test_service_that_recognises_scans_is_proposed_and_taken_with_one_click(scans: People) -> None:
    profile = seeing(scans)

    asked = post(scans, step="sources", go="next", chosen="notes:scans", place="local", parsed_by="mnote")
    taken = post(scans, step="review", go="read-there", chosen="notes:scans", place="local", parsed_by="mnote")

    assert "3 of 4 files are pictures or scans" in asked.text
    assert "Let “Library” read the files" in asked.text
    assert (value(taken, "place"), value(taken, "parsed_by")) == ([profile.pk], ["provider"])
    assert html.fromstring(taken.text).xpath("//input[@name='pictures'][@checked]")
    assert "Let “Library” read the files" not in taken.text
    assert "Picture" in taken.text
    data = {"place": profile.pk, "parsed_by": "provider", "pictures": "on", "engine-pdf": "mineru"}
    post(scans, step="review", go="create", chosen="notes:scans", **data)
    made = KnowledgeBase.objects.get()
    assert (made.profile, made.parsed_by, made.reading_json["images"]["enabled"]) == (profile, "provider", True)
    assert made.reading_json["engines"] == {"pdf": "mineru"}


def test_nothing_is_proposed_for_texts_or_where_nobody_recognises_scans(scans: People) -> None:
    assert "read the files" not in post(scans, step="sources", go="next", chosen="notes:scans").text

    seeing(scans)
    chosen = {"step": "sources", "go": "next", "place": "local", "parsed_by": "mnote"}
    assert "read the files" not in post(scans, **chosen, chosen="notes:reports").text


def test_scans_that_are_known_are_counted(folder: People) -> None:
    seeing(folder)
    kb = KnowledgeBaseFactory(root=folder.root)
    (folder.folder / "paper").mkdir()
    for name in ("paper/a.pdf", "paper/b.pdf"):
        (folder.folder / name).write_bytes(b"%PDF-1.4")
        DocumentFactory(kb=kb, source_path=name, source_type="pdf", index_status="failed", reason_code="no_text")

    chosen = {"step": "sources", "go": "next", "place": "local", "parsed_by": "mnote"}
    assert "2 of 2 files are pictures or scans" in post(folder, **chosen, chosen="notes:paper").text


def test_kind_of_content_presets_who_reads_and_another_kind_takes_it_back(scans: People) -> None:
    profile = seeing(scans)

    scanned = post(scans, step="basics", go="next", preset="scans")
    other = post(scans, step="basics", go="next", preset="documents", were_scans="1", parsed_by="provider")

    assert (value(scanned, "place"), value(scanned, "parsed_by")) == ([profile.pk], ["provider"])
    assert value(scanned, "pictures") == ["True"]
    assert value(other, "parsed_by") == ["mnote"]
    there = {"parsed_by": "provider", "pictures": "on", "place": profile.pk}
    opened = post(scans, step="sources", fold="notes:scans", opened="notes:", **there)
    assert {"one.png", "two.JPG"} <= tree(opened).keys()


def test_kind_of_content_that_nobody_recognises_is_said(scans: People) -> None:
    answer = post(scans, step="sources", go="next", chosen="notes:scans", preset="scans")

    assert "No indexing service of this workspace recognises scans or pictures." in answer.text


def test_engine_that_cannot_be_chosen_keeps_the_form_open(scans: People) -> None:
    profile = seeing(scans)
    data = {"place": profile.pk, "parsed_by": "provider", "engine-pdf": "no such; name"}

    answer = post(scans, step="review", go="create", chosen="notes:scans", **data)

    assert answer.status_code == 422
    assert "This is no name of an engine." in answer.text
    assert not KnowledgeBase.objects.exists()
