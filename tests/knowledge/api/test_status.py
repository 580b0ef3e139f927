from __future__ import annotations

from mnote.models import Access
from mnote.services import worker_beats
from tests.factories.knowledge import KnowledgeBaseFactory
from tests.factories.mnote import GrantFactory
from tests.library import Library
from tests.published import assert_published

URL = "/api/knowledge-rag/status"


def test_status_tells_provider_bases_counts_and_worker(library: Library) -> None:
    worker_beats.record(worker="worker@test")

    body = library.people.client("carol").get(URL, library.scope).json()

    assert_published("status", body)
    base = body["knowledgeBases"][0]
    assert (body["provider"], body["reachable"], body["isWorkerAlive"]) == ("local", True, True)
    assert body["workerAgeSeconds"] < 60
    assert (base["id"], base["counts"]["byLamp"]["indexed"]) == (library.kb.id, 5)
    assert base["syncedAt"] is not None


def test_status_without_a_worker_says_so(library: Library) -> None:
    body = library.people.client("carol").get(URL, library.scope).json()

    assert (body["workerAgeSeconds"], body["isWorkerAlive"]) == (None, False)


def test_status_counts_what_the_reader_may_read(library: Library) -> None:
    GrantFactory(root=library.root, user=library.people.carol, prefix="private", access=Access.NONE)

    body = library.people.client("carol").get(URL, library.scope).json()

    assert body["knowledgeBases"][0]["counts"]["total"] == 4


def test_status_of_one_base(library: Library) -> None:
    other = KnowledgeBaseFactory(owner=library.people.alice, root=library.root)
    client = library.people.client("carol")

    body = client.get(URL, {**library.scope, "knowledgeBaseId": other.id}).json()
    absent = client.get(URL, {**library.scope, "knowledgeBaseId": KnowledgeBaseFactory().id})

    assert [each["id"] for each in body["knowledgeBases"]] == [other.id]
    assert absent.status_code == 404


def test_status_is_hidden_from_strangers(library: Library) -> None:
    assert library.people.client("mallory").get(URL, library.scope).status_code == 404
