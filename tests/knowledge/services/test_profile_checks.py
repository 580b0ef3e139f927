"""What an administrator is told of a server, whatever is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone, translation

from knowledge.models import ProviderKind, ProviderProfile
from knowledge.profile_words import label_of, sentence_of
from knowledge.providers.base import Check, CheckResult
from knowledge.selectors.profiles import checks_of, seen_of, why_not
from knowledge.selectors.provider_outages import outage_of
from knowledge.services import profile_checks
from mnote.models import AuditEntry
from mnote.principals import Principal
from mnote.sealing import seal
from tests.engines import free_port
from tests.factories.knowledge import KnowledgeBaseFactory, ProviderProfileFactory
from tests.factories.mnote import UserFactory
from tests.stubs.weknora import WeKnoraStub, weknora_stub
from tests.stubs.weknora_replies import Reply

WIDE = frozenset({"retrieve", "ingest", "manage_kbs", "manage_models", "manage_vector_stores"})
HTML = b"<!doctype html><title>Welcome</title>"


@pytest.fixture
def stub() -> Iterator[WeKnoraStub]:
    with weknora_stub() as stub:
        yield stub


@pytest.fixture
def profile(db: None, stub: WeKnoraStub) -> ProviderProfile:
    return ProviderProfileFactory(stub=stub, checked_at=None)


def check(profile: ProviderProfile) -> dict[str, Check]:
    found = profile_checks.check_profile(by=Principal(user=UserFactory()), profile=profile)
    profile.refresh_from_db()
    assert [each.name for each in checks_of(profile)] == [each.name for each in found]
    return {each.name: each for each in found}


def failed(profile: ProviderProfile) -> dict[str, str]:
    found = check(profile)
    return {name: sentence_of(each) for name, each in found.items() if each.result is CheckResult.FAILED}


def test_good_server_passes_and_is_left_as_it_was(profile: ProviderProfile, stub: WeKnoraStub) -> None:
    found = check(profile)

    assert {name: each.result.value for name, each in found.items()} == {
        "reachable": "passed", "key": "passed", "right-read": "passed", "right-write": "passed",
        "right-manage": "passed", "version": "unknown", "parser-engines": "unknown", "model": "unknown",
        "embedding": "passed",
    }  # fmt: skip
    assert "256 dimensions" in sentence_of(found["embedding"])
    assert sentence_of(found["version"]).startswith("Not visible with this key")
    assert (profile.edition, why_not(profile)) == ("lite", "")
    assert [kb.is_deleted for kb in stub.world.kbs.values()] == [True]


def test_wide_key_shows_version_engines_and_model(profile: ProviderProfile, stub: WeKnoraStub) -> None:
    stub.world.keys[stub.key].rights = WIDE

    found = check(profile)

    assert sentence_of(found["version"]) == "The server does not say which version it is."
    assert sentence_of(found["parser-engines"]) == "Working: builtin, simple, markitdown."
    assert sentence_of(found["model"]) == "It is active: stub-256."


@pytest.mark.parametrize(("version", "part"), [("0.7.3", "It runs version 0.7.3."), ("0.9.0", "tested with 0.7.2")])
def test_another_version_is_said(profile: ProviderProfile, stub: WeKnoraStub, version: str, part: str) -> None:
    stub.world.keys[stub.key].rights = WIDE
    body = f'{{"code":0,"data":{{"version":"{version}"}},"msg":"success"}}'.encode()
    stub.misbehave(path="/system/info", reply=Reply(status=200, body=body))

    assert part in sentence_of(check(profile)["version"])


def _other_tenant(profile: ProviderProfile, stub: WeKnoraStub) -> None:
    profile.tenant_id = "7"


def _wrong_key(profile: ProviderProfile, stub: WeKnoraStub) -> None:
    profile.sealed_key = seal("sk-revoked")


def _narrow_key(profile: ProviderProfile, stub: WeKnoraStub) -> None:
    stub.world.keys[stub.key].rights = frozenset({"retrieve", "manage_kbs"})


def _listed_key(profile: ProviderProfile, stub: WeKnoraStub) -> None:
    stub.world.keys[stub.key].kb_ids = frozenset({"another"})


def _no_model(profile: ProviderProfile, stub: WeKnoraStub) -> None:
    stub.world.models.clear()


def _dead_model(profile: ProviderProfile, stub: WeKnoraStub) -> None:
    stub.model.behaviour = "down"


def _nobody(profile: ProviderProfile, stub: WeKnoraStub) -> None:
    profile.base_url = f"http://127.0.0.1:{free_port()}"


def _html(profile: ProviderProfile, stub: WeKnoraStub) -> None:
    stub.misbehave(times=999, reply=Reply(status=200, body=HTML, content_type="text/html"))


def _html_behind_the_door(profile: ProviderProfile, stub: WeKnoraStub) -> None:
    stub.misbehave(path="/system/capabilities", times=999, reply=Reply(status=200, body=HTML, content_type="text/html"))


def _truncated(profile: ProviderProfile, stub: WeKnoraStub) -> None:
    stub.misbehave(path="/system/capabilities", times=999, cut=True)


def _older_version(profile: ProviderProfile, stub: WeKnoraStub) -> None:
    stub.misbehave(path="/system/capabilities", times=999, reply=Reply(status=404, body=b"404 page not found"))


def _unreadable(profile: ProviderProfile, stub: WeKnoraStub) -> None:
    profile.sealed_key = "sealed elsewhere"


TRAPS: dict[Callable[[ProviderProfile, WeKnoraStub], None], tuple[str, str]] = {
    _wrong_key: ("key", "The server does not take the key"),
    _other_tenant: ("key", "The key belongs to another tenant"),
    _narrow_key: ("right-write", "The key lacks this right"),
    _listed_key: ("right-read", "limited to a list of knowledge bases"),
    _no_model: ("embedding", "does not know this embedding model"),
    _dead_model: ("embedding", "the embedding model behind it does not answer"),
    _nobody: ("reachable", "cannot be reached"),
    _html: ("reachable", "no JSON"),
    _html_behind_the_door: ("key", "no JSON"),
    _truncated: ("key", "JSON that breaks off"),
    _older_version: ("key", "another program or version"),
    _unreadable: ("connection", "sealed with another secret key"),
}


@pytest.mark.parametrize("trap", TRAPS, ids=[trap.__name__.strip("_") for trap in TRAPS])
def test_each_trap_is_one_clear_sentence(profile: ProviderProfile, stub: WeKnoraStub, trap: Any) -> None:
    name, part = TRAPS[trap]
    trap(profile, stub)
    profile.save()

    told = failed(profile)

    assert part in told[name]
    assert why_not(profile) == told[next(iter(told))]
    everything = f"{told} {profile.check_json} {AuditEntry.objects.values_list('facts', 'target')}"
    assert not [secret for secret in (stub.url, str(stub.port), stub.key, "10.0.0.9") if secret in everything]
    assert [kb.is_deleted for kb in stub.world.kbs.values() if not kb.is_deleted] == []


def test_every_sentence_is_said_in_chinese_too(profile: ProviderProfile) -> None:
    found = check(profile)

    with translation.override("zh-hans"):
        told = [f"{label_of(each)} {sentence_of(each)}" for each in found.values()]

    assert all(any("\u4e00" <= letter <= "\u9fff" for letter in text) for text in told)


def test_check_of_a_profile_that_was_changed_meanwhile_is_not_kept(profile: ProviderProfile, stub: WeKnoraStub) -> None:
    ProviderProfile.objects.get(pk=profile.pk).save()

    check(profile)

    assert (profile.checked_at, profile.check_json) == (None, {})


def test_server_is_asked_by_itself_now_and_then_and_never_more_often(
    profile: ProviderProfile, stub: WeKnoraStub
) -> None:
    kb = KnowledgeBaseFactory(provider=ProviderKind.WEKNORA, profile=profile)

    assert profile_checks.look(lambda: None) == 0
    profile.refresh_from_db()
    first, asked = profile.seen_at, len(stub.asked)
    assert (profile.seen_code, profile.checked_at, outage_of(kb)) == ("", None, None)
    stub.world.keys = {}
    assert profile_checks.look(lambda: None) == 0
    assert len(stub.asked) == asked, "asked again at once"
    ProviderProfile.objects.update(seen_at=timezone.now() - timedelta(minutes=11))

    assert profile_checks.look(lambda: None) == 1
    profile.refresh_from_db()
    assert profile.seen_code == "provider-auth"
    assert profile.seen_at > first
    outage = outage_of(kb)
    assert outage is not None
    assert outage.code == "provider-auth"
    assert not profile_checks.unseen().exists()


def test_look_at_a_profile_without_a_key_says_so_and_asks_nobody(profile: ProviderProfile, stub: WeKnoraStub) -> None:
    ProviderProfile.objects.update(sealed_key="")

    assert profile_checks.look(lambda: None) == 1

    profile.refresh_from_db()
    assert profile.seen_code == "key-missing"
    assert stub.asked == []
    assert sentence_of(seen_of(profile)) == "The profile has no API key."
