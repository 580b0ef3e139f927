from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from knowledge.models import IndexStatus, ProviderKind, ProviderProfile
from knowledge.selectors.provider_outages import outage_of
from knowledge.services import profiles, provider_outages
from knowledge.services.outages import Outage
from knowledge.services.profiles import ProfileWish
from knowledge.services.providers import connection_of
from mnote.exceptions import AppError, Conflict, Invalid
from mnote.models import AuditEntry, Job, Workspace
from mnote.principals import Principal
from tests.factories.knowledge import DocumentFactory, KnowledgeBaseFactory, ProviderProfileFactory
from tests.factories.mnote import UserFactory, WorkspaceFactory

URL, KEY = "https://index.invalid", "sk-never-shown"


@pytest.fixture
def boss(db: None) -> Principal:
    return Principal(user=UserFactory(is_superuser=True))


@pytest.fixture
def workspace(db: None) -> Workspace:
    return WorkspaceFactory()


@pytest.fixture
def wish(workspace: Workspace) -> ProfileWish:
    return ProfileWish(
        name="Library",
        base_url=URL,
        tenant_id="1",
        key=KEY,
        isolation_domain="here",
        embedding_model_id="model-1",
        workspaces=[workspace],
    )


def fields_of(error: AppError) -> set[str]:
    return set(error.extra["errors"])


def test_saved_profile_connects_and_shows_neither_address_nor_key(boss: Principal, wish: ProfileWish) -> None:
    profile = profiles.save_profile(by=boss, profile=None, wish=wish)

    models = {"embedding_model_id": "model-1", "vision_model_id": ""}
    assert connection_of(profile) == {"url": URL, "key": KEY, "tenant_id": "1", **models}
    entry = AuditEntry.objects.get(action="profile.create")
    told = f"{profile!r} {profile} {wish!r} {entry.target} {entry.facts} {profile.sealed_key}"
    assert KEY not in told
    assert URL not in told
    assert entry.facts["workspaces"] == [wish.workspaces[0].pk]


def test_empty_secrets_keep_what_is_stored_and_a_new_key_replaces_it(boss: Principal, wish: ProfileWish) -> None:
    profile = profiles.save_profile(by=boss, profile=None, wish=wish)
    same = profiles.save_profile(by=boss, profile=profile, wish=replace(wish, base_url="", key="", name="Archive"))
    assert (connection_of(same)["url"], connection_of(same)["key"]) == (URL, KEY)

    new = profiles.save_profile(by=boss, profile=same, wish=replace(wish, key="sk-new"))
    assert connection_of(new)["key"] == "sk-new"


@pytest.mark.parametrize(
    "change", [{"key": "sk-new"}, {"base_url": "https://other.invalid"}, {"embedding_model_id": "m"}]
)
def test_another_connection_is_unchecked_again(boss: Principal, wish: ProfileWish, change: dict[str, str]) -> None:
    profile = profiles.save_profile(by=boss, profile=None, wish=wish)
    ProviderProfile.objects.update(checked_at=timezone.now(), edition="lite")
    profile.refresh_from_db()

    renamed = profiles.save_profile(by=boss, profile=profile, wish=replace(wish, name="Archive", key=""))
    assert renamed.checked_at is not None
    changed = profiles.save_profile(by=boss, profile=renamed, wish=replace(wish, **{"key": "", **change}))
    assert (changed.checked_at, changed.edition) == (None, "")


def test_key_of_the_environment_takes_the_place_of_a_stored_one(
    boss: Principal, wish: ProfileWish, settings: Any
) -> None:
    profile = profiles.save_profile(by=boss, profile=None, wish=wish)
    settings.MNOTE_PROVIDER_KEYS = {"LIBRARY": "sk-outside"}

    named = profiles.save_profile(by=boss, profile=profile, wish=replace(wish, key="", key_name="LIBRARY"))

    assert (named.sealed_key, connection_of(named)["key"]) == ("", "sk-outside")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"base_url": ""}, "base_url"),
        ({"base_url": "ftp://index.invalid"}, "base_url"),
        ({"base_url": "index"}, "base_url"),
        ({"key": ""}, "key"),
        ({"key_name": "LIBRARY"}, "key"),
        ({"key": "", "key_name": "OTHER"}, "key_name"),
        ({"key": " enc:v1:c2VhbGVk"}, "key"),
    ],
)
def test_what_is_no_connection_is_refused(
    boss: Principal, wish: ProfileWish, change: dict[str, str], field: str
) -> None:
    """T49: beside a new key the server shows what it keeps of it, which opens nothing."""
    with pytest.raises(Invalid) as refused:
        profiles.save_profile(by=boss, profile=None, wish=replace(wish, **change))
    assert fields_of(refused.value) == {field}
    assert not ProviderProfile.objects.exists()


def test_name_is_taken_once(boss: Principal, wish: ProfileWish) -> None:
    profiles.save_profile(by=boss, profile=None, wish=wish)
    with pytest.raises(AppError) as refused:
        profiles.save_profile(by=boss, profile=None, wish=replace(wish, name="library"))
    assert fields_of(refused.value) == {"name"}


@pytest.mark.parametrize("url", [URL, f"{URL}/", f"{URL}/api/v1/"])
def test_tenant_belongs_to_one_isolation_domain(boss: Principal, wish: ProfileWish, url: str) -> None:
    profiles.save_profile(by=boss, profile=None, wish=wish)
    other = replace(wish, name="Other", base_url=url, isolation_domain="there", workspaces=[WorkspaceFactory()])

    with pytest.raises(Invalid) as refused:
        profiles.save_profile(by=boss, profile=None, wish=other)
    assert fields_of(refused.value) == {"isolation_domain"}

    assert profiles.save_profile(by=boss, profile=None, wish=replace(other, tenant_id="2"))
    assert profiles.save_profile(
        by=boss, profile=None, wish=replace(other, name="Third", isolation_domain="here", workspaces=[])
    )


def test_workspace_belongs_to_one_isolation_domain(boss: Principal, wish: ProfileWish) -> None:
    profiles.save_profile(by=boss, profile=None, wish=wish)

    with pytest.raises(Invalid) as refused:
        profiles.save_profile(
            by=boss, profile=None, wish=replace(wish, name="Other", tenant_id="2", isolation_domain="there")
        )
    assert fields_of(refused.value) == {"workspaces"}


@pytest.mark.parametrize(("change", "field"), [({"tenant_id": "2"}, "tenant_id"), ({"workspaces": []}, "workspaces")])
def test_what_knowledge_bases_stand_on_stays(
    boss: Principal, wish: ProfileWish, workspace: Workspace, change: dict[str, Any], field: str
) -> None:
    profile = profiles.save_profile(by=boss, profile=None, wish=wish)
    kb = KnowledgeBaseFactory(workspace=workspace, provider=ProviderKind.WEKNORA, profile=profile)

    with pytest.raises(Invalid) as refused:
        profiles.save_profile(by=boss, profile=profile, wish=replace(wish, key="", **change))
    assert fields_of(refused.value) == {field}

    kb.archived_at = timezone.now()
    kb.save()
    profiles.save_profile(by=boss, profile=profile, wish=replace(wish, key="", **change))


def test_archived_profile_comes_back_unchecked(boss: Principal) -> None:
    profile = ProviderProfileFactory()
    profiles.archive_profile(by=boss, profile=profile)
    with pytest.raises(Conflict):
        profiles.archive_profile(by=boss, profile=profile)

    profiles.restore_profile(by=boss, profile=profile)

    profile.refresh_from_db()
    assert (profile.archived_at, profile.checked_at) == (None, None)


def test_archived_profile_whose_name_was_taken_stays_archived(boss: Principal) -> None:
    profile = ProviderProfileFactory(name="Library", archived_at=timezone.now())
    ProviderProfileFactory(name="Library")
    with pytest.raises(AppError):
        profiles.restore_profile(by=boss, profile=profile)


def test_saved_profile_lets_waiting_work_begin_at_once(boss: Principal, wish: ProfileWish) -> None:
    profile = profiles.save_profile(by=boss, profile=None, wish=wish)
    kb = KnowledgeBaseFactory(workspace=wish.workspaces[0], provider=ProviderKind.WEKNORA, profile=profile)
    later = timezone.now() + timedelta(minutes=5)
    row = DocumentFactory(kb=kb, index_status=IndexStatus.QUEUED, reason_code="provider-auth", next_try_at=later)
    provider_outages.close(kb=kb, outage=Outage("provider-auth", seconds=300, asked_to_wait=True))
    before = outage_of(kb)

    profiles.save_profile(by=boss, profile=profile, wish=replace(wish, key="another"))

    row.refresh_from_db()
    assert provider_outages.closed_until(kb) is None
    assert row.next_try_at <= timezone.now()
    assert Job.objects.filter(kind="resource_parse", kb_id=kb.pk).exists()
    assert outage_of(kb) == before, "only a document that was taken, or an answer, ends it"
