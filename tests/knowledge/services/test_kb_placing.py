from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from knowledge.models import KnowledgeBase, ProviderKind, ProviderProfile
from knowledge.services import intake, knowledge_bases, status
from knowledge.services.kb_placing import Indexing
from mnote.exceptions import Invalid
from tests.factories.knowledge import ProviderProfileFactory
from tests.people import People

BROKEN = {"checks": [{"name": "key", "result": "failed", "code": "provider-auth", "facts": {}}]}


@pytest.fixture
def library(people: People) -> ProviderProfile:
    return ProviderProfileFactory(name="Library", workspaces=[people.workspace])


def create(people: People, **wish: str) -> KnowledgeBase:
    alice, indexing = people.principal("alice"), Indexing(**wish)
    return knowledge_bases.create_kb(
        principal=alice, workspace=people.workspace, root=people.root, name="New", indexing=indexing
    )


def refusal(people: People, **wish: str) -> tuple[str, str]:
    """Return field and message of what refuses a new knowledge base."""
    with pytest.raises(Invalid) as refused:
        create(people, **wish)
    [(field, [problem])] = refused.value.extra["errors"].items()
    assert not KnowledgeBase.objects.exists()
    return field, problem["message"]


def test_workspace_without_profiles_indexes_here(people: People) -> None:
    ProviderProfileFactory(name="Somebody else's")

    made = create(people)

    assert (made.provider, made.profile) == ("local", None)


def test_workspace_with_a_profile_indexes_there(people: People, library: ProviderProfile) -> None:
    made = create(people)

    assert (made.provider, made.profile) == ("weknora", library)


@pytest.mark.parametrize("name", ["local", "local_fallback"])
def test_embedded_index_can_be_asked_for(people: People, library: ProviderProfile, name: str) -> None:
    made = create(people, provider=name)

    assert (made.provider, made.profile) == ("local", None)


def test_profile_can_be_named(people: People, library: ProviderProfile) -> None:
    other = ProviderProfileFactory(name="Zoo", workspaces=[people.workspace])

    assert create(people, profile_id=other.pk).profile == other


def test_first_usable_profile_is_taken(people: People, library: ProviderProfile) -> None:
    ProviderProfileFactory(name="A", workspaces=[people.workspace], check_json=BROKEN)

    assert create(people).profile == library


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"check_json": BROKEN}, "The server does not take the key"),
        ({"checked_at": None}, "It was not checked yet."),
    ],
)
def test_broken_profile_is_refused_with_its_sentence_and_never_replaced(
    people: People, library: ProviderProfile, facts: dict[str, Any], why: str
) -> None:
    ProviderProfile.objects.update(**facts)

    for wish, name in [
        ({}, "provider"),
        ({"provider": "weknora"}, "provider"),
        ({"profile_id": library.pk}, "profileId"),
    ]:
        field, message = refusal(people, **wish)
        assert field == name
        assert "“Library” cannot be used now" in message
        assert why in message
    assert create(people, provider="local").profile is None


def test_profile_of_other_workspaces_is_not_there(people: People) -> None:
    other = ProviderProfileFactory()

    assert refusal(people, profile_id=other.pk) == ("profileId", "The workspace has no such provider profile.")


@pytest.mark.parametrize("wish", [{"provider": "weknora"}, {"provider": "lightrag_legacy"}, {"provider": "magic"}])
def test_provider_that_is_not_there_is_refused(people: People, wish: dict[str, str]) -> None:
    assert refusal(people, **wish)[0] == "provider"


def test_archived_profile_counts_as_none(people: People, library: ProviderProfile) -> None:
    ProviderProfile.objects.update(archived_at=timezone.now())

    assert create(people).profile is None


def test_copy_lies_where_the_original_lies(people: People, library: ProviderProfile) -> None:
    there = create(people)
    alice, local = people.principal("alice"), Indexing(provider="local")
    here = knowledge_bases.create_kb(
        principal=alice, workspace=people.workspace, root=people.root, name="Here", indexing=local
    )

    assert knowledge_bases.duplicate_kb(principal=alice, kb=there, name="Copy").profile == library
    assert knowledge_bases.duplicate_kb(principal=alice, kb=here, name="Copy here").provider == ProviderKind.LOCAL


def test_knowledge_base_made_by_ingest_lies_on_the_profile(people: People, library: ProviderProfile) -> None:
    alice = people.principal("alice")

    made = intake.kb_for(principal=alice, workspace=people.workspace, root=people.root, name="By ingest")

    assert made.profile == library


def test_status_tells_where_new_ones_are_indexed(people: People, library: ProviderProfile) -> None:
    told = status.status_of(principal=people.principal("alice"), workspace=people.workspace)

    assert (told.default.kind, told.default.profile) == ("weknora", library)
    assert not told.providers[told.default].reachable
