"""Originals and what a live server made of them: passages as it cut them, and where each stands in the original.

Generated documents, read by WeKnora 0.7.2 with its document reader. Nearly every paragraph, row and cell begins with a
marker, Q and four digits, by which the true places were written down while the documents were drawn.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from knowledge.parsing.base import ParseError, ParseInput
from knowledge.parsing.registry import parse_bytes
from knowledge.parsing.source_map import SourceMap
from knowledge.providers.weknora.rows import ChunkRow
from tests.stubs.weknora_world import World

_FOLDER = Path(__file__).parent / "data/weknora/documents"
_MARKER = re.compile(r"Q(?:[\s.]*\d){4}")


@dataclass(frozen=True, slots=True)
class Recorded:
    """One original. `passages` as recorded: index, start, end, type, content, markers, expect."""

    name: str
    passages: tuple[dict[str, Any], ...]

    @property
    def body(self) -> bytes:
        return (_FOLDER / self.name).read_bytes()

    @property
    def file_type(self) -> str:
        return self.name.rpartition(".")[2]

    def parsed(self) -> SourceMap | None:
        """Return our own source map, None where the file gives us no text."""
        return _parsed(self.name)

    def rows(self, *, blind: bool = False) -> list[ChunkRow]:
        """Return the passages as the client reads them; `blind` puts blanks in the place of the markers."""
        return [
            ChunkRow(
                id=f"chunk-{each['index']}",
                document_id=self.name,
                index=each["index"],
                type=each["type"],
                start=each["start"],
                end=each["end"],
                content=without_markers(each["content"]) if blind else each["content"],
            )
            for each in self.passages
        ]


@cache
def recorded() -> dict[str, Recorded]:
    """Return all recorded documents by name."""
    body = json.loads(gzip.decompress((_FOLDER / "recorded.json.gz").read_bytes()))
    return {name: Recorded(name, tuple(each["chunks"])) for name, each in body.items()}


def teach(world: World) -> None:
    """Let a stub read the originals as the live server did."""
    for each in recorded().values():
        digest = hashlib.md5(each.body, usedforsecurity=False).hexdigest()
        world.recorded[digest] = [(p["index"], p["start"], p["end"], p["content"], "") for p in each.passages]


def without_markers(text: str) -> str:
    return _MARKER.sub(lambda found: " " * len(found[0]), text)


@cache
def _parsed(name: str) -> SourceMap | None:
    each = recorded()[name]
    item = ParseInput(name=name, data=each.body, source_hash="sha256:" + hashlib.sha256(each.body).hexdigest())
    try:
        return parse_bytes(item)
    except ParseError:
        return None


def markers_in(text: str) -> list[str]:
    """Return the markers of a text in order, without what a reader put between their digits."""
    return ["".join(filter(str.isalnum, found)) for found in _MARKER.findall(text)]


@dataclass(frozen=True, slots=True)
class RecordedText:
    """A text file as it was sent, and its passages. `lines` of each: state, first and last line that hold anything."""

    name: str
    sent_name: str
    body: bytes
    rows: tuple[ChunkRow, ...]
    lines: tuple[tuple[str, int, int], ...]


@cache
def recorded_texts() -> dict[str, RecordedText]:
    """Return the recorded text files by name: Markdown, CSV, JSON and plain text, sent as they are."""
    body = json.loads(gzip.decompress((_FOLDER / "recorded-texts.json.gz").read_bytes()))
    return {name: _recorded_text(name, each) for name, each in body.items()}


def _recorded_text(name: str, given: dict[str, Any]) -> RecordedText:
    rows = tuple(
        ChunkRow(id=f"chunk-{index}", document_id=name, index=index, type="text", start=start, end=end, content=content)
        for index, start, end, content, *_lines in given["chunks"]
    )
    lines = tuple((state, first, last) for *_facts, state, first, last in given["chunks"])
    return RecordedText(name, given["sent"], base64.b64decode(given["input"]), rows, lines)
