from __future__ import annotations

from typing import Any

import pytest

from knowledge.providers.base import Check, CheckResult, KBRef
from tests.conformance.bench import Bench
from tests.engines import free_port
from tests.knowledge.providers.weknora.desk import Desk
from tests.stubs.weknora import WeKnoraStub
from tests.stubs.weknora_replies import Reply, failure

PASSED, FAILED, UNKNOWN, SKIPPED = CheckResult.PASSED, CheckResult.FAILED, CheckResult.UNKNOWN, CheckResult.SKIPPED
NAMES = [
    "reachable", "key", "right-read", "right-write", "right-manage", "version", "parser-engines", "model",
    "knowledge-base", "kb-model", "search",
]  # fmt: skip


def results(checks: tuple[Check, ...]) -> dict[str, CheckResult]:
    return {check.name: check.result for check in checks}


def codes(checks: tuple[Check, ...]) -> dict[str, str]:
    return {check.name: check.code for check in checks if check.code}


def test_check_with_the_recommended_key_passes_what_it_may_see(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T58: such a key sees neither version nor engines; that is said and no wider key asked for."""
    before = dict(stub.world.kbs)
    checks = bench.provider.check(kb)

    unseen = {"version", "parser-engines", "model"}
    assert [check.name for check in checks] == NAMES
    assert results(checks) == {name: UNKNOWN if name in unseen else PASSED for name in NAMES}
    assert codes(checks) == dict.fromkeys(unseen, "not-visible")
    assert stub.world.kbs == before


def test_check_with_a_wide_key_tells_more(desk: Desk, stub: WeKnoraStub) -> None:
    """T65: a build without a version says so by a word, and not by an error."""
    stub.world.keys[stub.key].rights |= {"manage_models", "manage_vector_stores"}

    facts = {check.name: check.facts for check in desk.provider().check()}

    assert facts["key"] == {"edition": "lite"}
    assert set(facts["version"]) == {"startedAt"}
    assert facts["parser-engines"]["engines"] == ["builtin", "simple", "markitdown"]
    known = {each["name"]: each["why_not"] for each in facts["parser-engines"]["all"]}
    assert (known["builtin"], known["mineru"]) == ("", "not-set-up")
    assert facts["model"] == {"model": "stub-256"}


def test_check_without_a_base_skips_what_is_about_one(bench: Bench) -> None:
    found = results(bench.provider.check())

    assert {name for name, result in found.items() if result is SKIPPED} == {"knowledge-base", "kb-model", "search"}


def test_check_of_nobody_says_where_it_ends(desk: Desk) -> None:
    checks = desk.provider(url=f"http://127.0.0.1:{free_port()}").check()

    assert codes(checks) == {"reachable": "provider-unavailable"}
    assert set(results(checks[1:]).values()) == {SKIPPED}


@pytest.mark.parametrize("body", [b"<html>hello</html>", b'{"status":"up"}', b"[]"])
def test_check_of_another_server_says_so(desk: Desk, stub: WeKnoraStub, body: bytes) -> None:
    stub.misbehave(path="/health", reply=Reply(status=200, body=body))

    assert codes(desk.provider().check()) == {"reachable": "provider-protocol"}


def test_check_of_a_wrong_key_says_so(desk: Desk) -> None:
    checks = desk.provider(key="sk-wrong").check()

    assert codes(checks) == {"key": "provider-auth"}
    assert results(checks)["reachable"] is PASSED


RIGHTS = {
    "retrieve": "right-read",
    "ingest": "right-write",
    "manage_kbs": "right-manage",
}


@pytest.mark.parametrize(("right", "name"), RIGHTS.items())
def test_check_names_the_right_that_is_missing(desk: Desk, stub: WeKnoraStub, right: str, name: str) -> None:
    """T58: a key cannot read its own rights; asking for what is not there tells. T36: a call that is not for keys is
    refused in the same words."""
    stub.world.keys[stub.key].rights = frozenset(RIGHTS) - {right}

    missing = {name: code for name, code in codes(desk.provider().check()).items() if name.startswith("right")}

    assert missing == {name: "provider-rights"}


def test_check_of_a_key_limited_to_a_list_says_so(desk: Desk, stub: WeKnoraStub) -> None:
    """T33: such a list isolates nothing, and such a key cannot see what it creates."""
    stub.world.keys[stub.key].kb_ids = frozenset({"another"})

    assert codes(desk.provider().check())["right-read"] == "provider-key-limited"


def test_check_of_a_model_that_is_gone_says_so(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    stub.world.kbs[kb.provider_kb_id].body["embedding_model_id"] = "00000000-0000-4000-8000-000000000009"

    checks = bench.provider.check(kb)

    assert codes(checks)["kb-model"] == "provider-model-missing"
    assert results(checks)["search"] is SKIPPED


@pytest.mark.parametrize("behaviour", ["500", "429", "401", "down"])
def test_check_of_an_embedder_that_fails_says_so(bench: Bench, kb: KBRef, stub: WeKnoraStub, behaviour: str) -> None:
    stub.model.behaviour = behaviour

    checks = bench.provider.check(kb)

    assert results(checks)["kb-model"] is PASSED
    assert codes(checks)["search"] == "provider-embedder"


@pytest.mark.parametrize("facts", [{"reset": True}, {"cut": True}, {"reply": failure(500, 1007, "panic")}])
def test_check_and_status_never_raise(bench: Bench, kb: KBRef, stub: WeKnoraStub, facts: dict[str, Any]) -> None:
    stub.misbehave(times=999, **facts)

    assert results(bench.provider.check(kb))["reachable"] is FAILED
    status = bench.provider.status()
    assert not status.reachable
    assert status.sentence
    assert status.facts["code"].startswith("provider-")


def test_status_tells_the_edition(bench: Bench) -> None:
    status = bench.provider.status()

    assert status.reachable
    assert status.facts == {"edition": "lite"}
