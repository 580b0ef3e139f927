"""Uploads: a new local file, never over another, then a document like any other (spec 4.5).

The only way in which we write into a root. Rights, name, type, size and quota are checked before and while the bytes
arrive; whatever goes wrong, nothing stays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from knowledge.exceptions import ContentMismatch, DiskFull, FolderNotWritable, NameTaken, QuotaExceeded
from knowledge.models import Document, KnowledgeBase
from knowledge.parsing.base import ParseError
from knowledge.parsing.file_types import FileType, type_for_name
from knowledge.parsing.signatures import check_content, signature_of
from knowledge.parsing.source_map import ResourceKind
from knowledge.querysets import readable_in_kb
from knowledge.reasons import reason_for
from knowledge.scanner.ignore import ignore_reason
from knowledge.services import attaching
from knowledge.services.attaching import Attached
from mnote.exceptions import AppError, Forbidden, Gone, Invalid, NotFound, TooLarge, UnsupportedType
from mnote.files import errors, writing
from mnote.files.names import name_to_text
from mnote.files.prefixes import components
from mnote.models import Role, Root, Upload, Workspace
from mnote.principals import Principal
from mnote.selectors import access
from mnote.services import audit, files

_MEGABYTE = 1024 * 1024
#: The first bytes by which the content is checked against the name.
_HEAD = 64 * 1024
_HELD = timedelta(hours=1)
#: Markup that browsers draw as pictures; it has no signature.
_DRAWN_TEXT = frozenset({"svg"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Uploaded:
    """A file that was written. `same_as`: readable documents of the knowledge base with the same content.
    `attached` is None when no knowledge base takes it in."""

    root: Root
    path: str
    size: int
    sha256: str
    same_as: tuple[str, ...] = ()
    attached: Attached | None = None


def upload_file(  # noqa: PLR0913 where, what, and how it arrives
    *,
    principal: Principal,
    kb: KnowledgeBase | None,
    root: Root,
    folder: str,
    name: str,
    chunks: Iterable[bytes],
    expected_bytes: int | None = None,
    makes_folders: bool = False,
) -> Uploaded:
    """Write `chunks` as the new file `name` in `folder` and take it into `kb`, if one is given.

    Needs write on the path, and curator with a knowledge base. `expected_bytes` is what the sender announced. Folders
    on the way that are not there are made only with `makes_folders`, and only for a file that is then written.

    Raises:
        NotFound, Forbidden: rights.
        Invalid, UnsupportedType, ContentMismatch: the name, or what the content is.
        NameTaken: with a free name as `suggestion`.
        TooLarge, QuotaExceeded, FolderNotWritable, DiskFull.
    """
    folder = folder.strip("/")
    name = _checked_name(name)
    path = _checked_path(principal, kb, root, folder, name)
    found = _type_of(name)
    limit = settings.MNOTE_UPLOAD_MAX_MB * _MEGABYTE
    if expected_bytes is not None and expected_bytes > limit:
        raise _too_large(limit)
    row = _reserve(principal, root, path, limit=limit, expected=expected_bytes)
    body = _Body(chunks, found)
    try:
        _write(root, folder, name, body, limit=limit, room=row.size_bytes, makes_folders=makes_folders)
    except AppError as error:
        _give_back(principal, row, error.code)
        raise
    except BaseException:
        _give_back(principal, row, "interrupted")
        raise
    _finish(principal, row, body)
    same_as = _same_content(principal, kb, path, body.sha256)
    attached = attaching.attach_file(principal=principal, kb=kb, root=root, path=path) if kb else None
    return Uploaded(root=root, path=path, size=body.size, sha256=body.sha256, same_as=same_as, attached=attached)


def write_text(
    *, principal: Principal, kb: KnowledgeBase | None, root: Root, folder: str, name: str, text: str
) -> Uploaded:
    """Write a text as a new file; a name without an extension gets `.md`. Raises what `upload_file` raises."""
    if type_for_name(name) is None:
        name = f"{name}.md"
    content = text.encode()
    return upload_file(
        principal=principal,
        kb=kb,
        root=root,
        folder=folder,
        name=name,
        chunks=[content],
        expected_bytes=len(content),
    )


def check_folder(*, principal: Principal, kb: KnowledgeBase | None, root: Root, folder: str) -> None:
    """Say whether the principal may write into a folder. Raises NotFound, Forbidden, Invalid."""
    _checked_path(principal, kb, root, folder.strip("/"), "new.md")


def used_bytes(workspace: Workspace) -> int:
    """Return how many bytes uploads of a workspace count for, those under way included."""
    rows = Upload.objects.filter(
        Q(finished_at__isnull=False) | Q(started_at__gt=timezone.now() - _HELD), workspace=workspace
    )
    return int(rows.aggregate(total=Sum("size_bytes"))["total"] or 0)


def quota_bytes(workspace: Workspace) -> int:
    """Return how many bytes uploads of a workspace may take."""
    megabytes = workspace.quota_mb if workspace.quota_mb is not None else settings.MNOTE_WORKSPACE_QUOTA_MB
    return int(megabytes * _MEGABYTE)


class _Body:
    """The arriving bytes: counted, hashed, and refused when their beginning is not what the name says."""

    def __init__(self, chunks: Iterable[bytes], found: FileType) -> None:
        self._chunks = chunks
        self._type = found
        self._digest = hashlib.sha256()
        self.size = 0

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def __iter__(self) -> Iterator[bytes]:
        head = b""
        is_checked = False
        for chunk in self._chunks:
            self._digest.update(chunk)
            self.size += len(chunk)
            head += b"" if is_checked else bytes(chunk)
            if is_checked:
                yield chunk
            elif len(head) >= _HEAD:
                _check_content(self._type, head)
                is_checked = True
                yield head
        if not is_checked:
            _check_content(self._type, head)
            yield head


def _checked_name(name: str) -> str:
    """Return the name as it will be. Raises Invalid for one that cannot be used or would never be indexed."""
    try:
        name = writing.safe_name(name)
    except errors.InvalidPath:
        raise _invalid("name", _("Give the file a name.")) from None
    reason = ignore_reason(name_to_text(name.encode()), is_folder=False)
    if reason is not None:
        raise _invalid("name", str(reason_for(reason.value).sentence))
    return name


def _checked_path(principal: Principal, kb: KnowledgeBase | None, root: Root, folder: str, name: str) -> str:
    if kb is not None:
        access.require_role(principal, kb.workspace, Role.CURATOR)
    if kb is not None and kb.workspace_id != root.workspace_id:
        raise NotFound
    if kb is None and principal.kb_ids:
        raise Forbidden
    path = "/".join(part for part in (folder, name_to_text(name.encode())) if part)
    rights = access.access_map(principal, root)
    if not rights.may_write(path):
        raise Forbidden if rights.may_enter(folder) else NotFound
    try:
        parts = components(folder)
    except errors.InvalidPath:
        raise NotFound from None
    if any(ignore_reason(part, is_folder=True) for part in parts):
        raise _invalid("folder", _("Nothing may be written into hidden or system folders."))
    return path


def _type_of(name: str) -> FileType:
    found = type_for_name(name)
    if found is None:
        raise UnsupportedType(_("Files of this type are not read."))
    return found


def _check_content(found: FileType, head: bytes) -> None:
    if not head:
        return
    if found.kind is ResourceKind.IMAGE:
        _check_picture(head)
        return
    try:
        check_content(found.kind, head, container=found.parser == "epub")
    except ParseError:
        raise ContentMismatch from None


def _check_picture(head: bytes) -> None:
    signature = signature_of(head)
    start = head[:512].lstrip().lower()
    is_drawn = start.startswith((b"<svg", b"<?xml", b"<!--")) or b"ftyp" in head[4:12] or head[:2] == b"BM"
    is_icon = head[:4] == b"\x00\x00\x01\x00"
    if signature not in {"png", "jpeg", "gif", "tiff", "webp"} and not is_drawn and not is_icon:
        raise ContentMismatch


def _reserve(principal: Principal, root: Root, path: str, *, limit: int, expected: int | None) -> Upload:
    left = quota_bytes(root.workspace) - used_bytes(root.workspace)
    if left < (limit if expected is None else expected):
        _forget_lost_files(root)
    return _hold_room(principal, root, path, limit=limit, expected=expected)


def _hold_room(principal: Principal, root: Root, path: str, *, limit: int, expected: int | None) -> Upload:
    """Hold room for a file. Two uploads cannot take the same room: the workspace's row is locked meanwhile."""
    with transaction.atomic():
        workspace = Workspace.objects.select_for_update().get(pk=root.workspace_id)
        left = quota_bytes(workspace) - used_bytes(workspace)
        if left <= 0 or (expected is not None and expected > left):
            raise QuotaExceeded(limit_bytes=quota_bytes(workspace))
        room = min(limit, left) if expected is None else expected
        return Upload.objects.create(workspace=workspace, root=root, user=principal.user, path=path, size_bytes=room)


def _forget_lost_files(root: Root) -> None:
    """Files that their owner removed since take no room any more."""
    for row in Upload.objects.filter(workspace_id=root.workspace_id, finished_at__isnull=False).select_related("root"):
        try:
            with files.open_for_indexing(root=row.root, path=row.path) as opened:
                if opened.facts.size == row.size_bytes:
                    continue
        except errors.FileGone:
            pass
        except errors.FilesError:
            continue
        row.delete()


def _write(root: Root, folder: str, name: str, body: _Body, *, limit: int, room: int, makes_folders: bool) -> None:
    base = files.path_of_root(root)
    try:
        writing.write_new(base, folder, name, body, max_bytes=room, makes_folders=makes_folders)
    except errors.NameTaken as error:
        raise NameTaken(suggestion=error.suggestion) from None
    except errors.TooLarge:
        raise (_too_large(limit) if room >= limit else QuotaExceeded) from None
    except errors.NoSpace:
        raise DiskFull from None
    except errors.NotWritable:
        raise FolderNotWritable from None
    except errors.RootGone:
        raise files.RootUnavailable from None
    except errors.FileGone:
        raise Gone(_("This folder is no longer there.")) from None
    except errors.FilesError:
        raise NotFound from None


def _finish(principal: Principal, row: Upload, body: _Body) -> None:
    with transaction.atomic():
        Upload.objects.filter(pk=row.pk).update(size_bytes=body.size, sha256=body.sha256, finished_at=timezone.now())
        facts = {"bytes": body.size, "sha256": body.sha256, "root": row.root.key}
        audit.record(principal=principal, action="file.upload", workspace=row.workspace, target=row.path, facts=facts)


def _give_back(principal: Principal, row: Upload, code: str) -> None:
    Upload.objects.filter(pk=row.pk).delete()
    audit.record(
        principal=principal, action="file.upload", workspace=row.workspace, target=row.path, outcome="failed",
        facts={"code": code, "root": row.root.key},
    )  # fmt: skip


def _same_content(principal: Principal, kb: KnowledgeBase | None, path: str, sha256: str) -> tuple[str, ...]:
    if kb is None:
        return ()
    rows: Iterable[Document] = readable_in_kb(principal, kb).filter(
        source_hash=f"sha256:{sha256}", deleted_at__isnull=True
    )
    return tuple(row.source_path for row in rows if row.source_path != path)[:20]


def _too_large(limit: int) -> TooLarge:
    return TooLarge(_("At most %(limit)d MB.") % {"limit": limit // _MEGABYTE}, limit_bytes=limit)


def _invalid(field: str, message: str) -> Invalid:
    return Invalid(errors={field: [{"message": message, "code": "invalid"}]})
