"""What registers the tools with an opencode: its configuration, an agent, a skill, and the token (spec 9).

Everything is made from the rights, knowledge bases and settings of this moment; `refresh` writes again what changed.
Tools are named as the model sees them. The folder of a binding can be given to opencode as OPENCODE_CONFIG_DIR.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Max
from django.utils import timezone

from knowledge.models import KnowledgeBase
from mnote.exceptions import NotFound
from mnote.models import Access
from mnote.principals import Principal
from mnote.selectors import access
from mnote.selectors.access import AccessMap
from pageai.models import BindingStatus, BindingToken, OpenHubBinding
from pageai.selectors import tool_scopes
from pageai.selectors.agent_settings import tools_for
from pageai.services import binding_tokens
from pageai.services.provisioning import mcp_server_of
from pageai.skills import SKILL_NAMES, opencode_name, skill_file
from pageai.tool_catalogue import Tool

AGENT = "mnote"
CONFIG_FILE, TOKEN_FILE = "opencode.json", "token"
AGENT_FILE, SKILL_FILE = f"agents/{AGENT}.md", f"skills/{SKILL_NAMES[0]}/SKILL.md"
_REVISION_FILE = "revision"
_CLIENT_TIMEOUT_MS = 30_000
#: A token that ends sooner than this is replaced.
_RENEW_BEFORE = timedelta(minutes=20)

_PROMPT = (
    "You help a person with the documents in this folder. Answer from the documents, not from memory, and say so when "
    "they say nothing.\n"
)
_WITH_TOOLS = (
    f"\nLoad the skill `{SKILL_NAMES[0]}` before you search. Every key statement carries its citation: "
    "citationMarkdown of the result, copied as it is. Name no page, line or place that is not in a result.\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFiles:
    """The texts for one binding, by file. `skill` is "" when no tool is served."""

    config: Mapping[str, Any]
    agent: str
    skill: str

    @property
    def revision(self) -> str:
        """Changes whenever one of the texts does."""
        whole = json.dumps([self.config, self.agent, self.skill], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(whole.encode()).hexdigest()[:32]


def files_of(binding: OpenHubBinding) -> AgentFiles:
    """Make the texts as they have to be now."""
    tools = tools_for(binding.user, binding)
    server = mcp_server_of(binding)
    names = KnowledgeBase.objects.filter(pk__in=_scope_ids(binding)).order_by("name", "pk")
    return AgentFiles(
        config=_config(binding, tools, server),
        agent=_agent(tools),
        skill=skill_file(tools, server=server, knowledge_bases=names.values_list("name", flat=True)),
    )


def folder_of(binding: OpenHubBinding) -> Path:
    return Path(settings.MNOTE_DATA_DIR) / "agents" / binding.pk


def write(binding: OpenHubBinding) -> Path:
    """Write the folder of a binding, with a token that lasts a while, and give it.

    Raises NotAuthenticated for an archived binding or a closed account.
    """
    folder, made = folder_of(binding), files_of(binding)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_changed = _read(folder / _REVISION_FILE) != made.revision
    if is_changed or _ends_soon(binding):
        _put(folder / TOKEN_FILE, binding_tokens.issue(binding=binding)[1])
    if is_changed:
        _put(folder / CONFIG_FILE, json.dumps(made.config, ensure_ascii=False, indent=2))
        _put(folder / AGENT_FILE, made.agent)
        _put_or_remove(folder / SKILL_FILE, made.skill)
        _put(folder / _REVISION_FILE, made.revision)
    return folder


def refresh() -> int:
    """Bring every written folder up to date, remove those of archived bindings, and say how many were looked at."""
    base = Path(settings.MNOTE_DATA_DIR) / "agents"
    folders = [each for each in base.iterdir() if each.is_dir()] if base.is_dir() else []
    rows = OpenHubBinding.objects.select_related("user", "workspace").in_bulk([each.name for each in folders])
    for folder in folders:
        binding = rows.get(folder.name)
        if binding is None or binding.status == BindingStatus.ARCHIVED or not binding.user.is_active:
            shutil.rmtree(folder)
        else:
            write(binding)
    return len(folders)


def _config(binding: OpenHubBinding, tools: tuple[Tool, ...], server: str) -> dict[str, Any]:
    return {
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "default_agent": AGENT,
        "mcp": {server: _server(binding)} if tools else {},
        "permission": _permissions(binding, tools, server),
    }


def _server(binding: OpenHubBinding) -> dict[str, Any]:
    return {
        "type": "remote",
        "url": f"{settings.MNOTE_PUBLIC_URL}/mcp",
        "headers": {"Authorization": f"Bearer {{file:{folder_of(binding) / TOKEN_FILE}}}"},
        "oauth": False,
        "enabled": True,
        "timeout": _CLIENT_TIMEOUT_MS,
    }


def _permissions(binding: OpenHubBinding, tools: tuple[Tool, ...], server: str) -> dict[str, Any]:
    """The last rule that fits wins, so "*" comes first. Files are only given to who may read the whole root: opencode's
    patterns follow links, and cannot say what a grant says."""
    granted = _granted(binding)
    rules: dict[str, Any] = {"*": "deny", "question": "allow", "todowrite": "allow"}
    if granted is not None and granted.reads_everything:
        rules["read"] = {"*": "allow", "*.env": "deny", "*.env.*": "deny"}
        rules |= {"glob": "allow", "grep": "allow", "list": "allow"}
        rules["edit"] = "ask" if _writes_everything(granted) else "deny"
    rules["external_directory"] = "deny"
    if tools:
        rules["skill"] = {"*": "deny", SKILL_NAMES[0]: "allow"}
        rules |= {opencode_name(tool.name, server): "allow" for tool in tools}
    return rules


def _granted(binding: OpenHubBinding) -> AccessMap | None:
    """Return what the person may do below the root of a binding; None when it is no longer there for them."""
    principal = Principal(user=binding.user)
    try:
        workspace = access.get_workspace(principal, binding.workspace_id)
        return access.access_map(principal, access.root_of(workspace, binding.root_uri))
    except NotFound:
        return None


def _writes_everything(granted: AccessMap) -> bool:
    return granted.may_write("") and set(granted.rules.values()) <= {Access.WRITE}


def _agent(tools: tuple[Tool, ...]) -> str:
    head = (
        "---\ndescription: Answers from the person's own documents and cites the exact place.\nmode: primary\n---\n\n"
    )
    return head + _PROMPT + (_WITH_TOOLS if tools else "")


def _scope_ids(binding: OpenHubBinding) -> tuple[str, ...]:
    limits = tool_scopes.limits_of(binding)
    return tool_scopes.scope_of(Principal(user=binding.user), workspace=binding.workspace, limits=limits).kb_ids


def _ends_soon(binding: OpenHubBinding) -> bool:
    live = BindingToken.objects.filter(binding=binding, revoked_at__isnull=True)
    last = live.aggregate(last=Max("expires_at"))["last"]
    return last is None or last < timezone.now() + _RENEW_BEFORE


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.is_file() else ""


def _put_or_remove(path: Path, text: str) -> None:
    if text:
        _put(path, text)
    else:
        path.unlink(missing_ok=True)


def _put(path: Path, text: str) -> None:
    """Write a file whole or not at all, for our own account only: one of them is a secret."""
    for folder in reversed(path.parents[:2]):  # `mkdir` gives its mode to the last of several only
        folder.mkdir(mode=0o700, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    beside.replace(path)
