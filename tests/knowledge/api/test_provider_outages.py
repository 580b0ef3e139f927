"""That a provider does not work, as the API tells it of each knowledge base."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from knowledge.models import KnowledgeBase, ProviderKind, ProviderOutage, ProviderProfile
from tests.factories.knowledge import KnowledgeBaseFactory, ProviderProfileFactory
from tests.library import Library

URL = "/api/knowledge/knowledge-bases"
STATUS = "/api/knowledge-rag/status"
SINCE = timezone.now().replace(microsecond=0) - timedelta(hours=2)


@pytest.fixture
def profile(library: Library) -> ProviderProfile:
    return ProviderProfileFactory(workspaces=[library.people.workspace])


@pytest.fixture
def outside(library: Library, profile: ProviderProfile) -> KnowledgeBase:
    return _outside(library, profile, "Outside")


def _outside(library: Library, profile: ProviderProfile, name: str) -> KnowledgeBase:
    return KnowledgeBaseFactory(
        owner=library.people.alice, root=library.root, name=name, provider=ProviderKind.WEKNORA, profile=profile
    )


def _fails(key: str, code: str = "provider-auth", **facts: Any) -> None:
    ProviderOutage.objects.create(key=key, code=code, since=SINCE, seen_at=timezone.now(), **facts)


def _said(library: Library, kb: KnowledgeBase, language: str = "en") -> list[Any]:
    """What the list, the detail, the progress and the status of the workspace say of a knowledge base."""
    client, headers = library.people.client("carol"), {"Accept-Language": language}
    listed = client.get(URL, headers=headers).json()["results"]
    whole = client.get(STATUS, library.scope, headers=headers).json()["knowledgeBases"]
    return [
        *(each["providerOutage"] for each in (*listed, *whole) if each["id"] == kb.pk),
        client.get(f"{URL}/{kb.pk}", headers=headers).json()["providerOutage"],
        client.get(f"{URL}/{kb.pk}/status", headers=headers).json()["providerOutage"],
    ]


def test_provider_that_works_has_no_outage(library: Library, outside: KnowledgeBase) -> None:
    _fails("another", "provider-timeout")

    assert _said(library, outside) == [None] * 4
    assert _said(library, library.kb) == [None] * 4


def test_provider_that_is_away_is_said_with_since_when_why_and_when_it_is_tried_again(
    library: Library, outside: KnowledgeBase, profile: ProviderProfile
) -> None:
    _fails(profile.pk, until=SINCE + timedelta(hours=3))

    said = _said(library, outside)

    assert said == [said[0]] * 4
    assert said[0] == {
        "since": SINCE.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "affects": "everything",
        "reason": {
            "code": "provider-auth",
            "reasonClass": "configuration",
            "sentence": "The indexing service does not accept our key.",
            "nextStep": "Ask an administrator.",
        },
        "retryAt": (SINCE + timedelta(hours=3)).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    assert _said(library, library.kb) == [None] * 4


def test_provider_that_takes_no_documents_of_one_base_says_so_of_that_one(
    library: Library, outside: KnowledgeBase, profile: ProviderProfile
) -> None:
    _fails(outside.pk, "provider-embedder")
    other = _outside(library, profile, "Other")

    (said, *_rest) = _said(library, outside)

    assert (said["affects"], said["reason"]["code"], said["retryAt"]) == ("indexing", "provider-embedder", None)
    assert _said(library, other) == [None] * 4


def test_outage_is_said_in_the_language_of_the_reader(
    library: Library, outside: KnowledgeBase, profile: ProviderProfile
) -> None:
    _fails(profile.pk, "provider-unavailable")

    for said in _said(library, outside, "zh-Hans"):
        assert said["reason"]["sentence"] == "索引服务没有应答。"


def test_outage_names_neither_server_nor_key(
    library: Library, outside: KnowledgeBase, profile: ProviderProfile
) -> None:
    _fails(profile.pk)

    said = str(_said(library, outside))

    assert profile.base_url not in said
    assert "http" not in said
    assert profile.pk not in said


def test_outages_of_many_bases_are_read_at_once(library: Library, profile: ProviderProfile) -> None:
    client = library.people.client("carol")
    counts = []
    for number in range(2):
        for each in range(3):
            own = ProviderProfileFactory(workspaces=[library.people.workspace])
            _fails(own.pk)
            _outside(library, own, f"{number}-{each}")
        with CaptureQueriesContext(connection) as caught:
            assert (
                sum(each["providerOutage"] is not None for each in client.get(URL).json()["results"]) == 3 + 3 * number
            )
        counts.append(len(caught))

    assert counts[0] == counts[1]
