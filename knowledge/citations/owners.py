"""Public identifiers of documents by path (spec 5.1)."""

from __future__ import annotations

_PREFIX = "local-md:"


def owner_document_id(path: str) -> str:
    """Return e.g. "local-md:notes~2Fa.md" for the root-relative path "notes/a.md"."""
    return _PREFIX + path.replace("~", "~7E").replace("/", "~2F")


def path_of(owner_id: str) -> str:
    """Return the path that `owner_document_id` was made from. Raises ValueError for anything else."""
    if not owner_id.startswith(_PREFIX):
        raise ValueError("not a local document id")
    return owner_id.removeprefix(_PREFIX).replace("~2F", "/").replace("~7E", "~")
