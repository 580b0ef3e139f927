"""Addresses of the file pages. A path stands in them as its text form, percent-encoded."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from mnote.models import Root


class PathConverter:
    """A root-relative path in an address. Names may hold line breaks, which Django's own converter refuses."""

    regex = r"[\s\S]+"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


def pane_url(root: Root, path: str, **query: Any) -> str:
    """The document pane of a file."""
    return _address("open", root, path, query)


def files_url(root: Root, path: str = "", **query: Any) -> str:
    """The page of a folder."""
    return _address("files", root, path, query)


def tree_url(root: Root, path: str = "", **query: Any) -> str:
    """One level of the file tree."""
    return _address("tree", root, "", {"path": path, **query})


def raw_url(root: Root, path: str, **query: Any) -> str:
    """The bytes of a file."""
    return _address("raw", root, path, query)


def page_image_url(root: Root, path: str, **query: Any) -> str:
    """A page of a PDF as a picture."""
    return _address("page-image", root, path, query)


def wiki_url(root: Root, note: str, name: str) -> str:
    """Where a wiki link leads, found out when it is followed."""
    return _address("wiki", root, "", {"name": name, "from": note})


def _address(name: str, root: Root, path: str, query: dict[str, Any]) -> str:
    parts = [root.workspace_id, path] if path else [root.workspace_id]
    given = {key: value for key, value in query.items() if value not in (None, "")}
    return f"{reverse(f'knowledge:{name}', args=parts)}?{urlencode({'root': root.key, **given})}"
