"""What the upload page shows: where one may write, and in which of the three ways something comes in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from knowledge.models import Source
from knowledge.parsing.file_types import SUPPORTED
from knowledge.reasons import reason_for
from knowledge.scanner.ignore import ignore_reason
from knowledge.services import upload_checks
from knowledge.services.upload_checks import Checked, Verdict
from knowledge.views.kb_frame import KBFrame
from mnote.exceptions import AppError, NotFound
from mnote.files.opening import EntryKind
from mnote.files.prefixes import ancestors
from mnote.models import Access, Root
from mnote.selectors import access
from mnote.selectors.access import AccessMap
from mnote.services import files

WAYS: tuple[tuple[str, Promise], ...] = (
    ("files", gettext_lazy("Files and folders")),
    ("text", gettext_lazy("Write text")),
    ("web", gettext_lazy("Web address")),
)
_SHOWN = 500

#: What would become of a file, in a sentence; `name` and `path` are filled in.
VERDICT_WORDS: Mapping[Verdict, str | Promise] = {
    Verdict.NEW: gettext_lazy("new"),
    Verdict.SAME: gettext_lazy("same content as %(path)s"),
    Verdict.TAKEN: gettext_lazy("the name is taken; this one is free"),
    Verdict.UNSUPPORTED: gettext_lazy("files of this type are not read"),
    Verdict.TOO_LARGE: gettext_lazy("larger than %(limit)d MB"),
    Verdict.NOT_ALLOWED: gettext_lazy("you may not write into this folder"),
    Verdict.NO_NAME: gettext_lazy("its name cannot be used"),
}


#: The sentences that the page's script shows.
_SCRIPT_WORDS: Mapping[str, str | Promise] = {
    "checking": gettext_lazy("being looked at"),
    "waiting": gettext_lazy("waits"),
    "sending": gettext_lazy("being sent"),
    "writing": gettext_lazy("being written"),
    "done": gettext_lazy("added; it is read now"),
    "noAnswer": gettext_lazy("no answer from the server"),
    "signedOut": gettext_lazy("You are signed out. Sign in again in another tab, then try the failed ones again."),
    "chosen": gettext_lazy("%(count)s of %(total)s chosen, %(size)s"),
    "running": gettext_lazy("%(done)s of %(total)s sent"),
    "ended": gettext_lazy("%(done)s added, %(failed)s not"),
    "endedWell": gettext_lazy("%(done)s added"),
    "tooMany": gettext_lazy("Only the first %(most)s files were taken into the list."),
    "unfinished": gettext_lazy("Files are still being sent."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder that can be chosen, or only opened because something below it can."""

    root: Root
    path: str
    name: str
    may_write: bool
    is_chosen: bool

    @property
    def value(self) -> str:
        return f"{self.root.key}:{self.path}"


class UploadPage:
    """One upload page. `?to=root:folder` names the destination."""

    def __init__(self, request: HttpRequest, frame: KBFrame) -> None:
        self._request = request
        self.frame = frame
        self.way = way if (way := request.GET.get("as", "")) in dict(WAYS) else "files"

    @cached_property
    def roots(self) -> list[Root]:
        found = access.visible_roots(self.frame.principal, [self.frame.kb.workspace])
        return [root for root in found.get(self.frame.kb.workspace_id, []) if _writes(self._rights(root), "")]

    @property
    def may_write(self) -> bool:
        return bool(self.roots)

    @cached_property
    def destination(self) -> Place | None:
        """The chosen folder; else the one that the knowledge base is made of; else the first there is."""
        return self._place(*self._target, "") if self._target else None

    @property
    def places(self) -> list[Place]:
        """The roots, as the beginnings of the tree."""
        return [self._place(root, "", root.name) for root in self.roots]

    def level(self, root_key: str, path: str) -> list[Place]:
        """Return the folders in one that can be chosen or lead to such; of an unknown folder none."""
        root = next((each for each in self.roots if each.key == root_key), None)
        if root is None:
            return []
        try:
            found = files.list_folder(principal=self.frame.principal, root=root, path=path)
        except AppError:
            return []
        folders = [each for each in found if each.kind is EntryKind.FOLDER]
        shown = [each for each in folders if not ignore_reason(each.name, is_folder=True)]
        prefix = f"{path}/" if path else ""
        places = [self._place(root, prefix + each.name, each.name) for each in shown]
        wanted = [place for place in places if _writes(self._rights(root), place.path)]
        return sorted(wanted, key=lambda place: place.name.casefold())[:_SHOWN]

    @property
    def ways(self) -> list[tuple[str, Promise, str]]:
        """Each way with its word and address."""
        kept = {"to": self.destination.value} if self.destination and self._request.GET.get("to") else {}
        here = reverse("knowledge:kb-upload", args=[self.frame.kb.pk])
        return [
            (key, word, f"{here}?{urlencode({**({'as': key} if key != 'files' else {}), **kept})}".removesuffix("?"))
            for key, word in WAYS
        ]

    @property
    def may_fetch(self) -> bool:
        return settings.MNOTE_ALLOW_WEB_IMPORT and self.frame.kb.workspace.allow_web_import

    @property
    def limit_mb(self) -> int:
        return settings.MNOTE_UPLOAD_MAX_MB

    @property
    def room_left(self) -> int:
        return upload_checks.room_left(self.roots[0]) if self.roots else 0

    @property
    def accept(self) -> str:
        """The extensions that a file chooser offers first."""
        return ",".join(f".{extension}" for extension in SUPPORTED)

    @property
    def script(self) -> dict[str, Any]:
        """What the page's script needs: addresses and sentences."""
        kb = self.frame.kb.pk
        return {
            "upload": reverse("knowledge-api:sources", args=[kb]),
            "check": reverse("knowledge:upload-check", args=[kb]),
            "document": reverse("knowledge:document", args=[kb, "-"]),
            "roots": {root.key: root.root_uri for root in self.roots},
            "most": upload_checks.MAX_ITEMS,
            "words": {name: str(word) for name, word in _SCRIPT_WORDS.items()},
        }

    def place_of(self, value: str) -> Place:
        """Return a writable folder named as `root:folder`. Raises NotFound."""
        found = self._named(value)
        if found is None:
            raise NotFound
        return self._place(*found, "")

    @cached_property
    def _target(self) -> tuple[Root, str] | None:
        wanted = self._named(self._request.POST.get("to") or self._request.GET.get("to") or "")
        return wanted or self._own() or self._first()

    def _named(self, value: str) -> tuple[Root, str] | None:
        key, _colon, path = value.partition(":")
        root = next((each for each in self.roots if each.key == key), None)
        path = path.strip("/")
        return (root, path) if root and self._rights(root).may_write(path) else None

    def _own(self) -> tuple[Root, str] | None:
        """The first folder of the knowledge base into which one may write."""
        for source in Source.objects.filter(kb=self.frame.kb, is_folder=True).order_by("path"):
            root = next((each for each in self.roots if each.pk == source.root_id), None)
            if root and self._rights(root).may_write(source.path):
                return root, source.path
        return None

    def _first(self) -> tuple[Root, str] | None:
        for root in self.roots:
            rights = self._rights(root)
            path = next((each for each in ["", *sorted(rights.rules)] if rights.may_write(each)), None)
            if path is not None:
                return root, path
        return None

    def _place(self, root: Root, path: str, name: str) -> Place:
        return Place(
            root=root,
            path=path,
            name=name or (f"{root.name} / {path}" if path else root.name),
            may_write=self._rights(root).may_write(path),
            is_chosen=self._target == (root, path),
        )

    def _rights(self, root: Root) -> AccessMap:
        return self._maps.get(root.pk, AccessMap(default=Access.NONE))

    @cached_property
    def _maps(self) -> dict[int, AccessMap]:
        return access.access_maps(self.frame.principal, Root.objects.filter(workspace=self.frame.kb.workspace_id))


def verdict_words(checked: Checked) -> str:
    """Say what would become of a file."""
    if checked.verdict is Verdict.LEFT_OUT:
        return str(reason_for(checked.reason).sentence)
    facts = {"path": checked.same_as, "limit": settings.MNOTE_UPLOAD_MAX_MB}
    return str(VERDICT_WORDS[checked.verdict]) % facts


def _writes(rights: AccessMap, path: str) -> bool:
    """Say whether one may write into a folder, or into one below it."""
    if rights.may_write(path):
        return True
    below = [prefix for prefix, given in rights.rules.items() if given == Access.WRITE]
    return any(path in ancestors(prefix) for prefix in below)
