"""What is sent for a document: prepared text, a name the server takes, and our facts as strings."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from knowledge.parsing.source_map import ResourceKind
from knowledge.providers.base import IngestRequest
from knowledge.providers.weknora.prepare import RECIPE, prepare
from knowledge.providers.weknora.rows import OURS, DocumentRow, content_key

#: Names of our facts in the metadata of a document.
SHIFTS = "mnoteShifts"
TEXT_HASH = "mnoteTextHash"
#: The server keeps the settings of a document here, once any were sent; they beat those of the knowledge base.
OVERRIDES = "process_overrides"

_NAME_BYTES = 180
_PATH_CHARACTERS = 1000
# The server refuses names that look like scripts, and takes slashes for folders.
_NOT_IN_NAMES = re.compile(r"[^\w .()\[\]{}+,;'&@#~-]|[\x00-\x1f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """One upload. `file_hash` is the MD5 by which the server knows a content, `text_hash` ours of the same bytes."""

    kb_id: str
    name: str
    file_type: str
    body: bytes
    file_hash: str
    text_hash: str
    metadata: dict[str, str]

    @property
    def content_key(self) -> str:
        return content_key(self.kb_id, self.file_hash, self.file_type)

    def is_in(self, row: DocumentRow) -> bool:
        """Say whether a document of the server holds this content."""
        return row.content_key == self.content_key


def pack(request: IngestRequest) -> Parcel:
    """Return what to send for an ingest request."""
    prepared = prepare(request.source_map.text)
    body = prepared.text.encode()
    file_type = "md" if request.source_map.kind is ResourceKind.MARKDOWN else "txt"
    text_hash = "sha256:" + hashlib.sha256(body).hexdigest()
    facts = {
        **request.metadata,
        "documentId": request.document_id,
        "knowledgeBaseId": request.kb.kb_id,
        "workspaceId": request.kb.workspace_id,
        "sourceHash": request.source_hash,
        TEXT_HASH: text_hash,
        OURS: RECIPE,
        SHIFTS: prepared.shifts.note(),
    }
    return Parcel(
        kb_id=request.kb.provider_kb_id,
        name=server_name(request.display_name, file_type),
        file_type=file_type,
        body=body,
        file_hash=hashlib.md5(body, usedforsecurity=False).hexdigest(),
        text_hash=text_hash,
        metadata={name: _storable(value)[:_PATH_CHARACTERS] for name, value in facts.items()},
    )


def server_name(name: str, file_type: str) -> str:
    """Return a name for the server. It stands in the text that is searched, so it stays as readable as can be.

    Its end decides how the server reads the bytes: everything that is no Markdown goes as plain text.
    """
    stem, dot, end = name.rpartition(".")
    base = stem if dot and end.lower() == file_type else name
    plain = _NOT_IN_NAMES.sub("_", _storable(base)).strip(" .") or "document"
    return f"{_cut(plain, _NAME_BYTES)}.{file_type}"


def _cut(text: str, at_most: int) -> str:
    return text.encode()[:at_most].decode(errors="ignore")


def _storable(text: str) -> str:
    """File names that are no UTF-8 come with escaped bytes, which cannot be sent."""
    return text.encode("utf-8", "replace").decode().replace("\x00", " ")
