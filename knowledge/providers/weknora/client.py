"""The calls of the server that we use, one small method each, named after what they do."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Generic, TypeVar
from urllib.parse import quote

from knowledge.providers.base import ProviderProtocolError
from knowledge.providers.weknora import transport
from knowledge.providers.weknora.multipart import Multipart
from knowledge.providers.weknora.rows import (
    PICTURES,
    ChunkRow,
    DocumentRow,
    HitRow,
    KBRow,
    TagRow,
    TraceRow,
    chunk_row,
    document_row,
    hit_row,
    kb_row,
    tag_row,
    trace_row,
)
from knowledge.providers.weknora.transport import Transport

Row = TypeVar("Row")

_API = "/api/v1"
#: An id that no row has, for asking what a key may do.
NOBODY = "00000000-0000-4000-8000-000000000000"
#: Longer lists of ids make addresses that servers and proxies refuse.
MAX_IDS = 100
MAX_PAGE = 1000
MAX_CHUNKS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Row]):
    """Rows, and how many there are in all."""

    rows: tuple[Row, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One search of one knowledge base. `document_ids` empty narrows nothing; `ends` is in monotonic seconds."""

    text: str
    count: int
    document_ids: Sequence[str] = ()
    vector_threshold: float = 0.0
    without_vectors: bool = False
    ends: float | None = None


class Client:
    """Typed calls. Each may raise ProviderError. `ends`, in monotonic seconds, bounds a call somebody waits for."""

    def __init__(self, line: Transport) -> None:
        self._line = line

    # system

    def health(self) -> None:
        body = self._line.call("GET", "/health", timeouts=transport.STATUS)
        if not isinstance(body, dict) or body.get("status") != "ok":
            raise ProviderProtocolError("what answers at this address is no such server")

    def capabilities(self) -> dict[str, Any]:
        """Works with any valid key; names the edition."""
        return _object(self._line.call("GET", f"{_API}/system/capabilities", timeouts=transport.STATUS))

    def system_info(self) -> dict[str, Any]:
        return _object(self._line.call("GET", f"{_API}/system/info", timeouts=transport.STATUS))

    def parser_engines(self) -> dict[str, Any]:
        body = self._line.call("GET", f"{_API}/system/parser-engines", timeouts=transport.STATUS)
        if not isinstance(body, dict) or not isinstance(body.get("data"), list):
            raise ProviderProtocolError("the server gave no parser engines where they belong")
        return body

    def model(self, model_id: str) -> dict[str, Any]:
        return _object(self._line.call("GET", f"{_API}/models/{model_id}", timeouts=transport.STATUS))

    # knowledge bases

    def kb(self, kb_id: str) -> KBRow:
        return kb_row(_data(self._line.call("GET", f"{_API}/knowledge-bases/{kb_id}")))

    def create_kb(self, body: Mapping[str, Any]) -> KBRow:
        return kb_row(_data(self._line.call("POST", f"{_API}/knowledge-bases", json=dict(body))))

    def rename_kb(self, kb_id: str, name: str) -> None:
        """Only for asking whether the key may: it clears the description."""
        self._line.call("PUT", f"{_API}/knowledge-bases/{kb_id}", json={"name": name})

    def change_rules(self, row: KBRow, rules: Sequence[Mapping[str, Any]]) -> KBRow:
        """Have files read by other engines. The server empties whatever does not go along, so the rest goes back as it
        came."""
        config = {
            "chunking_config": {**row.chunking, "parser_engine_rules": [dict(rule) for rule in rules]},
            "image_processing_config": dict(row.images),
        }
        body = {"name": row.name, "description": row.description, "config": config}
        return kb_row(_data(self._line.call("PUT", f"{_API}/knowledge-bases/{row.id}", json=body)))

    def delete_kb(self, kb_id: str) -> None:
        self._line.call("DELETE", f"{_API}/knowledge-bases/{kb_id}")

    def kb_config(self, kb_id: str) -> dict[str, Any]:
        return _object(self._line.call("GET", f"{_API}/initialization/config/{kb_id}", timeouts=transport.STATUS))

    # documents

    def upload(
        self,
        kb_id: str,
        *,
        name: str,
        file: IO[bytes],
        size: int,
        metadata: Mapping[str, str],
        process: Mapping[str, Any] | None = None,
    ) -> DocumentRow:
        """Send a file of this size as a stream. Raises Duplicate for bytes that are there. Not repeated: the answer may
        be lost and the document not."""
        fields = {"fileName": name, "metadata": json.dumps(dict(metadata)), "channel": "api"}
        if process is not None:
            fields["process_config"] = json.dumps(dict(process))
        form = Multipart(fields, file, size=size)
        answer = self._line.call(
            "POST",
            f"{_API}/knowledge-bases/{kb_id}/knowledge/file",
            timeouts=transport.UPLOAD,
            body=form,
            headers=form.headers,
        )
        return document_row(_data(answer))

    def upload_nothing(self, kb_id: str) -> None:
        """Only for asking whether the key may."""
        self._line.call("POST", f"{_API}/knowledge-bases/{kb_id}/knowledge/file", timeouts=transport.STATUS)

    def documents(
        self, kb_id: str, *, page: int = 1, size: int = MAX_PAGE, status: str = "", name_part: str = ""
    ) -> Page[DocumentRow]:
        """A page of documents, newest first; rows that are being deleted come only when asked for by `status`."""
        wanted = {"page": page, "page_size": size, "parse_status": status, "keyword": name_part}
        params = {name: value for name, value in wanted.items() if value}
        body = self._line.call("GET", f"{_API}/knowledge-bases/{kb_id}/knowledge", params=params)
        return _page(body, document_row)

    def documents_by_id(self, ids: Sequence[str], *, ends: float | None = None) -> list[DocumentRow]:
        """The documents that exist among up to MAX_IDS ids, in any order."""
        rows = _data(self._line.call("GET", f"{_API}/knowledge/batch", params={"ids": list(ids)}, ends=ends))
        return [document_row(row) for row in _list(rows)]

    def trace(self, document_id: str, *, ends: float | None = None) -> TraceRow:
        return trace_row(_data(self._line.call("GET", f"{_API}/knowledge/{document_id}/spans", ends=ends)))

    def reparse(self, document_id: str, *, process: Mapping[str, Any] | None = None) -> DocumentRow:
        """An empty body of no known length is refused, so an empty object goes along. What was said of processing
        before stays unless it is said anew."""
        body = {} if process is None else {"process_config": dict(process)}
        return document_row(_data(self._line.call("POST", f"{_API}/knowledge/{document_id}/reparse", json=body)))

    def cancel(self, document_id: str) -> None:
        self._line.call("POST", f"{_API}/knowledge/{document_id}/cancel-parse", json={}, repeat=True)

    def delete_document(self, document_id: str) -> None:
        """The server takes it and works on it later."""
        self._line.call("DELETE", f"{_API}/knowledge/{document_id}")

    # tags; there is no call that removes one, and none that documents wait for as long as for others

    def tags(self, kb_id: str, *, page: int = 1) -> Page[TagRow]:
        """A page of MAX_PAGE tags; unlike others it lies inside the data."""
        params = {"page": page, "page_size": MAX_PAGE}
        body = self._line.call("GET", f"{_API}/knowledge-bases/{kb_id}/tags", timeouts=transport.STATUS, params=params)
        return _page(_object(body), tag_row)

    def create_tag(self, kb_id: str, name: str) -> None:
        """Raises ProviderRejected for a name that there is."""
        path = f"{_API}/knowledge-bases/{kb_id}/tags"
        self._line.call("POST", path, timeouts=transport.STATUS, json={"name": name})

    def put_tags(self, kb_id: str, tags: Mapping[str, Sequence[str]]) -> None:
        """Replace the tags of documents, ids by ids. The server takes all or, for one unknown id, none."""
        updates = {document: list(ids) for document, ids in tags.items()}
        body = {"updates": updates, "kb_id": kb_id}
        self._line.call("PUT", f"{_API}/knowledge/tags", timeouts=transport.STATUS, json=body)

    # passages

    def chunks(
        self, document_id: str, *, page: int = 1, size: int = MAX_CHUNKS, ends: float | None = None
    ) -> Page[ChunkRow]:
        params = {"page": page, "page_size": size, "chunk_type": ["text", *sorted(PICTURES)]}
        return _page(self._line.call("GET", f"{_API}/chunks/{document_id}", params=params, ends=ends), chunk_row)

    def chunk(self, chunk_id: str, *, ends: float | None = None) -> ChunkRow:
        """Raises NotThere."""
        path = f"{_API}/chunks/by-id/{quote(chunk_id, safe='')}"
        return chunk_row(_data(self._line.call("GET", path, ends=ends)))

    def search(self, kb_id: str, query: Query) -> list[HitRow]:
        """The best passages without their neighbours."""
        body: dict[str, Any] = {
            "query_text": query.text,
            "match_count": query.count,
            "vector_threshold": query.vector_threshold,
            "skip_context_enrichment": True,
        }
        if query.document_ids:
            body["knowledge_ids"] = list(query.document_ids)
        if query.without_vectors:
            body["disable_vector_match"] = True
        path = f"{_API}/knowledge-bases/{kb_id}/hybrid-search"
        answer = self._line.call("POST", path, timeouts=transport.SEARCH, repeat=True, ends=query.ends, json=body)
        return [hit_row(row) for row in _list(_data(answer))]


def _data(body: Any) -> Any:
    """Take the content out of its envelope. Raises ProviderProtocolError for what is none."""
    if not isinstance(body, dict) or "data" not in body or body.get("success") is False or body.get("code"):
        raise ProviderProtocolError("the server answered in an unknown shape")
    return body["data"]


def _object(body: Any) -> dict[str, Any]:
    data = _data(body)
    if not isinstance(data, dict):
        raise ProviderProtocolError("the server answered in an unknown shape")
    return data


def _list(data: Any) -> list[Any]:
    """Nothing found comes as null or as an empty list."""
    if data is not None and not isinstance(data, list):
        raise ProviderProtocolError("the server gave no list where one belongs")
    return data or []


def _page(body: Any, read: Callable[[Any], Row]) -> Page[Row]:
    rows = tuple(read(row) for row in _list(_data(body)))
    total = body.get("total")
    return Page(rows=rows, total=total if isinstance(total, int) else len(rows))
