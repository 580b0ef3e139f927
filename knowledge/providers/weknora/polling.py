"""Asking how documents are doing: many at once, with their passages counted and stalls noticed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from knowledge.providers.base import DocumentPhase, DocumentState, KBRef, ProviderDocumentId
from knowledge.providers.weknora.client import MAX_PAGE
from knowledge.providers.weknora.connection import Connection
from knowledge.providers.weknora.errors import NotThere
from knowledge.providers.weknora.rows import DocumentRow
from knowledge.providers.weknora.states import (
    counted_state,
    gone,
    is_as_good_as_done,
    is_hopeless,
    is_silent,
    is_unseen,
    plain_state,
    rows_by_id,
    stalled,
    unseen,
)

#: Passages are counted for so many documents a call; the others come back without a count, to be asked for again.
COUNTS_A_CALL = 20
#: How often the pages of a list are read until they hold as many rows as there are.
_READINGS = 6
#: Traces read in one call for documents that show no sign of life.
TRACES_A_CALL = 10


def states(connection: Connection, kb: KBRef, ids: Sequence[ProviderDocumentId]) -> list[DocumentState]:
    """Return a state per id, in order."""
    rows = [row for row in rows_by_id(connection.client, ids).values() if row.kb_id == kb.provider_kb_id]
    connection.settle(rows)
    found = _states(connection, rows)
    return [found.get(each) or gone(each) for each in ids]


def all_states(connection: Connection, kb: KBRef) -> list[DocumentState]:
    """Return the states of all documents of a KB as their rows tell them, with their tags: only lists hold these.
    Passages are not counted."""
    try:
        rows = _all_rows(connection, kb)
    except NotThere:
        return []
    plain = [plain_state(row, now=connection.now, pace=connection.pace) for row in rows]
    return [replace(state, tags=row.tags) for state, row in zip(plain, rows, strict=True)]


def _states(connection: Connection, rows: Sequence[DocumentRow]) -> dict[str, DocumentState]:
    counts, traces = COUNTS_A_CALL, TRACES_A_CALL
    found: dict[str, DocumentState] = {}
    for row in rows:
        state = plain_state(row, now=connection.now, pace=connection.pace)
        is_known = connection.counter.known(row) is not None
        if (state.searchable or state.phase is DocumentPhase.DONE) and (is_known or counts > 0):
            counts -= not is_known
            state = _counted(connection, row, state)
        elif traces > 0 and is_silent(row, now=connection.now, pace=connection.pace):
            traces -= 1
            state = stalled(state) if is_hopeless(connection.client, row, connection.now, connection.pace) else state
        found[row.id] = state
    return found


def _counted(connection: Connection, row: DocumentRow, state: DocumentState) -> DocumentState:
    if is_as_good_as_done(row) and is_silent(row, now=connection.now, pace=connection.pace):
        state = replace(state, phase=DocumentPhase.DONE)
    counted = counted_state(state, connection.counter.count(row))
    is_empty = counted.phase is DocumentPhase.DONE and counted.chunk_count == 0
    return unseen(counted) if is_empty and is_unseen(connection.client, row) else counted


def _all_rows(connection: Connection, kb: KBRef) -> list[DocumentRow]:
    """Rows of equal times change places between two pages, so pages that together lack some are read again."""
    rows: dict[str, DocumentRow] = {}
    for _reading in range(_READINGS):
        if len(rows) >= _read_pages(connection, kb, rows):
            break
    _read_pages(connection, kb, rows, status="deleting")
    return list(rows.values())


def _read_pages(connection: Connection, kb: KBRef, rows: dict[str, DocumentRow], *, status: str = "") -> int:
    page, total = 0, 1
    while page * MAX_PAGE < total:
        page += 1
        found = connection.client.documents(kb.provider_kb_id, page=page, status=status)
        rows.update({row.id: row for row in found.rows})
        total = found.total
    return total
