from __future__ import annotations

from typing import Any

import pytest

from knowledge.models import Document, KnowledgeBase, Source
from mnote.models import Access, Job
from tests.factories.knowledge import KnowledgeBaseFactory
from tests.factories.mnote import GrantFactory
from tests.knowledge.api.conftest import send
from tests.library import Library


@pytest.fixture
def empty(library: Library) -> KnowledgeBase:
    return KnowledgeBaseFactory(owner=library.people.alice, root=library.root)


def add(library: Library, person: str, kb: KnowledgeBase, **body: Any) -> Any:
    return send(library.people.client(person), "POST", f"/api/knowledge/knowledge-bases/{kb.id}/source-sets", body)


def url(source: Source) -> str:
    return f"/api/knowledge/source-sets/{source.id}"


def test_add_source_set_attaches_a_folder(library: Library, empty: KnowledgeBase) -> None:
    answer = add(library, "bob", empty, path="guide", include=["*.md"], maxFileMb=5, syncMode="manual")

    made = answer.json()
    assert (answer.status_code, answer.headers["Location"]) == (201, f"/api/knowledge/source-sets/{made['id']}")
    assert (made["path"], made["isFolder"], made["include"], made["maxFileMb"]) == ("guide", True, ["*.md"], 5)
    assert Job.objects.filter(kind="knowledge.sync_source", payload__source_id=made["id"]).exists()


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [("nowhere", 404, "not-found"), ("../x", 404, "not-found"), ("private", 404, "not-found")],
)
def test_add_source_set_refuses_a_path(
    library: Library, empty: KnowledgeBase, path: str, status: int, code: str
) -> None:
    GrantFactory(root=library.root, user=library.people.bob, prefix="private", access=Access.NONE)

    answer = add(library, "bob", empty, path=path)

    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_add_source_set_refuses_what_is_covered(library: Library) -> None:
    answer = add(library, "bob", library.kb, path="guide")

    assert (answer.status_code, answer.json()["reason"]) == (422, "already-covered")


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ({"syncMode": "sometimes"}, "syncMode"),
        ({"safetyStopPercent": 0}, "safetyStopPercent"),
        ({"include": "*.md"}, "include"),
        ({"recursive": 1}, "recursive"),
        ({"graceHours": -1}, "graceHours"),
    ],
)
def test_add_source_set_names_the_rule_that_is_wrong(
    library: Library, empty: KnowledgeBase, rules: dict[str, Any], field: str
) -> None:
    answer = add(library, "bob", empty, path="guide", **rules)

    assert (answer.status_code, list(answer.json()["errors"])) == (400, [field])


@pytest.mark.parametrize(("person", "status"), [("alice", 201), ("bob", 201), ("carol", 403), ("mallory", 404)])
def test_add_source_set_needs_a_curator(library: Library, empty: KnowledgeBase, person: str, status: int) -> None:
    assert add(library, person, empty, path="guide").status_code == status


def test_list_source_sets_hides_closed_folders(library: Library, empty: KnowledgeBase) -> None:
    for path in ("guide", "private"):
        add(library, "alice", empty, path=path)
    GrantFactory(root=library.root, user=library.people.carol, prefix="private", access=Access.NONE)

    body = library.people.client("carol").get(f"/api/knowledge/knowledge-bases/{empty.id}/source-sets").json()

    assert [each["path"] for each in body] == ["guide"]
    closed = Source.objects.get(kb=empty, path="private")
    assert library.people.client("carol").get(url(closed)).status_code == 404


def test_update_source_set_changes_rules_for_managers(library: Library) -> None:
    refused = send(library.people.client("bob"), "PATCH", url(library.source), {"intervalMinutes": 60})
    changed = send(library.people.client("alice"), "PATCH", url(library.source), {"intervalMinutes": 60})

    assert refused.status_code == 403
    assert (changed.status_code, changed.json()["intervalMinutes"]) == (200, 60)


def test_delete_source_set_takes_its_documents_out(library: Library) -> None:
    refused = library.people.client("bob").delete(url(library.source))
    answer = library.people.client("alice").delete(url(library.source))

    assert (refused.status_code, answer.status_code) == (403, 204)
    assert not Source.objects.filter(id=library.source.id).exists()
    assert Job.objects.filter(kind="knowledge.remove_documents", payload__code="source_removed").exists()


def test_delete_source_set_with_freeze_keeps_its_documents(library: Library) -> None:
    answer = library.people.client("alice").delete(f"{url(library.source)}?freeze=true")

    assert answer.status_code == 204
    assert library.people.client("alice").get(url(library.source)).json()["isFrozen"]
    assert Document.objects.filter(kb=library.kb, is_searchable=True).count() == 5
