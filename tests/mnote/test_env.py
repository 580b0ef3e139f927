from __future__ import annotations

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from mnote.settings.env import env_secrets


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("sk-from-a-file\n", encoding="utf-8")
    monkeypatch.setenv("TEST_KEY_LIBRARY_FILE", str(tmp_path / "secret"))
    monkeypatch.setenv("TEST_KEY_LAB", "sk-plain")
    monkeypatch.setenv("TEST_KEYS", "something else")


def test_secrets_are_read_by_name_from_variables_and_files() -> None:
    assert env_secrets("TEST_KEY_") == {"LAB": "sk-plain", "LIBRARY": "sk-from-a-file"}


def test_secret_in_a_file_that_cannot_be_read_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY_OTHER_FILE", "/nowhere/secret")

    with pytest.raises(ImproperlyConfigured, match="TEST_KEY_OTHER_FILE"):
        env_secrets("TEST_KEY_")
