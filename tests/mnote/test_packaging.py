from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

_ROOT = Path(__file__).resolve().parent.parent.parent
_PACKAGING = _ROOT / "packaging"
#: Read by the compose file itself.
_OF_COMPOSE = {"MNOTE_SITE", "MNOTE_NOTES"}


def known_settings() -> set[str]:
    """Every variable the settings read, and the profile that chooses among them."""
    text = "".join(path.read_text() for path in (_ROOT / "mnote" / "settings").glob("*.py"))
    return set(re.findall(r'env_\w+\("(MNOTE_\w+)"', text)) | {"MNOTE_PROFILE"}


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml"])
def test_packaging_sets_only_variables_that_are_read(name: str) -> None:
    used = set(re.findall(r"\b(MNOTE_\w+)", (_PACKAGING / name).read_text()))

    assert {variable.removesuffix("_FILE") for variable in used} - _OF_COMPOSE - known_settings() == set()


def test_workers_of_compose_take_every_queue() -> None:
    services = yaml.safe_load((_PACKAGING / "compose.yaml").read_text())["services"]
    options = [option for service in services.values() for option in service.get("command", [])]
    taken = {option.removeprefix("--queues=") for option in options if option.startswith("--queues=")}

    assert taken == {"interactive", "bulk"}


def test_the_image_runs_as_one_account_without_rights() -> None:
    lines = (_PACKAGING / "Dockerfile").read_text().splitlines()
    last_stage = lines[max(number for number, line in enumerate(lines) if line.startswith("FROM ")) :]

    assert [line for line in last_stage if line.startswith("USER ")] == ["USER mnote"]
    assert not any("chown" in line for line in last_stage)
