"""Taking documents out of the server: asked for, waited for, and asked for again when it gave up."""

from __future__ import annotations

import time

from knowledge.providers.base import ProviderDeleting
from knowledge.providers.weknora.connection import Connection
from knowledge.providers.weknora.errors import NotThere
from knowledge.providers.weknora.rows import DocumentRow
from knowledge.providers.weknora.states import rows_by_id

_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 1.0


def delete(connection: Connection, row: DocumentRow) -> None:
    """Delete a document and see it gone. Raises ProviderDeleting when that takes longer than we wait.

    A server that was restarted in the middle brings the row back as failed, still found by search: asked again.
    """
    asked_for = None
    ends_at = time.monotonic() + connection.pace.gone
    pause = _FIRST_PAUSE
    current: DocumentRow | None = row
    while current is not None:
        if asked_for is None or current.status == "failed" != asked_for:
            asked_for = current.status
            if not _ask(connection, current):
                break
        if time.monotonic() >= ends_at:
            raise ProviderDeleting("the server has not finished the deletion", retry_after=connection.pace.again)
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
        current = rows_by_id(connection.client, [row.id]).get(row.id)
    connection.leave(row.content_key)


def _ask(connection: Connection, row: DocumentRow) -> bool:
    """Ask for the deletion; False when the document is gone already."""
    try:
        connection.client.delete_document(row.id)
    except NotThere:
        return False
    return True
