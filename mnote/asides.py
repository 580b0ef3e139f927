"""What stands beside the pages of documents: apps add theirs here, so that the pages need not know them."""

from __future__ import annotations

_templates: dict[str, str] = {}


def register(name: str, template: str) -> None:
    """Let a template be shown beside every document page, with the page's own context."""
    _templates[name] = template


def templates() -> list[str]:
    """Return the registered templates, in their order."""
    return list(_templates.values())
