from __future__ import annotations

from typing import Any

import pytest

from mnote.exceptions import Invalid
from pageai.models import ArtifactIndex, ArtifactKind, ArtifactProvider, OpenHubBinding
from pageai.services import artifacts, bindings, pages
from tests.people import People


@pytest.fixture
def binding(people: People) -> OpenHubBinding:
    (people.folder / "a.md").write_text("hello")
    page = pages.locate(principal=people.principal("alice"), root=people.root, path="a.md")
    return bindings.open_binding(principal=people.principal("alice"), page=page).binding


def record(binding: OpenHubBinding, payload: dict[str, Any]) -> ArtifactIndex:
    return artifacts.record(
        binding=binding,
        kind=ArtifactKind.CHANGED_FILE,
        provider=ArtifactProvider.OPENCODE,
        provider_id="prt_1",
        payload=payload,
        opens={"mnoteResourceId": "local-md:a.md"},
    )


def test_an_artifact_is_noted_once(binding: OpenHubBinding) -> None:
    record(binding, {"path": "a.md", "additions": 1})
    record(binding, {"path": "a.md", "additions": 2})

    row = ArtifactIndex.objects.get()
    assert (row.payload_json["additions"], row.mnote_resource_id) == (2, "local-md:a.md")


@pytest.mark.parametrize("payload", [{"Text": "what was said"}, {"diff": "x" * 9_000}])
def test_an_artifact_holds_no_message(binding: OpenHubBinding, payload: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        record(binding, payload)
    assert not ArtifactIndex.objects.exists()
