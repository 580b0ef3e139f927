from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from knowledge.providers.base import ProviderMisconfigured
from knowledge.providers.registry import connected_provider, provider_for
from tests.stubs.weknora import weknora_stub

CONNECTION = {"url": "https://index.invalid", "key": "sk-secret", "embedding_model_id": "m"}


def test_connected_provider_is_one_per_connection(data_dir: Path, settings: Any) -> None:
    settings.MNOTE_DATA_DIR = data_dir
    first, again = (connected_provider("weknora", dict(CONNECTION)) for _ in range(2))
    other = connected_provider("weknora", CONNECTION | {"key": "sk-other"})

    assert first is again
    assert first is not other
    assert first.kind == "weknora"
    assert first.capabilities.needs_polling


def test_connected_provider_asks_the_server_it_was_given(data_dir: Path, settings: Any) -> None:
    settings.MNOTE_DATA_DIR = data_dir
    with weknora_stub() as stub:
        connection = {"url": stub.url, "key": stub.key, "embedding_model_id": stub.model.id}

        assert connected_provider("weknora", connection).status().reachable


@pytest.mark.parametrize(
    ("kind", "connection"), [("local", CONNECTION), ("other", CONNECTION), ("weknora", {}), ("weknora", {"url": "x"})]
)
def test_connected_provider_refuses_what_is_no_connection(kind: str, connection: dict[str, str]) -> None:
    with pytest.raises(ProviderMisconfigured) as told:
        connected_provider(kind, connection)

    assert "sk-secret" not in str(told.value)


def test_provider_for_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ProviderMisconfigured):
        provider_for("nothing")
