"""The tree in which folders and files are picked for a new knowledge base."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from knowledge.scanner.ignore import ignore_reason
from knowledge.views.picking import Pick, Picking
from mnote.exceptions import AppError, NotFound
from mnote.files.opening import EntryKind
from mnote.ids import text_key
from mnote.models import Root
from mnote.principals import Principal
from mnote.services import files

#: Entries of one folder that the tree shows.
_SHOWN = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One node of the tree. `children` is None where it is closed."""

    pick: Pick
    name: str
    is_folder: bool
    state: str
    children: Level | None = None

    @property
    def key(self) -> str:
        """What ids on the page are made of, so that the focus stays when the tree is drawn anew."""
        return text_key(str(self.pick))[:16]

    @property
    def is_open(self) -> bool:
        return self.children is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """What lies in one folder: at most `_SHOWN` entries, so many more, so many of types that are not read."""

    entries: Sequence[Entry] = ()
    more: int = 0
    unread: int = 0
    problem: str | Promise = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PickTree:
    """`takes` says of a base name whether such files are read."""

    principal: Principal
    picking: Picking
    takes: Callable[[str], bool]

    def of(self, roots: Sequence[Root]) -> list[Entry]:
        return [self._entry(Pick(root.key, ""), root.name, root, is_folder=True) for root in roots]

    def _entry(self, pick: Pick, name: str, root: Root, *, is_folder: bool) -> Entry:
        is_open = is_folder and pick in self.picking.opened
        return Entry(
            pick=pick,
            name=name,
            is_folder=is_folder,
            state=self.picking.state(pick),
            children=self._level(root, pick.path) if is_open else None,
        )

    def _level(self, root: Root, path: str) -> Level:
        try:
            found = files.list_folder(principal=self.principal, root=root, path=path)
        except NotFound:
            return Level(problem=_("This folder is no longer there."))
        except AppError as error:
            return Level(problem=error.title)
        shown = [each for each in found if not ignore_reason(each.name, is_folder=each.kind is EntryKind.FOLDER)]
        wanted = [each for each in shown if each.kind is EntryKind.FOLDER or self.takes(each.name)]
        wanted.sort(key=lambda each: (each.kind is not EntryKind.FOLDER, each.name.casefold(), each.name))
        prefix = f"{path}/" if path else ""
        return Level(
            entries=[
                self._entry(
                    Pick(root.key, prefix + each.name), each.name, root, is_folder=each.kind is EntryKind.FOLDER
                )
                for each in wanted[:_SHOWN]
            ],
            more=max(0, len(wanted) - _SHOWN),
            unread=len(shown) - len(wanted),
        )
