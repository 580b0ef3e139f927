"""The public JSON of the registry: status, lamps, what was taken out, what was pruned (spec 4.3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from knowledge.models import Document
from knowledge.providers.base import ProviderStatus
from knowledge.reasons import reason_for
from knowledge.selectors.lamp_trees import LampTree
from knowledge.selectors.lamps import FileLamp, FolderLamp, KbState
from knowledge.services.providers import Link
from knowledge.services.pruning import Pruned
from knowledge.services.status import Status
from knowledge.services.withdrawing import Withdrawn
from mnote.models import Root

STATUS_SCHEMA = "mnote.knowledge_rag.status.v1"
LAMPS_SCHEMA = "mnote.knowledge_rag.lamps.v1"


def status_json(status: Status, bases: Iterable[Any], *, is_administrator: bool) -> dict[str, Any]:
    """Return the state of the knowledge bases, given as rendered by their serializer."""
    return {
        "schema": STATUS_SCHEMA,
        "provider": status.default.kind,
        "reachable": status.providers[status.default].reachable,
        "providers": {
            link.key: _provider_json(link, each, is_administrator=is_administrator)
            for link, each in status.providers.items()
        },
        "knowledgeBases": list(bases),
        "workerAgeSeconds": status.worker_age,
        "isWorkerAlive": status.is_worker_alive,
    }


def lamps_json(root: Root, tree: LampTree) -> dict[str, Any]:
    """Return lamps by path. `isPartial`: there are too many below, so only the folder's own children are here."""
    return {
        "schema": LAMPS_SCHEMA,
        "rootUri": root.root_uri,
        "prefix": tree.prefix,
        "revision": tree.revision,
        "isPartial": tree.is_partial,
        "files": [_file_json(each) for each in tree.files],
        "folders": [_folder_json(each) for each in tree.folders],
    }


def withdrawn_json(done: Withdrawn) -> dict[str, Any]:
    """Return which sources were taken out, and which items named none."""
    return {"removed": [_row_json(row) for row in done.removed], "notFound": list(done.unknown)}


def pruned_json(done: Pruned, *, dry_run: bool) -> dict[str, Any]:
    """Return what a look at the registry found, and what was done about it."""
    missing_action = "none" if dry_run else "held" if done.held else "marked-missing"
    return {
        "dryRun": dry_run,
        "checked": done.checked,
        "missingFiles": [{**_row_json(row), "action": missing_action} for row in done.missing],
        "missingTwins": [{**_row_json(row), "action": "none" if dry_run else "queued"} for row in done.lost],
        "held": done.held.value if done.held else None,
        "nextAfter": done.next_after or None,
    }


def _provider_json(link: Link, status: ProviderStatus, *, is_administrator: bool) -> dict[str, Any]:
    """What exactly is broken may name addresses of the inside, so only administrators read it."""
    body: dict[str, Any] = {
        "kind": link.kind,
        "name": link.name,
        "reachable": status.reachable,
        "version": status.version,
        "milliseconds": status.milliseconds,
    }
    return body | ({"sentence": status.sentence} if is_administrator else {})


def _file_json(lamp: FileLamp) -> dict[str, Any]:
    worst = next((state for state in lamp.states if state.status == lamp.status), lamp.states[0])
    return {
        "path": lamp.path,
        "lamp": lamp.status.value,
        "since": worst.since.isoformat(),
        **_reason_json(worst),
        "knowledgeBases": [_state_json(each) for each in lamp.states],
    }


def _state_json(state: KbState) -> dict[str, Any]:
    return {
        "knowledgeBaseId": state.kb_id,
        "name": state.kb_name,
        "sourceId": state.document_id,
        "lamp": state.status.value,
        "since": state.since.isoformat(),
        **_reason_json(state),
    }


def _reason_json(state: KbState) -> dict[str, Any]:
    if not state.reason_code:
        return {}
    return {"reason": {"code": state.reason_code, "sentence": str(reason_for(state.reason_code).sentence)}}


def _folder_json(lamp: FolderLamp) -> dict[str, Any]:
    counts = {status.value: count for status, count in lamp.counts.items()}
    return {"path": lamp.path, "lamp": lamp.status.value, "counts": counts}


def _row_json(row: Document) -> dict[str, Any]:
    return {"sourceId": row.id, "sourcePath": row.source_path, "knowledgeBaseId": row.kb_id}
