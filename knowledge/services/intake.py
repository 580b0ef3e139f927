"""Ingest by request: paths, host resources, texts and web addresses into one knowledge base, each judged by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from knowledge.citations.owners import path_of
from knowledge.models import Document, KnowledgeBase, Source
from knowledge.querysets import visible_kbs
from knowledge.reasons import REASONS
from knowledge.services import attaching, knowledge_bases, sources, uploads, web_import
from mnote.exceptions import AppError, Invalid, NotFound
from mnote.files.opening import EntryKind
from mnote.ids import text_key
from mnote.models import Role, Root, Workspace
from mnote.principals import Principal
from mnote.services import files

_SENTENCES: dict[str, str | Promise] = {
    "not-found": gettext_lazy("Nothing that you may read is there."),
    "gone": gettext_lazy("The file is no longer there."),
    "unknown-resource": gettext_lazy("No file belongs to this resource."),
    "already-covered": gettext_lazy("Another source of the knowledge base holds it."),
    "conflict": gettext_lazy("It is a source of the knowledge base already."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """One item that was taken: `item` as given, its path, source, row (files only) and the job that works on it."""

    item: str
    path: str
    job_id: str
    source_set_id: str = ""
    source_id: str = ""
    same_as: tuple[str, ...] = ()


Act = Callable[[], Accepted]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """One item that was not taken: a reason code and a sentence."""

    item: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to take in. `folder`, `file_name` and `title` are for `text` and `url`; `rules` for new folder sources."""

    paths: tuple[str, ...] = ()
    resource_ids: tuple[str, ...] = ()
    url: str = ""
    text: str | None = None
    folder: str = ""
    file_name: str = ""
    title: str = ""
    rules: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """How it went, item by item."""

    kb: KnowledgeBase
    accepted: tuple[Accepted, ...]
    refused: tuple[Refused, ...]


def kb_for(*, principal: Principal, workspace: Workspace, root: Root, kb_id: str = "", name: str = "") -> KnowledgeBase:
    """Return the knowledge base named by id or name; a new name is created when the caller is a manager.

    Raises NotFound, Forbidden, Invalid.
    """
    if kb_id:
        kb = knowledge_bases.get_kb(principal=principal, kb_id=kb_id, role=Role.CURATOR)
        if kb.workspace_id != workspace.id:
            raise NotFound
        return kb
    clean = " ".join(name.split())
    known = visible_kbs(principal, workspace).filter(name__iexact=clean).first()
    if known is not None:
        return knowledge_bases.get_kb(principal=principal, kb_id=known.id, role=Role.CURATOR)
    return knowledge_bases.create_kb(principal=principal, workspace=workspace, root=root, name=clean)


def take_in(*, principal: Principal, kb: KnowledgeBase, root: Root, wanted: Wanted) -> Intake:
    """Take each item into the knowledge base or say why not; needs curator, and a write grant for text and url."""
    accepted: list[Accepted] = []
    refused: list[Refused] = []
    for item, act in _acts(principal, kb, root, wanted):
        try:
            accepted.append(act())
        except AppError as error:
            refused.append(_refused(item, error))
    return Intake(kb=kb, accepted=tuple(accepted), refused=tuple(refused))


def take_one(*, principal: Principal, kb: KnowledgeBase, root: Root, wanted: Wanted) -> Accepted:
    """Take the one item of `wanted` into the knowledge base. Raises the error that `take_in` would report."""
    [(_item, act)] = _acts(principal, kb, root, wanted)
    return act()


def _acts(principal: Principal, kb: KnowledgeBase, root: Root, wanted: Wanted) -> Iterator[tuple[str, Act]]:
    for path in dict.fromkeys(wanted.paths):
        yield path, partial(_take_path, principal, kb, root, path, wanted.rules)
    for resource in dict.fromkeys(wanted.resource_ids):
        yield resource, partial(_take_resource, principal, kb, root, resource)
    if wanted.text is not None:
        yield wanted.file_name or wanted.title, partial(_take_text, principal, kb, root, wanted)
    if wanted.url:
        yield wanted.url, partial(_take_url, principal, kb, root, wanted)


def _take_path(principal: Principal, kb: KnowledgeBase, root: Root, item: str, rules: dict[str, Any]) -> Accepted:
    path = item.strip("/")
    facts = files.stat(principal=principal, root=root, path=path)
    if facts.kind is EntryKind.FOLDER:
        return _take_folder(principal, kb, root, item, rules)
    if facts.kind is not EntryKind.FILE:
        raise NotFound
    return _attached(item, attaching.attach_file(principal=principal, kb=kb, root=root, path=path))


def _take_folder(principal: Principal, kb: KnowledgeBase, root: Root, item: str, rules: dict[str, Any]) -> Accepted:
    path = item.strip("/")
    source = _folder_source(kb, root, path)
    if source is None:
        added = sources.add_sources(principal=principal, kb=kb, root=root, paths=[path], rules=rules)
        if not added.sources:
            raise attaching.NotTaken(reason=added.refused[0][1])
        source = added.sources[0]
    job_id = sources.request_sync(source=source, trigger="manual", requested_by=principal)
    return Accepted(item=item, path=path, job_id=job_id, source_set_id=source.id)


def _folder_source(kb: KnowledgeBase, root: Root, path: str) -> Source | None:
    own = kb.sources.filter(root=root, path_key=text_key(path), frozen_at__isnull=True).first()
    return own or sources.covering(kb, root, path)


def _take_resource(principal: Principal, kb: KnowledgeBase, root: Root, resource_id: str) -> Accepted:
    path = _path_of_resource(principal, root, resource_id)
    attached = attaching.attach_file(principal=principal, kb=kb, root=root, path=path, resource_id=resource_id)
    return _attached(resource_id, attached)


def _path_of_resource(principal: Principal, root: Root, resource_id: str) -> str:
    try:
        return path_of(resource_id)
    except ValueError:
        pass
    visible = visible_kbs(principal, root.workspace)
    rows = Document.objects.filter(Q(resource_id=resource_id), root=root, kb__in=visible, deleted_at__isnull=True)
    path: str | None = rows.order_by("id").values_list("source_path", flat=True).first()
    if path is None:
        raise attaching.NotTaken(reason="unknown-resource")
    return path


def _take_text(principal: Principal, kb: KnowledgeBase, root: Root, wanted: Wanted) -> Accepted:
    name = wanted.file_name or wanted.title
    if not name.strip():
        raise Invalid(_("Give the text a file name or a title."))
    written = uploads.write_text(
        principal=principal, kb=kb, root=root, folder=wanted.folder, name=name, text=wanted.text or ""
    )
    return accepted_upload(name, written)


def accepted_upload(item: str, uploaded: uploads.Uploaded) -> Accepted:
    """Return a written file as an accepted item."""
    attached = uploaded.attached
    return Accepted(
        item=item,
        path=uploaded.path,
        job_id=attached.job.id if attached else "",
        source_set_id=attached.source.id if attached else "",
        source_id=attached.document.id if attached else "",
        same_as=uploaded.same_as,
    )


def _take_url(principal: Principal, kb: KnowledgeBase, root: Root, wanted: Wanted) -> Accepted:
    job = web_import.request_import(
        principal=principal, kb=kb, root=root, folder=wanted.folder, url=wanted.url, name=wanted.file_name
    )
    return Accepted(item=wanted.url, path="", job_id=job.id)


def _attached(item: str, attached: attaching.Attached) -> Accepted:
    return Accepted(
        item=item,
        path=attached.document.source_path,
        job_id=attached.job.id,
        source_set_id=attached.source.id,
        source_id=attached.document.id,
    )


def refusal_words(reason: str) -> str:
    """Say why a path was not taken; "" for a reason that has no sentence of its own."""
    if reason in _SENTENCES:
        return str(_SENTENCES[reason])
    return str(REASONS[reason].sentence) if reason in REASONS else ""


def _refused(item: str, error: AppError) -> Refused:
    reason = str(error.extra.get("reason") or error.code)
    if known := refusal_words(reason):
        return Refused(item=item, reason=reason, message=known)
    messages = [each["message"] for errors in error.extra.get("errors", {}).values() for each in errors]
    return Refused(item=item, reason=reason, message=" ".join(messages) or str(error.detail))
