"""Tags of documents at the server: made where they are missing, replaced, cleared, and no document lost by them."""

from __future__ import annotations

import pytest

from knowledge.providers.base import KBRef, ProviderDocumentId, ProviderProtocolError, ProviderRightsMissing
from knowledge.providers.tags import TakesTags
from tests.conformance.bench import Bench
from tests.knowledge.providers.weknora.desk import NOTE, OTHER, Desk
from tests.stubs.weknora import WeKnoraStub
from tests.stubs.weknora_replies import Reply

NOTHING = Reply(status=200, body=b'{"data":{"total":0,"page":1,"page_size":1000,"data":[]},"success":true}')


def carried(stub: WeKnoraStub, document: str) -> set[str]:
    return stub.world.tag_names(stub.world.documents[document])


def tell(bench: Bench, kb: KBRef, **tags: list[str]) -> None:
    assert isinstance(bench.provider, TakesTags)
    bench.provider.set_tags(kb, {ProviderDocumentId(each): names for each, names in tags.items()})


def test_tags_are_made_once_and_replaced(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T45: an array of ids a document; the server refuses a single one."""
    one, other = bench.add(kb, NOTE), bench.add(kb, OTHER)

    tell(bench, kb, **{one: ["garden", "2026"], other: ["garden"]})
    tell(bench, kb, **{one: ["备份", "garden"], other: ["garden"]})

    assert (carried(stub, one), carried(stub, other)) == ({"备份", "garden"}, {"garden"})
    assert sorted(tag.name for tag in stub.world.tags.values()) == ["2026", "garden", "备份"]
    assert len(stub.calls("POST", "/tags$")) == 3


def test_no_tags_clear_the_document_and_leave_the_tag(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    document = bench.add(kb, NOTE)
    tell(bench, kb, **{document: ["garden"]})

    tell(bench, kb, **{document: []})

    assert carried(stub, document) == set()
    assert [tag.name for tag in stub.world.tags.values()] == ["garden"]


def test_whatever_happens_to_tags_no_document_is_lost(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T39: by force a tag is removed with every document that carries it."""
    documents = [bench.add(kb, text) for text in (NOTE, OTHER)]

    for names in (["a", "b"], ["b"], ["c"], []):
        tell(bench, kb, **dict.fromkeys(documents, names))

    assert set(stub.world.documents) == set(documents)
    assert stub.calls("DELETE", "") == []
    assert bench.found(kb, "tomatoes") == {documents[0]}


def test_tag_that_another_worker_makes_meanwhile_is_taken(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    document = bench.add(kb, NOTE)
    tell(bench, kb, **{document: ["garden"]})
    tell(bench, kb, **{document: []})
    stub.misbehave(method="GET", path="/tags", reply=NOTHING)

    tell(bench, kb, **{document: ["garden"]})

    assert carried(stub, document) == {"garden"}
    assert len(stub.world.tags) == 1


def test_documents_that_are_gone_or_elsewhere_spoil_nothing(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T9: one unknown id makes the server refuse the whole call."""
    document, elsewhere = bench.add(kb, NOTE), bench.add(bench.kb("other"), OTHER)

    tell(bench, kb, **{document: ["garden"], elsewhere: ["garden"], "nothing": ["garden"]})
    tell(bench, kb, nothing=["never"])

    assert (carried(stub, document), carried(stub, elsewhere)) == ({"garden"}, set())
    assert [tag.name for tag in stub.world.tags.values()] == ["garden"]


def test_tags_are_found_beyond_the_first_page(bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    """T16: a page holds a thousand at most."""
    document = bench.add(kb, NOTE)
    tell(bench, kb, **{document: [f"tag {number}" for number in range(1_005)]})
    before = len(stub.calls("POST", "/tags$"))

    tell(bench, kb, **{document: ["tag 0", "tag 1004"]})

    assert len(stub.calls("POST", "/tags$")) == before == 1_005
    assert carried(stub, document) == {"tag 0", "tag 1004"}


def test_tag_that_the_server_keeps_under_another_name_is_not_guessed(
    bench: Bench, kb: KBRef, stub: WeKnoraStub
) -> None:
    document = bench.add(kb, NOTE)
    stub.misbehave(method="GET", path="/tags", times=9, reply=NOTHING)

    with pytest.raises(ProviderProtocolError):
        tell(bench, kb, **{document: ["garden"]})

    assert carried(stub, document) == set()


def test_key_without_the_right_is_told_so(desk: Desk, bench: Bench, kb: KBRef, stub: WeKnoraStub) -> None:
    document = bench.add(kb, NOTE)
    stub.world.keys[stub.key].rights = frozenset({"retrieve"})

    with pytest.raises(ProviderRightsMissing):
        tell(bench, kb, **{document: ["garden"]})


def test_list_of_documents_says_their_tags_and_a_look_at_one_does_not(bench: Bench, kb: KBRef) -> None:
    """T17: batches leave tags out."""
    document = bench.add(kb, NOTE)
    tell(bench, kb, **{document: ["garden"]})

    (listed,) = bench.provider.list_documents(kb)
    (looked_at,) = bench.provider.document_status(kb, [document])

    assert (listed.tags, looked_at.tags) == ({"garden"}, None)
