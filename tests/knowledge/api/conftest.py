from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from tests.library import Library, make_library
from tests.people import People

FILES: Mapping[str, str] = {
    "guide/contracts.md": (
        "# Contracts\n\nA handbook for people who sign.\n\n## Termination\n\n"
        "Either party may end the contract with thirty days notice.\n\n"
        "Notice is given in writing.\n\nSee [the price list](../prices/list.csv).\n\n"
        "## Payment\n\nInvoices are due within fourteen days.\n"
    ),
    "guide/zh.md": "# 合同\n\n## 解除条件\n\n任何一方可以提前三十日书面通知解除合同。\n",
    "private/salary.md": "# Salaries\n\nThe salary of the director is paid on the last day of the month.\n",
    "prices/list.csv": "item,price\nanvil,120\nbellows,80\n",
    "notes.txt": "Remember the thirty days notice of the landlord.\n",
}


@pytest.fixture
def library(people: People) -> Library:
    return make_library(people, FILES)


def post(client: Client, url: str, body: Any, **headers: str) -> HttpResponse:
    return client.post(url, body, content_type="application/json", headers=headers)


def send(client: Client, method: str, url: str, body: Any = None, **headers: str) -> HttpResponse:
    """Call with a JSON body and headers given as keywords: If_Match is If-Match."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.generic(method, url, _json(body), content_type="application/json", headers=named)


def _json(body: Any) -> bytes:
    import json

    return b"" if body is None else json.dumps(body).encode()
