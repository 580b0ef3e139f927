"""What is sent for a document: prepared text or the original, a name the server takes, and our facts as strings."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from io import BytesIO
from typing import IO, Any

from knowledge.parsing.source_map import LINE_KINDS, ResourceKind
from knowledge.providers.base import IngestRequest, OriginalChanged
from knowledge.providers.originals import Original
from knowledge.providers.weknora.errors import TypeRefused
from knowledge.providers.weknora.prepare import RECIPE, prepare
from knowledge.providers.weknora.reader import process_config
from knowledge.providers.weknora.rows import OURS, DocumentRow, content_key

#: Names of our facts in the metadata of a document.
SHIFTS = "mnoteShifts"
TEXT_HASH = "mnoteTextHash"
#: What stands for the recipe where nothing was prepared.
AS_IT_IS = "original-1"

_NAME_BYTES = 180
_PATH_CHARACTERS = 1000
_BLOCK = 1024 * 1024
# The server refuses names that look like scripts, and takes slashes for folders.
_NOT_IN_NAMES = re.compile(r"[^\w .()\[\]{}+,;'&@#~-]|[\x00-\x1f]")
#: Files that the server reads, by the ends of their names. Plain text of any other name goes as txt.
# fmt: off
_READ_THERE = frozenset((
    "pdf", "docx", "doc", "xlsx", "xls", "pptx", "ppt", "html", "htm", "mhtml", "epub", "csv", "png", "jpg", "jpeg",
    "gif",
))
# fmt: on
_UTF8 = frozenset({"", "utf-8", "utf-8-sig", "ascii"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """One upload. `file_hash` is the MD5 by which the server knows a content, `text_hash` ours of the same bytes where
    they are not the original's. `process` is how an original is to be read, None for a text."""

    kb_id: str
    name: str
    file_type: str
    size: int
    open: Callable[[], AbstractContextManager[IO[bytes]]]
    file_hash: str
    text_hash: str
    metadata: dict[str, str]
    process: dict[str, Any] | None = None

    @property
    def content_key(self) -> str:
        return content_key(self.kb_id, self.file_hash, self.file_type)

    @property
    def is_original(self) -> bool:
        return not self.text_hash

    def is_in(self, row: DocumentRow) -> bool:
        """Say whether a document of the server holds this content."""
        return row.content_key == self.content_key


def pack(request: IngestRequest, vision_model_id: str = "") -> Parcel:
    """Return what to send for an ingest request. Raises TypeRefused, VisionMissing, OriginalChanged."""
    if request.original is not None and _is_readable(request):
        return _as_it_is(request, request.original, vision_model_id)
    prepared = prepare(request.source_map.text)
    body = prepared.text.encode()
    file_type = "md" if request.source_map.kind is ResourceKind.MARKDOWN else "txt"
    text_hash = "sha256:" + hashlib.sha256(body).hexdigest()
    facts = {TEXT_HASH: text_hash, OURS: RECIPE, SHIFTS: prepared.shifts.note()}
    return Parcel(
        kb_id=request.kb.provider_kb_id,
        name=server_name(request.display_name, file_type),
        file_type=file_type,
        size=len(body),
        open=lambda: nullcontext(BytesIO(body)),
        file_hash=hashlib.md5(body, usedforsecurity=False).hexdigest(),
        text_hash=text_hash,
        metadata=_metadata(request, facts),
    )


def server_name(name: str, file_type: str) -> str:
    """Return a name for the server. It stands in the text that is searched, so it stays as readable as can be.

    Its end decides how the server reads the bytes: everything that is no Markdown goes as plain text.
    """
    stem, dot, end = name.rpartition(".")
    base = stem if dot and end.lower() == file_type else name
    plain = _NOT_IN_NAMES.sub("_", _storable(base)).strip(" .") or "document"
    return f"{_cut(plain, _NAME_BYTES)}.{file_type}"


def _is_readable(request: IngestRequest) -> bool:
    """The server takes every text for UTF-8; one that is not goes as the text that we made of it."""
    encoding = str(request.source_map.meta.get("encoding", "")).lower()
    return request.source_map.kind not in LINE_KINDS or encoding in _UTF8


def _as_it_is(request: IngestRequest, original: Original, vision_model_id: str) -> Parcel:
    file_type = _type_there(request)
    process = process_config(request.kb.reading, file_type, vision_model_id)
    size, file_hash = _measured(original, request.source_hash)
    return Parcel(
        kb_id=request.kb.provider_kb_id,
        name=server_name(request.display_name, file_type),
        file_type=file_type,
        size=size,
        open=original.open,
        file_hash=file_hash,
        text_hash="",
        metadata=_metadata(request, {OURS: AS_IT_IS}),
        process=process,
    )


def _type_there(request: IngestRequest) -> str:
    """Return the end of the name by which the server chooses its reader. Raises TypeRefused."""
    if request.source_map.kind in LINE_KINDS:
        return "md" if request.source_map.kind is ResourceKind.MARKDOWN else "txt"
    end = request.display_name.rpartition(".")[2].lower()
    if end not in _READ_THERE:
        raise TypeRefused("the server does not read this type of file")
    return end


def _measured(original: Original, source_hash: str) -> tuple[int, str]:
    """Return size and MD5 of the file. Raises OriginalChanged where it is not the one that was asked for."""
    size, ours, theirs = 0, hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    with original.open() as file:
        while block := file.read(_BLOCK):
            size += len(block)
            ours.update(block)
            theirs.update(block)
    if f"sha256:{ours.hexdigest()}" != source_hash:
        raise OriginalChanged("the file is another one by now")
    return size, theirs.hexdigest()


def _metadata(request: IngestRequest, facts: dict[str, str]) -> dict[str, str]:
    whole = {
        **request.metadata,
        "documentId": request.document_id,
        "knowledgeBaseId": request.kb.kb_id,
        "workspaceId": request.kb.workspace_id,
        "sourceHash": request.source_hash,
        **facts,
    }
    return {name: _storable(value)[:_PATH_CHARACTERS] for name, value in whole.items()}


def _cut(text: str, at_most: int) -> str:
    return text.encode()[:at_most].decode(errors="ignore")


def _storable(text: str) -> str:
    """File names that are no UTF-8 come with escaped bytes, which cannot be sent."""
    return text.encode("utf-8", "replace").decode().replace("\x00", " ")
