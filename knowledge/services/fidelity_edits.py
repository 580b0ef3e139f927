"""Changing a scratch copy of a folder the way people do, and what has to be told of each old citation afterwards."""

from __future__ import annotations

from pathlib import Path

from knowledge.models import Document
from knowledge.parsing.source_map import LINE_KINDS, ResourceKind
from knowledge.services.fidelity import Sample
from mnote.files.names import path_to_bytes

_ACTIONS = ("insert above", "rewrite", "rename", "delete", "leave")


def edit(folder: bytes, samples: list[Sample]) -> dict[str, set[str]]:
    """Change the files of `samples` below `folder`, a copy that is ours. Returns the truths that may be told of each
    document: a passage may stand in another file with the same bytes, so a deleted or renamed one may also be moved."""
    expected: dict[str, set[str]] = {}
    by_document: dict[str, list[Sample]] = {}
    for sample in samples:
        if sample.token:
            by_document.setdefault(sample.document.id, []).append(sample)
    for number, group in enumerate(by_document.values()):
        document = group[0].document
        action = _ACTIONS[number % len(_ACTIONS)]
        expected[document.id] = _apply(folder, document, action)
    return expected


def _apply(folder: bytes, document: Document, action: str) -> set[str]:
    path = Path((folder + b"/" + path_to_bytes(document.source_path)).decode("utf-8", "surrogateescape"))
    is_text = ResourceKind(document.citation_locator_json["resourceKind"]) in LINE_KINDS
    if action == "rename":
        path.rename(path.with_name(f"renamed-{path.name}"))
        return {"moved"}
    if action == "delete":
        path.unlink()
        return {"gone", "moved"}
    if action == "insert above" and is_text:
        path.write_bytes(b"Something new stands first.\n\n" + path.read_bytes())
        return {"moved"}
    if action == "rewrite" and is_text:
        path.write_bytes(b"# Written anew\n\nNothing of the old text is left in this file.\n")
        return {"changed"}
    return {"exact"}
