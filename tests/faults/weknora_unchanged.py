"""What a sync of many unchanged documents, and of many that the server has in hand, asks a server.

By hand: python -m tests.faults.weknora_unchanged --documents 10000 --active 1000
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import uuid
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.faults.worlds import Template, World, embedded_world
from tests.stubs.weknora import WeKnoraStub, weknora_stub
from tests.stubs.weknora_work import passages_of
from tests.stubs.weknora_world import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Requests by what was done, and the seconds that it took."""

    documents: int
    active: int
    sync_seconds: float
    sync_uploads: int
    sync_requests: int
    follow_seconds: float
    follow_status_calls: int
    follow_uploads: int
    reconcile_seconds: float
    reconcile_requests: int


def measure(world: World, stub: WeKnoraStub, *, documents: int, active: int) -> Asked:
    """`documents` indexed ones in a folder, `active` of them with the server."""
    folder = world.folder.parent / "notes"
    for number in range(documents):
        path = folder / f"{number // 100:03}/note {number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Note {number}\n\nThe lantern{number:05}x burns.\n", encoding="utf-8")
    kb_id = world.ask("make_remote_kb", str(folder), stub.url, stub.key, stub.model.id)
    world.ask("look_now", kb_id)
    place = world.ask("believe_indexed", kb_id)
    for path, document_id in place["documents"].items():
        _put(stub, place["providerKbId"], document_id, (folder / path).read_bytes())
    seconds, sync = _counted(stub, world, "look_and_work", kb_id)
    world.ask("believe_active", kb_id, active)
    follow_seconds, follow = _counted(stub, world, "follow_once", kb_id)
    reconcile_seconds, level = _counted(stub, world, "remote_report", kb_id)
    return Asked(
        documents=documents,
        active=active,
        sync_seconds=seconds,
        sync_uploads=_number(sync, "POST", "/knowledge/file"),
        sync_requests=len(sync),
        follow_seconds=follow_seconds,
        follow_status_calls=_number(follow, "GET", "/knowledge/batch"),
        follow_uploads=_number(follow, "POST", "/knowledge/file"),
        reconcile_seconds=reconcile_seconds,
        reconcile_requests=len(level),
    )


def _put(stub: WeKnoraStub, kb_id: str, document_id: str, body: bytes) -> None:
    now = datetime.now(UTC)
    document = Document(
        id=document_id, kb_id=kb_id, tenant=1, name="note.md", folder="", file_type="md", body=body, channel="api",
        metadata={"mnoteRecipe": "1", "documentId": str(uuid.uuid4())}, created_at=now, updated_at=now,
        status="completed", enable_status="enabled", processed_at=now,
    )  # fmt: skip
    stub.world.documents[document_id] = document
    document.passages = passages_of(stub.world, document)


def _counted(stub: WeKnoraStub, world: World, *call: Any) -> tuple[float, list[tuple[str, str]]]:
    stub.asked.clear()
    began = time.monotonic()
    world.ask(*call)
    return round(time.monotonic() - began, 2), [(each.method, each.target) for each in stub.asked]


def _number(asked: list[tuple[str, str]], method: str, part: str) -> int:
    return sum(each_method == method and part in target for each_method, target in asked)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--active", type=int, default=1_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mnote-faults-", ignore_cleanup_errors=True) as folder:
        base = Path(folder)
        (base / "template").mkdir()
        template = Template.of_sqlite(base / "template")
        with embedded_world(base / "data", template) as world, weknora_stub("standard") as stub:
            asked = measure(world, stub, documents=given.documents, active=given.active)
    sys.stdout.write(json.dumps(asdict(asked), indent=1) + "\n")


if __name__ == "__main__":
    main()
