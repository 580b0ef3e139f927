"""Passages as the server cut them, and where they stand in our text."""

from __future__ import annotations

from collections.abc import Mapping

from knowledge.mapping.converted import Converted
from knowledge.providers.base import Chunk, ChunkPage, SearchHit
from knowledge.providers.weknora.client import MAX_CHUNKS, Client
from knowledge.providers.weknora.conversion import put_together
from knowledge.providers.weknora.errors import TextTooLarge
from knowledge.providers.weknora.locate import fits, locate
from knowledge.providers.weknora.prepare import Shifts, prepare
from knowledge.providers.weknora.rows import ChunkRow, DocumentRow
from knowledge.providers.weknora.sending import SHIFTS

NOWHERE = (-1, -1)
#: A document of more passages than this is not read back.
_MOST_PAGES = 300


def page(client: Client, row: DocumentRow, *, offset: int, limit: int, ends: float) -> ChunkPage:
    """Return passages `offset` to `offset + limit`. The server gives pages of its own size, and ever slower ones."""
    rows: list[ChunkRow] = []
    at = offset // MAX_CHUNKS
    skip = offset - at * MAX_CHUNKS
    total = offset + limit
    while at * MAX_CHUNKS < min(offset + limit, total):
        at += 1
        found = client.chunks(row.id, page=at, ends=ends)
        rows += found.rows
        total = found.total
    wanted = rows[skip : skip + limit]
    return ChunkPage(chunks=tuple(chunk_of(each, row) for each in wanted), total=total)


def hinted(chunk: ChunkRow, metadata: Mapping[str, str]) -> tuple[int, int]:
    """Return the place in our text as far as the offsets alone tell it, NOWHERE where they do not."""
    shifts = Shifts.read(metadata.get(SHIFTS))
    if shifts is None or not fits(chunk.content, chunk.start, chunk.end):
        return NOWHERE
    return shifts.to_ours(chunk.start, chunk.end)


def proven(text: str, passage: SearchHit | Chunk) -> tuple[int, int] | None:
    """Return the place of a passage in our text, without blanks around it; None unless it stands there."""
    prepared = prepare(text)
    found = locate(prepared.text, passage.content, passage.provider_start, passage.provider_end)
    return None if found is None else prepared.shifts.to_ours(*found)


def converted(client: Client, row: DocumentRow) -> Converted:
    """Return the server's own reading of a document from all its passages. Raises TextTooLarge."""
    rows: list[ChunkRow] = []
    for at in range(1, _MOST_PAGES + 1):
        found = client.chunks(row.id, page=at)
        rows += found.rows
        if at * MAX_CHUNKS >= found.total:
            return put_together(rows, row.file_type)
    raise TextTooLarge("the document has more passages than are read back")


def chunk_of(row: ChunkRow, document: DocumentRow) -> Chunk:
    """Return a passage of a document in our words."""
    start, end = hinted(row, document.metadata)
    return Chunk(
        chunk_id=row.id,
        index=row.index,
        content=row.content,
        char_start=start,
        char_end=end,
        provider_start=row.start,
        provider_end=row.end,
    )
