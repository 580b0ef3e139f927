from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pageai.checks import agents_file


def given(path: Path, settings: Any, content: str) -> None:
    path.write_text(content)
    settings.MNOTE_AGENTS_FILE = path


def test_without_a_file_there_is_nothing_to_check() -> None:
    assert agents_file() == []


@pytest.mark.parametrize(
    "content",
    [
        "{",
        json.dumps([{"agentId": "openhub", "provider": "x"}]),
        json.dumps([{"agentId": "a b", "provider": "x"}]),
        json.dumps([{"agentId": "a"}]),
        json.dumps([{"agentId": "a", "provider": "x", "fields": [{"key": "ai.agent.b.c", "kind": "string"}]}]),
        json.dumps([1]),
    ],
)
def test_a_file_of_agents_that_cannot_be_used_stops_the_start(tmp_path: Path, settings: Any, content: str) -> None:
    given(tmp_path / "agents.json", settings, content)

    assert [error.id for error in agents_file()] == ["pageai.E001"]


def test_a_file_that_is_not_there_stops_the_start(tmp_path: Path, settings: Any) -> None:
    settings.MNOTE_AGENTS_FILE = tmp_path / "none.json"

    assert [error.id for error in agents_file()] == ["pageai.E001"]


def test_a_good_file_passes(tmp_path: Path, settings: Any) -> None:
    given(tmp_path / "agents.json", settings, json.dumps([{"agentId": "hermes", "provider": "acp_hermes"}]))

    assert agents_file() == []
