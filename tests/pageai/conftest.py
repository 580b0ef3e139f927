from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.library import Library, make_library
from tests.pageai.served import Seed, Served, make_seed, serve
from tests.people import People

FILES: Mapping[str, str] = {
    "guide/contracts.md": (
        "# Contracts\n\nA handbook for people who sign.\n\n## Termination\n\n"
        "Either party may end the contract with thirty days notice.\n\nNotice is given in writing.\n\n"
        "## Payment\n\nInvoices are due within fourteen days.\n"
    ),
    "guide/zh.md": "# 合同\n\n## 解除条件\n\n任何一方可以提前三十日书面通知解除合同。\n",
    "private/salary.md": "# Salaries\n\nThe salary of the director is paid on the last day of the month.\n",
    "notes.txt": "Remember the thirty days notice of the landlord.\n",
}


@pytest.fixture
def library(people: People) -> Library:
    return make_library(people, FILES)


@pytest.fixture(scope="session")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Seed:
    return make_seed(tmp_path_factory.mktemp("agents"))


@pytest.fixture(scope="module")
def running(seed: Seed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for the tests of a module that change nothing another one looks at."""
    with serve(seed, tmp_path_factory.mktemp("running") / "data") as served:
        yield served


@pytest.fixture
def served(seed: Seed, tmp_path: Path) -> Iterator[Served]:
    """A server of the test's own."""
    with serve(seed, tmp_path / "data") as served:
        yield served
