from __future__ import annotations

import uuid
from typing import Any

import pytest

from knowledge.providers.base import (
    KBRef,
    ProviderAuthError,
    ProviderError,
    ProviderKBId,
    ProviderKBUnusable,
    ProviderMisconfigured,
    ProviderRightsMissing,
)
from knowledge.providers.weknora.config import Pace, WeKnoraConfig
from knowledge.providers.weknora.errors import EmbedderUnavailable, KeyLimited, ModelMissing, OutOfScope
from knowledge.providers.weknora.kbs import kb_name
from tests.conformance.bench import Bench
from tests.knowledge.providers.weknora.desk import Desk, request
from tests.stubs.weknora import WeKnoraStub


def new_kb(**settings: Any) -> KBRef:
    return KBRef(
        kb_id="kb_1",
        workspace_id="ws_1",
        provider_kb_id=ProviderKBId(str(uuid.uuid4())),
        name="Garden notes",
        settings=settings,
    )


def test_ensure_kb_makes_it_under_our_id_flat_and_without_a_summary_model(desk: Desk, stub: WeKnoraStub) -> None:
    """T4: making one answers 201, and other calls 200. T26: no overlap is eighty, and no separator ends a sentence of
    Latin letters. T48: a model that writes summaries holds documents up."""
    kb = new_kb()

    desk.provider().ensure_kb(kb)

    body = stub.world.kbs[kb.provider_kb_id].body
    assert body["chunking_config"]["chunk_overlap"] == 80
    assert ". " in body["chunking_config"]["separators"]
    assert body["name"] == "mnote-ws_1-default"
    assert body["embedding_model_id"] == stub.model.id
    assert body["summary_model_id"] == ""
    assert body["chunking_config"]["enable_parent_child"] is False
    assert body["indexing_strategy"]["wiki_enabled"] is False


@pytest.mark.parametrize(
    ("purpose", "name"),
    [("", "mnote-ws_1-default"), ("Team Docs!", "mnote-ws_1-team-docs"), ("笔记", "mnote-ws_1-default")],
)
def test_kb_name_tells_workspace_and_purpose(purpose: str, name: str) -> None:
    assert kb_name(new_kb(purpose=purpose)) == name


def test_ensure_kb_by_two_workers_makes_one(desk: Desk, stub: WeKnoraStub) -> None:
    kb = new_kb()

    desk.provider().ensure_kb(kb)
    desk.provider().ensure_kb(kb)

    assert len(stub.world.kbs) == 1
    assert len(stub.calls("POST", "/knowledge-bases$")) == 1


def test_ensure_kb_whose_answer_was_lost_finds_it(desk: Desk, stub: WeKnoraStub) -> None:
    kb = new_kb()
    stub.misbehave(method="POST", path="/knowledge-bases$", lose=True)

    desk.provider().ensure_kb(kb)

    assert len(stub.world.kbs) == 1


def test_ensure_kb_with_the_id_of_a_deleted_one_asks_for_a_new_id(desk: Desk) -> None:
    """T50: a deleted id is taken for ever."""
    kb, provider = new_kb(), desk.provider()
    provider.ensure_kb(kb)
    provider.delete_kb(kb)

    with pytest.raises(ProviderKBUnusable) as told:
        provider.ensure_kb(kb)

    assert told.value.code == "provider-kb-unusable"
    provider.ensure_kb(new_kb())


def test_ensure_kb_with_the_key_of_another_tenant_makes_nothing_there(desk: Desk, stub: WeKnoraStub) -> None:
    """T33: only tenants keep people apart, so documents must not move from one to another by a key."""
    kb = new_kb()
    desk.provider().ensure_kb(kb)
    stub.world.kbs[kb.provider_kb_id].tenant = 2

    with pytest.raises(OutOfScope):
        desk.provider().ensure_kb(kb)

    assert len(stub.calls("POST", "/knowledge-bases$")) == 1


def test_ensure_kb_with_a_key_limited_to_a_list_mints_no_ids_for_ever(desk: Desk, stub: WeKnoraStub) -> None:
    """Such a key cannot see what it creates."""
    stub.world.keys[stub.key].kb_ids = frozenset({"another"})

    with pytest.raises(KeyLimited):
        desk.provider().ensure_kb(new_kb())

    assert stub.world.kbs == {}


def test_ensure_kb_without_a_model_that_exists_stops_before_the_first_upload(desk: Desk, stub: WeKnoraStub) -> None:
    """T2: uploads would be taken and never finished."""
    kb = new_kb()

    with pytest.raises(ModelMissing):
        desk.provider(embedding_model_id="00000000-0000-4000-8000-000000000009").ensure_kb(kb)

    assert stub.calls("POST", "/knowledge/file") == []


def test_ensure_kb_whose_model_was_taken_away_stops_before_the_first_upload(desk: Desk, stub: WeKnoraStub) -> None:
    """T2: a search of it succeeds and finds nothing, so only its settings tell."""
    kb = new_kb()
    desk.provider().ensure_kb(kb)
    stub.world.kbs[kb.provider_kb_id].body["embedding_model_id"] = ""

    with pytest.raises(ModelMissing):
        desk.provider().ensure_kb(kb)


def test_ensure_kb_without_any_model_makes_nothing(desk: Desk, stub: WeKnoraStub) -> None:
    with pytest.raises(ModelMissing):
        desk.provider(embedding_model_id="").ensure_kb(new_kb())

    assert stub.world.kbs == {}


@pytest.mark.parametrize("behaviour", ["500", "429", "401", "down"])
def test_ensure_kb_with_a_dead_embedder_stops_before_the_first_upload(
    desk: Desk, stub: WeKnoraStub, behaviour: str
) -> None:
    stub.model.behaviour = behaviour

    with pytest.raises(EmbedderUnavailable) as told:
        desk.provider().ensure_kb(new_kb())

    assert told.value.retryable


def test_ensure_kb_that_cuts_passages_twice_is_refused(desk: Desk, stub: WeKnoraStub) -> None:
    """T24: the offsets of such passages are wrong."""
    kb = new_kb()
    desk.provider().ensure_kb(kb)
    stub.world.kbs[kb.provider_kb_id].body["chunking_config"]["enable_parent_child"] = True

    with pytest.raises(ProviderMisconfigured):
        desk.provider().ensure_kb(kb)


def test_ensure_kb_of_a_known_one_asks_nothing(desk: Desk, stub: WeKnoraStub) -> None:
    kb, provider = new_kb(), desk.provider(pace=Pace())
    provider.ensure_kb(kb)
    before = len(stub.asked)

    provider.ensure_kb(kb)

    assert len(stub.asked) == before


def test_ensure_kb_asks_again_after_an_upload_found_it_gone(desk: Desk, stub: WeKnoraStub) -> None:
    kb, provider = new_kb(), desk.provider(pace=Pace())
    provider.ensure_kb(kb)
    stub.world.kbs[kb.provider_kb_id].is_deleted = True

    with pytest.raises(ProviderError):
        provider.ingest(request(kb))
    with pytest.raises(ProviderKBUnusable):
        provider.ensure_kb(kb)


@pytest.mark.parametrize("rights", [set(), {"retrieve"}, {"ingest"}])
def test_ensure_kb_with_a_right_missing_says_so(desk: Desk, stub: WeKnoraStub, rights: set[str]) -> None:
    stub.world.keys[stub.key].rights = frozenset(rights)

    with pytest.raises(ProviderRightsMissing):
        desk.provider().ensure_kb(new_kb())


def test_ensure_kb_with_a_wrong_key_says_so_once(desk: Desk, stub: WeKnoraStub) -> None:
    with pytest.raises(ProviderAuthError):
        desk.provider(key="sk-wrong").ensure_kb(new_kb())

    assert len(stub.asked) == 1


def test_platform_key_works_with_its_tenant_only(desk: Desk, stub: WeKnoraStub) -> None:
    """T62: with a wrong tenant the server calls the key itself invalid."""
    stub.world.keys[stub.key].tenant = 0

    desk.provider(tenant_id="1").ensure_kb(new_kb())
    with pytest.raises(ProviderMisconfigured):
        desk.provider().ensure_kb(new_kb())
    with pytest.raises(ProviderAuthError):
        desk.provider(tenant_id="7").ensure_kb(new_kb())


def test_delete_kb_with_documents_in_work_and_twice(desk: Desk, bench: Bench, stub: WeKnoraStub) -> None:
    kb = new_kb()
    bench.provider.ensure_kb(kb)
    bench.provider.ingest(request(kb))

    bench.provider.delete_kb(kb)
    bench.provider.delete_kb(kb)

    assert stub.world.documents == {}
    assert bench.provider.list_documents(kb) == []


@pytest.mark.parametrize("values", [{}, {"url": "http://x"}, {"key": "k"}, {"url": "ftp://x", "key": "k"}])
def test_config_without_address_or_key_is_refused(values: dict[str, str]) -> None:
    with pytest.raises(ProviderMisconfigured):
        WeKnoraConfig.of(values)


def test_config_takes_what_is_stored_and_hides_its_key() -> None:
    config = WeKnoraConfig.of({"url": "https://h/api/v1/", "key": "sk-secret", "later": 1})

    assert config.base_url == "https://h"
    assert "sk-secret" not in repr(config)
    assert config.server != "h"
