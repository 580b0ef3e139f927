"""From a content to one document at the server: never two for one content, and never more at once than it can take."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from knowledge.providers.base import (
    DocumentPhase,
    DocumentState,
    IngestOutcome,
    IngestRequest,
    OriginalChanged,
    ProviderDocumentId,
    ProviderError,
    ProviderProtocolError,
    ProviderUnavailable,
)
from knowledge.providers.weknora.connection import Connection
from knowledge.providers.weknora.deletion import delete
from knowledge.providers.weknora.errors import Clash, Duplicate, TextTooLarge
from knowledge.providers.weknora.failures import is_final
from knowledge.providers.weknora.prepare import has_words
from knowledge.providers.weknora.rows import OURS, OVERRIDES, DocumentRow, document_row
from knowledge.providers.weknora.sending import Parcel, pack
from knowledge.providers.weknora.states import is_hopeless, is_unseen, plain_state, rows_by_id


def ingest(connection: Connection, request: IngestRequest) -> IngestOutcome:
    """Send a content, or find it sent. The document is seldom done when this returns."""
    if request.original is None and not has_words(request.source_map.text):
        return IngestOutcome(state=_not_sent())
    config = connection.config
    parcel = pack(request, config.vision_model_id)
    if parcel.size > (config.max_original_bytes if parcel.is_original else config.max_text_bytes):
        raise TextTooLarge("it is larger than what we send to this server")
    with connection.turn(parcel.content_key):
        return _ingest(connection, parcel, request.known_id)


def _not_sent() -> DocumentState:
    return DocumentState(
        provider_document_id=ProviderDocumentId(""),
        phase=DocumentPhase.DONE,
        searchable=False,
        raw_status="not sent",
        chunk_count=0,
        error_code="no_text",
    )


def _ingest(connection: Connection, parcel: Parcel, known_id: str | None) -> IngestOutcome:
    known = rows_by_id(connection.client, [known_id or ""]).get(known_id or "")
    if known is None or not parcel.is_in(known):
        known = _failed_before(connection, parcel)
    if known is not None:
        resumed = _resume(connection, parcel, known)
        if resumed is not None:
            return _outcome(connection, parcel, resumed, duplicate=True)
    return _send(connection, parcel)


def _send(connection: Connection, parcel: Parcel) -> IngestOutcome:
    """Upload; a content that turns out to be there is taken up, and what cannot be is replaced once."""
    for is_last in (False, True):
        connection.enter(parcel.content_key)
        try:
            return _outcome(connection, parcel, _upload(connection, parcel), duplicate=False)
        except Duplicate as found:
            row = document_row(found.row)
            connection.settle([row])
            resumed = _resume(connection, parcel, row)
            if resumed is not None:
                return _outcome(connection, parcel, resumed, duplicate=True)
            if is_last:
                raise
        except ProviderError:
            connection.leave(parcel.content_key)
            raise
    raise AssertionError("unreachable")


def _upload(connection: Connection, parcel: Parcel) -> DocumentRow:
    """Raises Duplicate. An answer that was lost is looked for: the document may be there nevertheless."""
    try:
        with parcel.open() as file:
            row = connection.client.upload(
                parcel.kb_id, name=parcel.name, file=file, size=parcel.size, metadata=parcel.metadata,
                process=parcel.process,
            )  # fmt: skip
    except (ProviderUnavailable, ProviderProtocolError):
        found = _arrived(connection, parcel)
        if found is None:
            raise
        return found
    if not parcel.is_in(row):
        raise _stored_otherwise(connection, parcel, row)
    return row


def _stored_otherwise(connection: Connection, parcel: Parcel, row: DocumentRow) -> ProviderError:
    """A file that was written while it was sent is taken away again, and sent anew when it stands still."""
    if not parcel.is_original:
        return ProviderProtocolError("the server stored something else than was sent")
    with suppress(ProviderError):
        delete(connection, row)
    return OriginalChanged("the file was changed while it was sent")


def _arrived(connection: Connection, parcel: Parcel) -> DocumentRow | None:
    """Return the document of an upload without an answer; None where there is none, or no answer again."""
    try:
        page = connection.client.documents(parcel.kb_id, name_part=parcel.name)
    except ProviderError:
        return None
    return next((row for row in page.rows if parcel.is_in(row)), None)


def _failed_before(connection: Connection, parcel: Parcel) -> DocumentRow | None:
    """A failed document does not count as a duplicate at the server: sent again, there would be two."""
    page = connection.client.documents(parcel.kb_id, name_part=parcel.name, status="failed")
    return next((row for row in page.rows if parcel.is_in(row)), None)


def _resume(connection: Connection, parcel: Parcel, row: DocumentRow) -> DocumentRow | None:
    """Take up a document that holds the content, or clear it away and return None.

    Raises Clash for one that others put there to be processed otherwise, ProviderBusy when it is not our turn,
    ProviderDeleting while it goes.
    """
    if OVERRIDES in row.metadata and OURS not in row.metadata:
        raise Clash("somebody else put this content there, with settings of its own")
    if row.status in ("deleting", "cancelled") or _is_hopeless(connection, row):
        delete(connection, row)
        return None
    if row.status == "failed":
        is_over = is_final(row, now=connection.now, pace=connection.pace)
        return retry(connection, row, parcel.process) if is_over else row
    if row.status == "completed" and _is_lost(connection, row):
        return retry(connection, row, parcel.process)
    return row


def _is_lost(connection: Connection, row: DocumentRow) -> bool:
    """Say whether a document that is done lacks what another run may give."""
    counted = connection.counter.count(row)
    return not counted.total or (not counted.has_words and is_unseen(connection.client, row))


def _is_hopeless(connection: Connection, row: DocumentRow) -> bool:
    return is_hopeless(connection.client, row, connection.now, connection.pace)


def retry(connection: Connection, row: DocumentRow, process: Mapping[str, Any] | None) -> DocumentRow:
    """Have a document processed again that has come to an end, with `process` instead of what was said before. While
    another run lasts this would ruin it."""
    connection.enter(row.content_key)
    try:
        return connection.client.reparse(row.id, process=process)
    except ProviderError:
        connection.leave(row.content_key)
        raise


def _outcome(connection: Connection, parcel: Parcel, row: DocumentRow, *, duplicate: bool) -> IngestOutcome:
    connection.settle([row])
    state = plain_state(row, now=connection.now, pace=connection.pace)
    if row.status == "completed":
        counted = connection.counter.count(row)
        state = replace(state, chunk_count=counted.total, searchable=state.searchable and counted.has_words)
    return IngestOutcome(state=state, duplicate=duplicate, text_hash=parcel.text_hash)
