"""A form with one file as a stream of known length: the file goes through piece by piece."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import IO

from knowledge.providers.base import OriginalChanged

_BLOCK = 64 * 1024


class Multipart:
    """Fields, then the file. Read once. Field names are ours; values are sent as they are: they may hold anything."""

    def __init__(self, fields: Mapping[str, str], file: IO[bytes], *, size: int) -> None:
        self._boundary = f"mnote-{secrets.token_hex(16)}"
        parts = [self._part(f'name="{name}"', value.encode()) for name, value in fields.items()]
        head = self._part('name="file"; filename="document"\r\nContent-Type: application/octet-stream', b"")
        self._before = b"".join(parts) + head.removesuffix(b"\r\n")
        self._after = f"\r\n--{self._boundary}--\r\n".encode()
        self._file, self._left = file, size
        self._length = len(self._before) + size + len(self._after)

    @property
    def headers(self) -> dict[str, str]:
        return {"Content-Type": f"multipart/form-data; boundary={self._boundary}"}

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[bytes]:
        while block := self.read(_BLOCK):
            yield block

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, b"" at the end. Raises OriginalChanged where the file ends too early."""
        wanted = _BLOCK if size < 0 else size
        if self._before:
            block, self._before = self._before[:wanted], self._before[wanted:]
            return block
        if self._left:
            block = self._file.read(min(wanted, self._left))
            if not block:
                raise OriginalChanged("the file became shorter while it was sent")
            self._left -= len(block)
            return block
        block, self._after = self._after[:wanted], self._after[wanted:]
        return block

    def _part(self, disposition: str, content: bytes) -> bytes:
        return (
            f"--{self._boundary}\r\nContent-Disposition: form-data; {disposition}\r\n\r\n".encode() + content + b"\r\n"
        )
