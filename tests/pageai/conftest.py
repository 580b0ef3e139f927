from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.library import Library, make_library
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
