"""The private folder of a runtime: its configuration, its agent, and the guard before its tools (spec 8.3).

The folder stays when the program ends, for it holds the conversations. Sessions carry rules of their own, which are
looked at last; what is written here is what holds without them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from pageai.panel.tool_rules import Reach
from pageai.services.agent_files import AGENT

GUARD = Path(__file__).resolve().parent.parent / "runtime" / "guard.js"
_FOR_MODELS = ("model", "small_model", "provider", "enabled_providers", "disabled_providers")
_PROMPT = (
    "You help a person with the documents in this folder. Answer from the documents, not from memory, and say so when "
    "they say nothing. Every key statement carries its citation as the tools give it; name no page, line or place that "
    "is not in a result."
)


def home_of(folder_key: str) -> Path:
    return Path(settings.MNOTE_DATA_DIR) / "opencode" / folder_key


def write(home: Path, reach: Reach) -> None:
    """Write what a program finds when it starts. Raises OSError, ValueError for a file of models that is none."""
    config = config_of(reach)
    for folder in (home.parent, home, home / "tmp", home / "config", home / "config" / "plugins"):
        folder.mkdir(mode=0o700, exist_ok=True)
    _put(home / "config" / "opencode.json", json.dumps(config, ensure_ascii=False, indent=2))
    shutil.copyfile(GUARD, home / "config" / "plugins" / GUARD.name)


def config_of(reach: Reach) -> dict[str, Any]:
    """Return the configuration by rights, with what the operator says about models. Raises OSError, ValueError."""
    return _models() | {
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "default_agent": AGENT,
        "agent": {AGENT: {"mode": "primary", "prompt": _PROMPT}},
        "permission": _permissions(reach),
    }


def mark_of(reach: Reach, root: str) -> str:
    """Return what changes with the rights that a program was started for."""
    whole = json.dumps([root, reach.default, sorted(reach.prefixes.items())])
    return hashlib.sha256(whole.encode()).hexdigest()


def _permissions(reach: Reach) -> dict[str, Any]:
    """The last rule that fits wins, so "*" comes first. Tools of ours are named kb_…, see provisioning."""
    rules: dict[str, Any] = {"*": "deny", "question": "allow", "todowrite": "allow", "kb_*": "allow"}
    if reach.covers_the_root:
        rules["read"] = {"*": "allow", "*.env": "deny", "*.env.*": "deny"}
        rules |= {"glob": "allow", "grep": "allow", "list": "allow"}
        rules["edit"] = "ask" if reach.may_write_somewhere else "deny"
    return rules | {"external_directory": "deny"}


def _models() -> dict[str, Any]:
    path = settings.MNOTE_OPENCODE_CONFIG
    found = json.loads(path.read_text("utf-8")) if path else {}
    if not isinstance(found, Mapping):
        raise ValueError("no object")
    return {name: found[name] for name in _FOR_MODELS if name in found}


def _put(path: Path, text: str) -> None:
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    beside.replace(path)
