"""The open page of a host, checked against what its reader may see."""

from __future__ import annotations

from dataclasses import dataclass

from knowledge.citations.owners import owner_document_id, path_of
from mnote.exceptions import NotFound
from mnote.files.opening import EntryKind
from mnote.models import Root
from mnote.principals import Principal
from mnote.services import files
from pageai.exceptions import TrashFolder

_TRASH = frozenset({".trash", ".trashes", "$recycle.bin", "#recycle", "recycler"})
_TRASH_STARTS = (".trash-",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A readable file of a root. `resource_id` is the host's id of it, `absolute_path` must not leave the server."""

    root: Root
    path: str
    resource_id: str

    @property
    def absolute_path(self) -> str:
        return f"{self.root.path.rstrip('/')}/{self.path}"


def locate(*, principal: Principal, root: Root, path: str = "", resource_id: str = "") -> Page:
    """Find the page by its path, else by its id ("local-md:…"); an absent id is derived from the path.

    Raises:
        NotFound: no such file, or not for this reader. Gone, TrashFolder, RootUnavailable.
    """
    found = path.strip("/") or _path_in(resource_id)
    if is_in_trash(f"{root.path}/{found}"):
        raise TrashFolder
    if files.stat(principal=principal, root=root, path=found).kind is not EntryKind.FILE:
        raise NotFound
    return Page(root=root, path=found, resource_id=resource_id or owner_document_id(found))


def is_in_trash(path: str) -> bool:
    """Say whether a path leads through a folder of thrown away files."""
    names = [name.casefold() for name in path.split("/")]
    return any(name in _TRASH or name.startswith(_TRASH_STARTS) for name in names)


def _path_in(resource_id: str) -> str:
    try:
        return path_of(resource_id)
    except ValueError:
        raise NotFound from None
