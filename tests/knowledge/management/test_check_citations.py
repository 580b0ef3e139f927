"""What `check_citations` refuses before it begins."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from knowledge.management.commands import check_citations


def test_a_folder_is_wanted(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="not a folder"):
        call_command("check_citations", str(tmp_path / "none"))


def test_only_a_server_reads_files_itself(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="--provider weknora"):
        call_command("check_citations", str(tmp_path), reader="provider")


def test_a_server_has_to_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in check_citations._CONNECTION.values():
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(CommandError, match="MNOTE_TEST_WEKNORA_URL"):
        call_command("check_citations", str(tmp_path), provider="weknora")
