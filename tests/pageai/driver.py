"""A process of its own that makes the rows of a served installation: one JSON array a line in, one value a line out.

Alice and bob work in one workspace, each with a folder the other may not read; mallory belongs to none of it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.utils import timezone  # noqa: E402

from knowledge.models import KnowledgeBase, Source  # noqa: E402
from knowledge.services import drain, sync  # noqa: E402
from mnote import connections  # noqa: E402
from mnote.ids import text_key  # noqa: E402
from mnote.models import Access, ApiToken, Role, Root, User, Workspace  # noqa: E402
from mnote.principals import Principal  # noqa: E402
from mnote.process import preflight  # noqa: E402
from mnote.services import grants, tokens, users, workspaces  # noqa: E402
from pageai.models import BindingToken, OpenHubBinding, ToolCall  # noqa: E402
from pageai.services import binding_tokens, bindings, pages  # noqa: E402

NAMES = ("alice", "bob")


def prepare() -> None:
    preflight.make_folders()
    call_command("migrate", verbosity=0, interactive=False)


def seed(folder: str) -> dict[str, Any]:
    """Make the people, their files and an indexed knowledge base over them."""
    people = {name: User.objects.create_user(name) for name in (*NAMES, "mallory")}
    workspace = workspaces.create_workspace(name="Notes", owner=people["alice"])
    workspaces.add_member(workspace=workspace, holder=people["bob"], role=Role.CURATOR)
    for name in NAMES:
        _write_files(Path(folder), name)
    root = workspaces.add_root(workspace=workspace, path=os.fsencode(folder), name="Notes")
    for name, other in zip(NAMES, reversed(NAMES), strict=True):
        grants.set_grant(root=root, holder=people[name], prefix=other, access=Access.NONE)
    kb = KnowledgeBase.objects.create(owner=people["alice"], workspace=workspace, root=root, name="Handbook")
    source = Source.objects.create(kb=kb, root=root, path="", path_key=text_key(""))
    sync.sync_source(source=source, order=sync.Order())
    drain.drain(kb=kb, worker="test")
    return {
        "workspace": workspace.pk,
        "rootUri": root.root_uri,
        "kb": kb.pk,
        "tokens": {name: api_token(name, ["mcp"]) for name in people},
    }


def _write_files(folder: Path, name: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / "shared").mkdir(exist_ok=True)
    for number in range(4):
        text = f"# Treasure {number}\n\nThe treasure of {name} lies under stone {number} of {name}.\n"
        (folder / name / f"treasure {number}.md").write_text(text)
    (folder / "shared" / f"rules of {name}.md").write_text(f"# Rules\n\nThe treasure rules as {name} wrote them.\n")


def api_token(name: str, scopes: list[str]) -> str:
    return tokens.create_token(user=User.objects.get(username=name), name="agent", scopes=scopes)[1]


def bind(name: str, path: str, metadata: dict[str, Any]) -> dict[str, str]:
    principal, root = Principal(user=User.objects.get(username=name)), Root.objects.get()
    page = pages.locate(principal=principal, root=root, path=path)
    binding = bindings.start_anew(principal=principal, page=page, metadata=metadata)
    return {"binding": binding.pk, "secret": binding_tokens.issue(binding=binding)[1]}


def archive(binding_id: str) -> None:
    bindings.archive(binding=OpenHubBinding.objects.get(pk=binding_id))


def revoke_binding(binding_id: str) -> int:
    return binding_tokens.revoke(binding=OpenHubBinding.objects.get(pk=binding_id))


def expire_binding(binding_id: str) -> int:
    past = timezone.now() - timedelta(seconds=1)
    return BindingToken.objects.filter(binding=binding_id).update(expires_at=past)


def expire_tokens(name: str) -> int:
    past = timezone.now() - timedelta(seconds=1)
    return ApiToken.objects.filter(user__username=name).update(expires_at=past)


def revoke_tokens(name: str) -> None:
    for token in ApiToken.objects.filter(user__username=name):
        tokens.revoke_token(token=token)


def deactivate(name: str) -> None:
    users.deactivate(User.objects.get(username=name))


def prefer(name: str, values: dict[str, Any]) -> None:
    users.set_preferences(user=User.objects.get(username=name), values=values)


def forbid(name: str, prefix: str) -> None:
    grants.set_grant(root=Root.objects.get(), holder=User.objects.get(username=name), prefix=prefix, access=Access.NONE)


def newcomer() -> dict[str, str]:
    """Make one more member of the workspace, for a test that takes something away."""
    name = f"person{User.objects.count()}"
    user = User.objects.create_user(name)
    workspaces.add_member(workspace=Workspace.objects.get(), holder=user, role=Role.VIEWER)
    return {"name": name, "token": api_token(name, ["mcp"])}


def tool_calls(name: str) -> list[dict[str, Any]]:
    rows = ToolCall.objects.filter(user__username=name).order_by("at", "id")
    return [{"tool": row.tool, "outcome": row.outcome, "run": row.host_run_id, "kbs": row.kb_ids} for row in rows]


def count_tool_calls() -> int:
    return ToolCall.objects.count()


_calls: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        prepare, seed, api_token, bind, archive, revoke_binding, expire_binding, expire_tokens, revoke_tokens,
        deactivate, prefer, forbid, tool_calls, count_tool_calls, newcomer,
    )
}  # fmt: skip


def main() -> None:
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        answer = _calls[name](*arguments)
        connections.let_go()
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
