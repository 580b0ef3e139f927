"""What would become of files if they were uploaded, said before a byte is sent. The upload itself decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.conf import settings

from knowledge.models import Document, KnowledgeBase
from knowledge.parsing.file_types import type_for_name
from knowledge.querysets import readable_in_kb
from knowledge.scanner.ignore import ignore_reason
from knowledge.services import uploads
from mnote.exceptions import AppError, Gone, NotFound
from mnote.files import writing
from mnote.files.errors import InvalidPath
from mnote.files.names import name_to_text
from mnote.files.prefixes import components
from mnote.models import Root
from mnote.principals import Principal
from mnote.selectors import access
from mnote.selectors.access import AccessMap
from mnote.services import files

MAX_ITEMS = 5_000
_MEGABYTE = 1024 * 1024


class Verdict(StrEnum):
    """What would happen to one file."""

    NEW = "new"
    SAME = "same"
    TAKEN = "taken"
    UNSUPPORTED = "unsupported"
    TOO_LARGE = "too_large"
    LEFT_OUT = "left_out"
    NOT_ALLOWED = "not_allowed"
    NO_NAME = "no_name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One file that somebody chose: its path below the destination as the browser gives it, size, sha256 in hex or
    "" where that is not known."""

    path: str
    size: int
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What would become of one item. `folder` and `name` are where it would be written; `suggestion` is a free name
    where it is taken, `same_as` a readable document with the same content, `reason` a code of `knowledge.reasons`."""

    verdict: Verdict
    folder: str = ""
    name: str = ""
    suggestion: str = ""
    same_as: str = ""
    reason: str = ""


def check(*, principal: Principal, kb: KnowledgeBase, root: Root, folder: str, items: Sequence[Item]) -> list[Checked]:
    """Judge each item. Two items that would get the same name are told apart as if the first were there already.

    Raises NotFound, Forbidden for a folder into which the principal may not write at all.
    """
    uploads.check_folder(principal=principal, kb=kb, root=root, folder=folder)
    same = _known_contents(principal, kb, items)
    look = _Look(principal, root, folder.strip("/"))
    return [look.judge(item, same.get(item.sha256, "")) for item in items[:MAX_ITEMS]]


def room_left(root: Root) -> int:
    """Return how many bytes uploads of the workspace may still take."""
    return max(0, uploads.quota_bytes(root.workspace) - uploads.used_bytes(root.workspace))


class _Look:
    """One destination: rights, and the names in each folder, those that this upload takes included."""

    def __init__(self, principal: Principal, root: Root, folder: str) -> None:
        self._principal = principal
        self._root = root
        self._folder = folder
        self._rights: AccessMap = access.access_map(principal, root)
        self._taken: dict[str, set[str]] = {}

    def judge(self, item: Item, same_as: str) -> Checked:
        try:
            parts = components(item.path)
            name = writing.safe_name(parts[-1]) if parts else ""
            folders = [name_to_text(part.encode()) for part in (*components(self._folder), *parts[:-1])]
        except (InvalidPath, UnicodeEncodeError):
            return Checked(verdict=Verdict.NO_NAME)
        if not name:
            return Checked(verdict=Verdict.NO_NAME)
        folder = "/".join(folders)
        refusal = self._refusal(item, folder, folders, name)
        return refusal or self._free(folder, name, same_as)

    def _refusal(self, item: Item, folder: str, folders: Sequence[str], name: str) -> Checked | None:
        text = name_to_text(name.encode())
        reason = next(filter(None, (ignore_reason(each, is_folder=True) for each in folders)), None)
        reason = reason or ignore_reason(text, is_folder=False)
        if reason:
            return Checked(verdict=Verdict.LEFT_OUT, folder=folder, name=name, reason=reason.value)
        if type_for_name(name) is None:
            return Checked(verdict=Verdict.UNSUPPORTED, folder=folder, name=name)
        if item.size > settings.MNOTE_UPLOAD_MAX_MB * _MEGABYTE:
            return Checked(verdict=Verdict.TOO_LARGE, folder=folder, name=name)
        if not self._rights.may_write(f"{folder}/{text}" if folder else text):
            return Checked(verdict=Verdict.NOT_ALLOWED, folder=folder, name=name)
        return None

    def _free(self, folder: str, name: str, same_as: str) -> Checked:
        taken = self._names_in(folder)
        if name_to_text(name.encode()) not in taken:
            taken.add(name_to_text(name.encode()))
            verdict = Verdict.SAME if same_as else Verdict.NEW
            return Checked(verdict=verdict, folder=folder, name=name, same_as=same_as)
        free = next(each for each in writing.other_names(name) if name_to_text(each.encode()) not in taken)
        taken.add(name_to_text(free.encode()))
        return Checked(verdict=Verdict.TAKEN, folder=folder, name=name, suggestion=free, same_as=same_as)

    def _names_in(self, folder: str) -> set[str]:
        if folder not in self._taken:
            self._taken[folder] = set(self._listed(folder))
        return self._taken[folder]

    def _listed(self, folder: str) -> Iterable[str]:
        try:
            return [each.name for each in files.list_folder(principal=self._principal, root=self._root, path=folder)]
        except (NotFound, Gone):
            return ()  # a folder that the upload would make
        except AppError:
            return ()


def _known_contents(principal: Principal, kb: KnowledgeBase, items: Iterable[Item]) -> dict[str, str]:
    """Return a readable path of the knowledge base by content."""
    hashes = {f"sha256:{item.sha256}" for item in items if item.sha256}
    rows = readable_in_kb(principal, kb).filter(source_hash__in=hashes, deleted_at__isnull=True)
    found: dict[str, str] = {}
    document: Document
    for document in rows.order_by("-sort_path").only("source_hash", "source_path"):
        found[document.source_hash.removeprefix("sha256:")] = document.source_path
    return found
