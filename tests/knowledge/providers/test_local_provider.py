"""What the embedded provider keeps of a content, and how long."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from knowledge.parsing.source_map import Block, Place, ResourceKind, SourceMap
from knowledge.providers.base import IngestRequest, KBRef, ProviderDocumentId, ProviderKBId, ProviderRejected
from knowledge.providers.local.provider import LocalProvider
from tests.conformance.maps import markdown_map

NOTE = """# Trip

Intro with [a map](map.png) and [a page](other.md#top).

## Day one

We left early.

Then it rained.

## Day two

![Photo](img/sea.jpg)
"""
KB = KBRef(kb_id="kb", workspace_id="ws", provider_kb_id=ProviderKBId("kb"), name="kb")
OTHER = replace(KB, kb_id="other", provider_kb_id=ProviderKBId("other"))
PDF = SourceMap(
    provider="liteparse",
    model_version="1",
    kind=ResourceKind.PDF,
    source_hash="sha256:00",
    text="First line\nSecond line\nNext page",
    blocks=(
        Block(
            id="b1",
            type="paragraph",
            text="First line\nSecond line\nNext page",
            line_start=1,
            line_end=3,
            char_start=0,
            char_end=32,
        ),
    ),
    places=(
        Place(page=1, bbox=(10.0, 20.0, 100.0, 30.0)),
        Place(page=1, bbox=(12.0, 32.0, 120.0, 42.0)),
        Place(page=2, bbox=(10.0, 20.0, 90.0, 30.0)),
    ),
)


@pytest.fixture
def provider(tmp_path: Path) -> LocalProvider:
    return LocalProvider(tmp_path)


def add(
    provider: LocalProvider, source_map: SourceMap, kb: KBRef = KB, name: str = "note.md", **metadata: str
) -> ProviderDocumentId:
    request = IngestRequest(
        kb=kb,
        document_id="d",
        display_name=name,
        source_hash=source_map.source_hash,
        source_map=source_map,
        metadata=metadata,
    )
    return provider.ingest(request).state.provider_document_id


def block_ids(provider: LocalProvider, document: ProviderDocumentId, kb: KBRef = KB) -> list[str]:
    return [chunk.chunk_id for chunk in provider.chunks(kb, document, offset=0, limit=100).chunks]


def test_get_block_gives_its_text_and_place(provider: LocalProvider) -> None:
    document = add(provider, markdown_map(NOTE))
    block_id = block_ids(provider, document)[3]

    block = provider.get_block("ws", block_id)

    assert block is not None
    assert (block.resource_id, block.ordinal, block.type, block.text) == (document, 3, "paragraph", "We left early.")
    assert NOTE[block.char_start : block.char_end] == block.text
    assert NOTE.split("\n")[block.line_start - 1 : block.line_end] == ["We left early."]
    assert block.section_path == ("Trip", "Day one")
    assert block.locator == {"kind": "markdown", "start": {"line": 7}, "end": {"line": 7}}


def test_get_block_of_a_paged_file_gives_pages_and_boxes(provider: LocalProvider) -> None:
    (block_id,) = block_ids(provider, add(provider, PDF))

    block = provider.get_block("ws", block_id)

    assert block is not None
    assert (block.page_start, block.page_end) == (1, 2)
    assert block.boxes == ((1, (10.0, 20.0, 120.0, 42.0)), (2, (10.0, 20.0, 90.0, 30.0)))
    assert block.locator["end"] == {"page": 2, "bbox": [10.0, 20.0, 90.0, 30.0]}


def test_get_block_of_an_unknown_id_or_workspace_is_none(provider: LocalProvider) -> None:
    block_id = block_ids(provider, add(provider, markdown_map(NOTE)))[0]

    assert provider.get_block("ws", "ev_unknown") is None
    assert provider.get_block("other-ws", block_id) is None


def test_block_ids_stay_while_block_and_content_do(provider: LocalProvider) -> None:
    document = add(provider, markdown_map(NOTE))
    before = block_ids(provider, document)

    provider.delete_document(KB, document)
    add(provider, markdown_map(NOTE), OTHER, "elsewhere.md")

    assert block_ids(provider, document, OTHER) == before


def test_block_ids_differ_between_contents_and_parser_revisions(provider: LocalProvider) -> None:
    maps = [markdown_map(NOTE), markdown_map(NOTE + "\n"), markdown_map(NOTE, revision="test-2")]

    ids = [block_id for source_map in maps for block_id in block_ids(provider, add(provider, source_map))]

    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("before", "after", "expected"), [(1, 1, [2, 3, 4]), (0, 0, [3]), (99, 0, [0, 1, 2, 3]), (0, 99, [3, 4, 5, 6])]
)
def test_neighbours_stand_around_the_block(
    provider: LocalProvider, before: int, after: int, expected: list[int]
) -> None:
    block_id = block_ids(provider, add(provider, markdown_map(NOTE)))[3]

    found = provider.neighbours("ws", block_id, before=before, after=after)

    assert [block.ordinal for block in found] == expected


def test_neighbours_of_an_unknown_block_are_none(provider: LocalProvider) -> None:
    assert provider.neighbours("ws", "ev_unknown", before=1, after=1) == ()


def test_section_blocks_are_those_directly_in_the_section(provider: LocalProvider) -> None:
    block = provider.get_block("ws", block_ids(provider, add(provider, markdown_map(NOTE)))[3])

    assert block is not None
    assert block.section_id is not None
    assert [one.text for one in provider.section_blocks("ws", block.section_id)] == [
        "## Day one",
        "We left early.",
        "Then it rained.",
    ]


def test_edges_name_the_block_they_stand_in(provider: LocalProvider) -> None:
    document = add(provider, markdown_map(NOTE))
    ids = block_ids(provider, document)

    found = {edge.to_id: edge for edge in provider.edges("ws", [document])}

    assert {target: (edge.edge_type, edge.source_block_id) for target, edge in found.items()} == {
        "map.png": ("markdown_links_to", ids[1]),
        "other.md#top": ("markdown_links_to", ids[1]),
        "img/sea.jpg": ("resource_refers_to", ids[6]),
    }
    assert {edge.from_id for edge in found.values()} == {document}


def test_edges_to_find_links_with_and_without_a_fragment(provider: LocalProvider) -> None:
    document = add(provider, markdown_map(NOTE))

    assert [edge.to_id for edge in provider.edges_to("ws", ["other.md"])] == ["other.md#top"]
    assert [edge.from_id for edge in provider.edges_to("ws", ["map.png"])] == [document]
    assert provider.edges_to("ws", ["map.pn", "other"]) == ()


def test_edges_without_a_block_are_left_out(provider: LocalProvider) -> None:
    source_map = markdown_map(NOTE)
    lost = replace(source_map, links=tuple(replace(link, line=2) for link in source_map.links))

    assert provider.edges("ws", [add(provider, lost)]) == ()


def test_delete_from_the_last_knowledge_base_leaves_nothing(provider: LocalProvider) -> None:
    document = add(provider, markdown_map(NOTE))
    add(provider, markdown_map(NOTE), OTHER)
    block_id = block_ids(provider, document)[3]

    provider.delete_document(KB, document)
    assert provider.get_block("ws", block_id) is not None
    provider.delete_document(OTHER, document)

    assert provider.get_block("ws", block_id) is None
    assert provider.edges("ws", [document]) == ()
    assert provider.source_hashes("ws", [document]) == {}
    assert provider.status().facts["blocks"] == 0


def test_delete_kb_empties_one_with_many_documents(provider: LocalProvider) -> None:
    for number in range(120):
        add(provider, markdown_map(f"Leaf {number}.\n"))

    provider.delete_kb(KB)

    assert provider.list_documents(KB) == []
    assert provider.status().facts["documents"] == 0


def test_drop_workspace_leaves_the_others(provider: LocalProvider) -> None:
    elsewhere = replace(KB, workspace_id="other-ws")
    add(provider, markdown_map(NOTE))
    left = add(provider, markdown_map(NOTE), elsewhere)

    provider.drop_workspace("ws")
    provider.drop_workspace("ws")

    assert provider.list_documents(KB) == []
    assert [state.provider_document_id for state in provider.list_documents(elsewhere)] == [left]


def test_source_hashes_are_those_of_the_original(provider: LocalProvider) -> None:
    source_map = markdown_map(NOTE)
    document = add(provider, source_map)

    assert provider.source_hashes("ws", [document, "res_unknown"]) == {document: source_map.source_hash}


def test_ingest_of_an_empty_content_is_done_but_not_searchable(provider: LocalProvider) -> None:
    document = add(provider, markdown_map("\n"))

    (state,) = provider.document_status(KB, [document])

    assert (state.chunk_count, state.searchable) == (0, False)


def test_ingest_takes_file_names_that_are_no_text(provider: LocalProvider) -> None:
    document = add(provider, markdown_map(NOTE), name="caf\udce9.md", path="x/caf\udce9.md")

    assert [state.provider_document_id for state in provider.list_documents(KB)] == [document]


def test_ingest_refuses_text_that_is_not_unicode(provider: LocalProvider) -> None:
    text = "broken \udce9"
    block = Block(id="b1", type="paragraph", text=text, line_start=1, line_end=1, char_start=0, char_end=8)

    with pytest.raises(ProviderRejected):
        add(provider, replace(PDF, kind=ResourceKind.TEXT, text=text, blocks=(block,), places=()))

    assert provider.list_documents(KB) == []


def test_status_counts_what_is_held(provider: LocalProvider) -> None:
    add(provider, markdown_map(NOTE))
    add(provider, markdown_map(NOTE), OTHER)
    add(provider, PDF, replace(KB, workspace_id="other-ws"))

    status = provider.status()

    assert status.reachable
    assert {name: status.facts[name] for name in ("workspaces", "documents", "blocks", "rebuilding")} == {
        "workspaces": 2,
        "documents": 2,
        "blocks": 8,
        "rebuilding": 0,
    }
