"""Sources: which files and folders belong to a knowledge base, by which rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from knowledge.models import Document, Exclusion, IndexStatus, KnowledgeBase, Source, SyncMode
from knowledge.scanner.globs import MAX_PATTERNS, GlobError, GlobErrorCode, parse_globs
from knowledge.services import documents
from mnote.exceptions import AppError, Conflict, Invalid, NotFound
from mnote.files.opening import EntryKind
from mnote.files.prefixes import is_below
from mnote.ids import text_key
from mnote.models import Role, Root
from mnote.principals import Principal
from mnote.selectors import access
from mnote.services import audit, files, jobs

_GLOB_ERRORS = {
    GlobErrorCode.EMPTY: gettext_lazy("“%(pattern)s” is no pattern."),
    GlobErrorCode.TOO_LONG: gettext_lazy("The pattern “%(pattern)s” is too long."),
    GlobErrorCode.TOO_MANY: gettext_lazy("At most %(most)d patterns."),
    GlobErrorCode.NOT_A_PATH: gettext_lazy("“%(pattern)s” does not name anything below the folder."),
}
_RULES = frozenset({
    "recursive", "include", "exclude", "max_file_mb", "sync_mode", "interval_minutes", "disappearance", "grace_hours",
    "safety_stop_percent",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What adding paths did: the sources made, and each refused path with a reason code."""

    sources: tuple[Source, ...]
    refused: tuple[tuple[str, str], ...] = field(default=())


def add_sources(
    *, principal: Principal, kb: KnowledgeBase, root: Root, paths: Iterable[str], rules: dict[str, Any] | None = None
) -> Added:
    """Attach files and folders; needs curator and read on each path. A path that cannot be used is refused by itself.

    Reasons: not-found, already-covered, not_a_file.
    """
    access.require_role(principal, kb.workspace, Role.CURATOR)
    chosen = _checked_rules({**kb.settings_json.get("source_rules", {}), **(rules or {})})
    made, refused = [], []
    for path in dict.fromkeys(path.strip("/") for path in paths):
        reason = _refusal(principal, kb, root, path)
        if reason:
            refused.append((path, reason))
            continue
        made.append(_attach(principal, kb, root, path, chosen))
    for source in made:
        audit.record(
            principal=principal,
            action="source.add",
            workspace=kb.workspace,
            kb_id=kb.id,
            target=source.path or root.name,
        )
        request_sync(source=source, trigger="added", requested_by=principal)
    return Added(sources=tuple(made), refused=tuple(refused))


def update_source(*, principal: Principal, source: Source, rules: dict[str, Any]) -> Source:
    """Change the rules of a source and look at it anew; needs manager."""
    access.require_role(principal, source.kb.workspace, Role.MANAGER)
    for name, value in _checked_rules(rules).items():
        setattr(source, name, value)
    source.save()
    audit.record(
        principal=principal, action="source.update", workspace=source.kb.workspace, kb_id=source.kb_id,
        target=source.path or source.root.name, facts=rules,
    )  # fmt: skip
    request_sync(source=source, trigger="rules", requested_by=principal)
    return source


def remove_source(*, principal: Principal, source: Source, freeze: bool = False) -> None:
    """Detach a source; needs manager. Its documents leave the index, or stay searchable but frozen. Files stay."""
    access.require_role(principal, source.kb.workspace, Role.MANAGER)
    kb = source.kb
    audit.record(
        principal=principal, action="source.freeze" if freeze else "source.remove", workspace=kb.workspace,
        kb_id=kb.id, target=source.path or source.root.name,
    )  # fmt: skip
    if freeze:
        source.frozen_at = timezone.now()
        source.save(update_fields=["frozen_at", "updated_at"])
        return
    ids = list(Document.objects.filter(source=source).values_list("id", flat=True))
    with transaction.atomic():
        source.delete()
        _enqueue_removal(kb, ids, "source_removed", principal)


def thaw_source(*, principal: Principal, source: Source) -> None:
    """Follow a frozen source again, with a look at it soon; needs manager."""
    access.require_role(principal, source.kb.workspace, Role.MANAGER)
    source.frozen_at = None
    source.save(update_fields=["frozen_at", "updated_at"])
    audit.record(
        principal=principal, action="source.thaw", workspace=source.kb.workspace, kb_id=source.kb_id,
        target=source.path or source.root.name,
    )  # fmt: skip
    request_sync(source=source, trigger="thawed", requested_by=principal)


def request_sync(*, source: Source, trigger: str, requested_by: Principal | None = None, full: bool = False) -> str:
    """Ask for a look at the source soon; returns the job's id. Asking twice before it starts is asking once."""
    job = jobs.enqueue(
        kind="knowledge.sync_source",
        payload={"source_id": source.id, "trigger": trigger, "full": full},
        dedup_key=source.id,
        workspace=source.kb.workspace,
        kb_id=source.kb_id,
        requested_by=requested_by.user if requested_by else None,
    )
    return job.id


def sync_now(*, principal: Principal, kb: KnowledgeBase, full: bool = False) -> list[str]:
    """Look at every source of a knowledge base now; needs curator. `full` re-reads every file's content."""
    access.require_role(principal, kb.workspace, Role.CURATOR)
    return sync_all(kb=kb, by=principal, full=full)


def sync_all(*, kb: KnowledgeBase, by: Principal, full: bool = False) -> list[str]:
    """Do what `sync_now` does, for a caller that has asked for rights itself."""
    audit.record(principal=by, action="kb.sync", workspace=kb.workspace, kb_id=kb.id, target=kb.name)
    live = kb.sources.filter(frozen_at__isnull=True).select_related("kb__workspace")
    return [request_sync(source=source, trigger="manual", requested_by=by, full=full) for source in live]


def exclude(*, principal: Principal, kb: KnowledgeBase, targets: Iterable[Document]) -> int:
    """Take documents out and keep them out of later syncs; needs curator. Files stay."""
    access.require_role(principal, kb.workspace, Role.CURATOR)
    return leave_out(kb=kb, targets=targets, by=principal)


def leave_out(*, kb: KnowledgeBase, targets: Iterable[Document], by: Principal) -> int:
    """Do what `exclude` does, for a caller that has asked for rights itself."""
    chosen = list(targets)
    with transaction.atomic():
        Exclusion.objects.bulk_create(
            [
                Exclusion(kb=kb, root_id=d.root_id, path=d.source_path, path_key=d.path_key, created_by=by.user)
                for d in chosen
            ],
            ignore_conflicts=True,
        )
        _enqueue_removal(kb, [document.id for document in chosen], "excluded_by_hand", by)
    for document in chosen:
        documents.mark_deleted(document=document, code="excluded_by_hand")
        audit.record(
            principal=by, action="source.exclude", workspace=kb.workspace, kb_id=kb.id,
            target=document.source_path,
        )  # fmt: skip
    return len(chosen)


def include_again(*, principal: Principal, kb: KnowledgeBase, root: Root, path: str) -> None:
    """Lift an exclusion; the next sync brings the file back. Raises NotFound when there is none."""
    access.require_role(principal, kb.workspace, Role.CURATOR)
    lift_exclusion(kb=kb, root=root, path=path, by=principal)


def lift_exclusion(*, kb: KnowledgeBase, root: Root, path: str, by: Principal) -> None:
    """Do what `include_again` does, for a caller that has asked for rights itself."""
    lifted, _rows = Exclusion.objects.filter(kb=kb, root=root, path_key=text_key(path)).delete()
    if not lifted:
        raise NotFound
    audit.record(principal=by, action="source.include", workspace=kb.workspace, kb_id=kb.id, target=path)


def covering(kb: KnowledgeBase, root: Root, path: str) -> Source | None:
    """Return the source of `kb` whose folder holds `path`, if any."""
    folders = kb.sources.filter(root=root, is_folder=True, frozen_at__isnull=True)
    return next((source for source in folders if source.recursive and is_below(source.path, path)), None)


def check_patterns(rules: dict[str, Any]) -> None:
    """Pass when include and exclude hold patterns that can be used. Raises Invalid with the field named."""
    for name in ("include", "exclude"):
        try:
            parse_globs(rules.get(name, ()))
        except GlobError as error:
            message = _GLOB_ERRORS[error.code] % {"pattern": error.pattern, "most": MAX_PATTERNS}
            raise Invalid(errors={name: [{"message": message, "code": error.code.value}]}) from None


def _refusal(principal: Principal, kb: KnowledgeBase, root: Root, path: str) -> str:
    try:
        facts = files.stat(principal=principal, root=root, path=path)
    except AppError as error:
        return error.code
    if not access.access_map(principal, root).may_enter(path):
        return "not-found"
    if facts.kind not in (EntryKind.FILE, EntryKind.FOLDER):
        return "not_a_file"
    return "already-covered" if covering(kb, root, path) else ""


def _attach(principal: Principal, kb: KnowledgeBase, root: Root, path: str, rules: dict[str, Any]) -> Source:
    kind = files.stat(principal=principal, root=root, path=path).kind
    source = Source(
        kb=kb,
        root=root,
        path=path,
        path_key=text_key(path),
        is_folder=kind is EntryKind.FOLDER,
        created_by=principal.user,
        **rules,
    )
    try:
        with transaction.atomic():
            source.save()
    except IntegrityError:
        raise Conflict(_("This path is already a source of the knowledge base.")) from None
    return source


def _checked_rules(rules: dict[str, Any]) -> dict[str, Any]:
    unknown = set(rules) - _RULES
    if unknown:
        raise Invalid(errors={name: [{"message": _("Unknown rule."), "code": "unknown"}] for name in unknown})
    if rules.get("sync_mode", SyncMode.INTERVAL) not in SyncMode.values:
        raise Invalid(errors={"syncMode": [{"message": _("Unknown choice."), "code": "invalid_choice"}]})
    check_patterns(rules)
    if not 1 <= int(rules.get("safety_stop_percent", 30)) <= 100:
        raise Invalid(errors={"safetyStopPercent": [{"message": _("Between 1 and 100."), "code": "range"}]})
    return rules


def _enqueue_removal(kb: KnowledgeBase, ids: list[str], code: str, principal: Principal) -> None:
    for start in range(0, len(ids), 500):
        jobs.enqueue(
            kind="knowledge.remove_documents",
            payload={"document_ids": ids[start : start + 500], "code": code},
            workspace=kb.workspace,
            kb_id=kb.id,
            requested_by=principal.user,
        )


def live_documents(kb: KnowledgeBase) -> Any:
    """Select the documents of a knowledge base that are neither deleted nor skipped."""
    return kb.documents.exclude(index_status__in=[IndexStatus.DELETED, IndexStatus.SKIPPED])
