"""People at pages: bindings and visits as the panel's services want them."""

from __future__ import annotations

from mnote.models import Root
from pageai.models import OpenHubBinding
from pageai.services import bindings, gatekeeping, pages
from pageai.services.gatekeeping import Visit
from tests.people import People


def bind(people: People, name: str = "alice", *, path: str = "a.md", root: Root | None = None) -> OpenHubBinding:
    """Open a page as a person; the file is made when it is not there."""
    target = people.folder / path
    if root is None and not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"# {path}\n", encoding="utf-8")
    principal = people.principal(name)
    page = pages.locate(principal=principal, root=root or people.root, path=path)
    return bindings.open_binding(principal=principal, page=page).binding


def visit(people: People, name: str = "alice", *, path: str = "a.md") -> Visit:
    return enter(people, bind(people, name, path=path), name)


def enter(people: People, binding: OpenHubBinding, name: str = "alice") -> Visit:
    return gatekeeping.enter(principal=people.principal(name), binding_id=binding.pk)
