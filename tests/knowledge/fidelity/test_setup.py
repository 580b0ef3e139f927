"""Bringing a knowledge base level without a worker."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from knowledge.models import Reader
from knowledge.services import fidelity_setup, following
from tests.stubs.weknora import WeKnoraStub, weknora_stub
from tests.weknora_documents import recorded, teach


@pytest.mark.django_db(transaction=True)
def test_file_that_the_server_tries_again_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_SHORT", 0.0)  # no turn waits for the next look by itself
    (tmp_path / "report.docx").write_bytes(recorded()["report.docx"].body)
    with weknora_stub() as stub:
        teach(stub.world)
        stub.world.plans.append(["processing", *["flap"] * 3, "processing", "completed"])
        ready = fidelity_setup.prepare(folder=os.fsencode(tmp_path), connection=_way(stub), reader=Reader.PROVIDER)

        fidelity_setup.level(ready.kb)

    assert [row.index_status for row in ready.kb.documents.all()] == ["indexed"]


def _way(stub: WeKnoraStub) -> dict[str, str]:
    return {"url": stub.url, "key": stub.key, "model": stub.model.id}
