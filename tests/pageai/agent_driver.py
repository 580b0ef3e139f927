"""The driver of tests/pageai/driver.py, with the calls that a page makes of its agent. Errors are answered by code."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from tests.pageai import driver  # isort: skip  it sets Django up

from django.conf import settings

from knowledge.models import KnowledgeBase, Source
from knowledge.services import drain, sync
from mnote.exceptions import AppError
from mnote.ids import text_key
from mnote.models import Access, Role, Root, User
from mnote.principals import Principal
from mnote.services import grants, workspaces
from pageai.models import ArtifactIndex, OpencodeRuntime, Run
from pageai.panel.errors import PanelError
from pageai.services import (
    asks,
    bootstrap,
    changes,
    direct,
    gatekeeping,
    opencodes,
    pages,
    runtimes,
    settling,
    turns,
)
from pageai.services.gatekeeping import Visit


def seed_agents(folder: str) -> dict[str, Any]:
    """Alice may change every file, bob may read every file."""
    people = {name: User.objects.create_user(name) for name in ("alice", "bob")}
    workspace = workspaces.create_workspace(name="Notes", owner=people["alice"])
    workspaces.add_member(workspace=workspace, holder=people["bob"], role=Role.CURATOR)
    root = workspaces.add_root(workspace=workspace, path=os.fsencode(folder), name="Notes")
    grants.set_grant(root=root, holder=people["alice"], prefix="", access=Access.WRITE)
    kb = KnowledgeBase.objects.create(owner=people["alice"], workspace=workspace, root=root, name="Handbook")
    source = Source.objects.create(kb=kb, root=root, path="", path_key=text_key(""))
    sync.sync_source(source=source, order=sync.Order())
    drain.drain(kb=kb, worker="test")
    return {"workspace": workspace.pk, "rootUri": root.root_uri, "kb": kb.pk, "tokens": {}}


def open_page(name: str, path: str) -> Any:
    principal = Principal(user=User.objects.get(username=name))
    page = pages.locate(principal=principal, root=Root.objects.get(), path=path)
    return bootstrap.bootstrap(principal=principal, opening=bootstrap.Opening(page=page, agent_id="opencode"))


def ask(name: str, binding: str, question: str) -> str:
    """Ask, and leave the answer to whoever settles runs that nobody reads."""
    visit = _visit(name, binding)
    direct.prepare(visit, question)
    try:
        direct.send(visit, question)
    finally:
        turns.end(binding_id=binding)
    return visit.session_id


def is_working(name: str, binding: str) -> bool:
    """Bring the runs of a conversation up to date, and say whether one goes on."""
    _visit(name, binding)
    looked = [settling.settle(run.pk) for run in Run.objects.filter(binding=binding, ended_at__isnull=True)]
    return any(looked)


def waiting(name: str, binding: str) -> list[dict[str, str]]:
    found = asks.waiting(_visit(name, binding))
    return [{"id": each.id, "permission": each.permission, "path": each.path, "diff": each.diff} for each in found.asks]


def allow(name: str, binding: str, ask_id: str) -> None:
    asks.allow(_visit(name, binding), ask_id)


def decline(name: str, binding: str, ask_id: str) -> None:
    asks.decline(_visit(name, binding), ask_id)


def chips(name: str, binding: str) -> list[dict[str, Any]]:
    return [{"kind": each.kind, **each.payload_json} for each in changes.newest(_visit(name, binding))]


def references(binding: str) -> list[dict[str, Any]]:
    rows = ArtifactIndex.objects.filter(binding=binding).order_by("created_at", "id")
    return [{"kind": each.kind, "opens": each.open_reference_json, **each.payload_json} for each in rows]


def messages(name: str, binding: str) -> Any:
    visit = _visit(name, binding)
    asker = opencodes.opencode_of(visit)._asker
    return asker.json("GET", f"/session/{visit.session_id}/message", params={"directory": visit.directory})


def raw(name: str, binding: str, path: str) -> Any:
    visit = _visit(name, binding)
    return opencodes.opencode_of(visit)._asker.json("GET", path, params={"directory": visit.directory})


def runtime(name: str) -> dict[str, Any] | None:
    row = OpencodeRuntime.objects.filter(user__username=name).first()
    if row is None:
        return None
    return {
        "state": row.state, "reason": row.reason, "pid": row.pid, "port": row.port, "starts": row.starts,
        "began": row.pid_began, "folder": row.folder_key,
    }  # fmt: skip


def password(name: str, binding: str) -> str:
    return opencodes.endpoint_of(_visit(name, binding)).password


def sign_out(name: str) -> int:
    return runtimes.end_of_visit(User.objects.get(username=name))


def grant(name: str, prefix: str, access: str) -> None:
    user, root = User.objects.get(username=name), Root.objects.get()
    grants.set_grant(root=root, holder=user, prefix=prefix, access=Access(access))


def is_hosted() -> bool:
    return runtimes.is_host_running()


def tell_agents_to_ask(address: str) -> None:
    """Where agents are told that the tools are."""
    settings.MNOTE_PUBLIC_URL = address


def _visit(name: str, binding: str) -> Visit:
    return gatekeeping.enter(principal=Principal(user=User.objects.get(username=name)), binding_id=binding)


def _by_code(call: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(call)
    def answered(*given: Any) -> Any:
        try:
            return call(*given)
        except AppError as error:
            return {"code": error.code, "detail": str(error.detail), **error.extra}
        except PanelError as error:
            return {"code": error.code, "layer": error.layer, "reason": error.reason}

    return answered


_own = (
    seed_agents, open_page, ask, is_working, waiting, allow, decline, chips, references, messages, raw, runtime,
    password, sign_out, grant, is_hosted, tell_agents_to_ask,
)  # fmt: skip
driver._calls |= {call.__name__: _by_code(call) for call in _own}

if __name__ == "__main__":
    Path(settings.MNOTE_DATA_DIR).mkdir(exist_ok=True)
    driver.main()
