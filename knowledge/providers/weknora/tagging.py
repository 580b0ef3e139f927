"""Tags of documents at the server. Only which tags a document carries is replaced: a tag that is removed there by force
takes every document along that carries it, so none is ever removed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from knowledge.providers.base import KBRef, ProviderDocumentId, ProviderProtocolError, ProviderRejected
from knowledge.providers.weknora.client import MAX_PAGE
from knowledge.providers.weknora.connection import Connection
from knowledge.providers.weknora.states import rows_by_id

#: Knowledge bases of more tags than this many pages hold are not tagged.
_MOST_PAGES = 50


def set_tags(connection: Connection, kb: KBRef, tags: Mapping[ProviderDocumentId, Sequence[str]]) -> None:
    """Let each document carry these tags and no others; tags that the knowledge base lacks are made. One document that
    the server does not know would spoil the call for all, so those are left out."""
    kb_id = kb.provider_kb_id
    held = rows_by_id(connection.client, tags)
    wanted = {each: names for each, names in tags.items() if each in held and held[each].kb_id == kb_id}
    if not wanted:
        return
    ids = _ids(connection, kb_id, {name for names in wanted.values() for name in names})
    connection.client.put_tags(
        kb_id, {document: list(dict.fromkeys(ids[name] for name in names)) for document, names in wanted.items()}
    )


def _ids(connection: Connection, kb_id: str, names: Iterable[str]) -> dict[str, str]:
    """Return the id of each tag, made where there is none."""
    wanted = sorted(names)
    known = _known(connection, kb_id) if wanted else {}
    missing = [name for name in wanted if name not in known]
    for name in missing:
        _make(connection, kb_id, name)
    if missing:
        known = _known(connection, kb_id)
    if any(name not in known for name in wanted):
        raise ProviderProtocolError("the server keeps a tag under another name than it was given")
    return {name: known[name] for name in wanted}


def _make(connection: Connection, kb_id: str, name: str) -> None:
    """A refusal may mean that another worker was faster: whether the tag is there is looked up afterwards."""
    try:
        connection.client.create_tag(kb_id, name)
    except ProviderRejected:
        if name not in _known(connection, kb_id):
            raise


def _known(connection: Connection, kb_id: str) -> dict[str, str]:
    """Return the ids of the tags of a knowledge base by name."""
    found: dict[str, str] = {}
    for page in range(1, _MOST_PAGES + 1):
        tags = connection.client.tags(kb_id, page=page)
        for row in tags.rows:
            found.setdefault(row.name, row.id)
        if page * MAX_PAGE >= tags.total:
            return found
    raise ProviderProtocolError("the knowledge base has more tags than can be read")
