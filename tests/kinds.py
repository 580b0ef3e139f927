"""Job kinds that exist for one test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mnote import job_kinds
from mnote.job_kinds import Handler


@contextmanager
def handled_by(handler: Handler, name: str = "test.kind", **options: Any) -> Iterator[str]:
    """Register `handler` for the kind, and forget it afterwards."""
    job_kinds.job(name, **options)(handler)
    try:
        yield name
    finally:
        del job_kinds._kinds[name]
